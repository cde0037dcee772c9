"""Beliefs about the unknown kernel: a prior makes a belief, a belief takes steps and gives models.

`Dirichlet` for rows that are independent, `FinitePrior` for a handful of candidate models, `TiedDirichlet` for rows
that share one unknown distribution.
"""
