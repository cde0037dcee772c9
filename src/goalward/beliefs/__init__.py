"""Priors and beliefs about the unknown transition probabilities.

A prior creates a belief. The belief learns from steps and draws models. The prior `Dirichlet` assumes independent rows,
`Neighbourhoods` assumes few but unknown successors, and `FinitePrior` assumes one of several candidate models.
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
