"""The model: what a stochastic shortest path problem is, how one is built, and what its graph says.

`model.py` has the class `SSP`, `checks.py` what every model must satisfy, `transitions.py` the ways to build one,
`graph.py` dead ends, zero-cost loops and reachability, `layout.py` grids.
"""
