"""Beliefs about the unknown kernel: a prior starts a belief, which learns from steps and yields models.

`Dirichlet` for rows that are independent, `Neighbourhoods` for rows with few successors of which nobody says which,
`FinitePrior` for a handful of candidate models.
"""

from typing import TYPE_CHECKING

from goalward.lazy import lazy

if TYPE_CHECKING:
    from goalward.beliefs.base import Belief as Belief
    from goalward.beliefs.base import Prior as Prior
    from goalward.beliefs.base import Rows as Rows
    from goalward.beliefs.base import all_rows as all_rows
    from goalward.beliefs.base import register as register
    from goalward.beliefs.dirichlet import Dirichlet as Dirichlet
    from goalward.beliefs.finite import FinitePrior as FinitePrior
    from goalward.beliefs.neighbourhoods import Neighbourhoods as Neighbourhoods
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__)
