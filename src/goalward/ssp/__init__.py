"""Stochastic shortest path models: their definition, how to build them, and graph analysis.

`model.py` has the class `SSP`, `checks.py` what every model must satisfy, `transitions.py` the ways to build one,
`graph.py` dead ends, zero-cost loops and reachability, `layout.py` grids.
"""
