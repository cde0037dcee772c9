"""Beliefs about the unknown kernel: a prior makes a belief, a belief takes steps and gives models.

`Dirichlet` for rows that are independent, `Neighbourhoods` for rows with few successors of which nobody says which,
`FinitePrior` for a handful of candidate models, `TiedDirichlet` for rows that share one unknown distribution.
"""
