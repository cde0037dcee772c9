"""The algorithms, one file each, found by their names.

>>> import goalward as gw
>>> gw.agents.make("uniform")
Uniform()

A new algorithm is one new file in this package: see `goalward.registry`. The conformance tests then run over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goalward.agents.base import (
    NEVER,
    Agent,
    Learner,
    OnlineAgent,
    Plan,
    Step,
    Steps,
    Task,
    register,
    registry,
)

if TYPE_CHECKING:
    # For type checkers and editors, which cannot follow the registry. Nothing breaks if a name is missing here.
    from goalward.agents.baselines import Optimal as Optimal
    from goalward.agents.baselines import Uniform as Uniform
    from goalward.agents.optimistic.bernstein_ssp import BernsteinSSP as BernsteinSSP
    from goalward.agents.optimistic.eb_ssp import EBSSP as EBSSP
    from goalward.agents.optimistic.uc_ssp import UCSSP as UCSSP
    from goalward.agents.optimistic.ulcvi import ULCVI as ULCVI
    from goalward.agents.optimistic.vi_ssp import VISSP as VISSP
    from goalward.agents.posterior.expectile import Expectile as Expectile
    from goalward.agents.posterior.psrl import PSRL as PSRL
    from goalward.agents.posterior.psrl_variants import TSDE as TSDE
    from goalward.agents.posterior.psrl_variants import DoublingPSRL as DoublingPSRL
    from goalward.agents.posterior.psrl_variants import EpisodePSRL as EpisodePSRL
    from goalward.agents.posterior.psrl_variants import PosteriorMean as PosteriorMean
    from goalward.agents.posterior.psrl_variants import StepPSRL as StepPSRL
    from goalward.agents.saving import load as load
    from goalward.agents.saving import save as save
    from goalward.continuous.psrl import ContinuousPSRL as ContinuousPSRL

__all__ = [
    "NEVER", "Agent", "Learner", "OnlineAgent", "Plan", "Step", "Steps", "Task",
    "find", "known", "load", "make", "register", "registry", "save",
]  # fmt: skip

find, known = registry.find, registry.known


def make(name: str, /, **settings: Any) -> Learner:
    """Build an agent by the name of its algorithm and its settings."""
    return find(name)(**settings)


def __getattr__(name: str) -> Any:
    if name in ("load", "save"):
        from goalward.agents import saving as storage

        return getattr(storage, name)
    return registry.attribute(name)


def __dir__() -> list[str]:
    registry.search()
    return sorted({*__all__, *registry.members})
