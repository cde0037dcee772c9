"""Learning: an agent plans, the loop acts, and the run records the results."""
