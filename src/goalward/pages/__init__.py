"""HTML pages: watch an agent learn, and report a study."""
