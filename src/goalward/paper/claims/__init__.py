"""The claims of the paper, tested by runs."""
