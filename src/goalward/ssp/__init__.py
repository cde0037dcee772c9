"""The model: what a stochastic shortest path problem is, how one is built, and what its graph says."""
