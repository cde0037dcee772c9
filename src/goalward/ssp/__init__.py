"""Stochastic shortest path models: definition, construction and graph analysis.

`model.py` defines the class `SSP`, `checks.py` checks models, and `transitions.py` builds models from transitions.
`graph.py` finds dead ends, zero-cost loops and unreachable states. `layout.py` describes grids.
"""
