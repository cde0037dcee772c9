"""The model: what a stochastic shortest path problem is, how one is made, and what its graph says."""
