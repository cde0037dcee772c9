"""Learning: an agent plans, the loop acts, the run records."""
