"""The algorithms, one file each, and the registry that finds them by name.

>>> import goalward as gw
>>> gw.agents.make("uniform")
Uniform()

A new algorithm of the package is one file and one line in `_registry`; the conformance tests then run over it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from goalward.agents.base import NEVER, Agent, Plan, StepAgent, Steps, Task
from goalward.errors import UnknownNameError

if TYPE_CHECKING:
    from goalward.agents.baselines import Optimal as Optimal
    from goalward.agents.baselines import Uniform as Uniform
    from goalward.agents.bernstein_ssp import BernsteinSSP as BernsteinSSP
    from goalward.agents.eb_ssp import EBSSP as EBSSP
    from goalward.agents.psrl import PSRL as PSRL
    from goalward.agents.psrl_variants import TSDE as TSDE
    from goalward.agents.psrl_variants import EpisodePSRL as EpisodePSRL
    from goalward.agents.psrl_variants import PosteriorMean as PosteriorMean
    from goalward.agents.psrl_variants import StepPSRL as StepPSRL
    from goalward.agents.storage import load as load
    from goalward.agents.storage import save as save
    from goalward.agents.uc_ssp import UCSSP as UCSSP
    from goalward.agents.ulcvi import ULCVI as ULCVI
    from goalward.agents.vi_ssp import VISSP as VISSP

_registry = {
    "bernstein-ssp": ("goalward.agents.bernstein_ssp", "BernsteinSSP"),
    "eb-ssp": ("goalward.agents.eb_ssp", "EBSSP"),
    "optimal": ("goalward.agents.baselines", "Optimal"),
    "posterior-mean": ("goalward.agents.psrl_variants", "PosteriorMean"),
    "psrl": ("goalward.agents.psrl", "PSRL"),
    "psrl-episode": ("goalward.agents.psrl_variants", "EpisodePSRL"),
    "psrl-step": ("goalward.agents.psrl_variants", "StepPSRL"),
    "tsde": ("goalward.agents.psrl_variants", "TSDE"),
    "uc-ssp": ("goalward.agents.uc_ssp", "UCSSP"),
    "ulcvi": ("goalward.agents.ulcvi", "ULCVI"),
    "uniform": ("goalward.agents.baselines", "Uniform"),
    "vi-ssp": ("goalward.agents.vi_ssp", "VISSP"),
}
_homes = {name: module for module, name in _registry.values()} | dict.fromkeys(
    ("load", "save"), "goalward.agents.storage"
)

__all__ = ["NEVER", "Agent", "Plan", "StepAgent", "Steps", "Task", "find", "known", "make", *sorted(_homes)]


def known() -> tuple[str, ...]:
    """Return the names of all algorithms, sorted."""
    return tuple(sorted(_registry))


def find(name: str) -> type[Agent]:
    """Return the class of an algorithm by its name."""
    if name not in _registry:
        raise UnknownNameError("agent", name, _registry)
    module, member = _registry[name]
    found: type[Agent] = getattr(importlib.import_module(module), member)
    return found


def make(name: str, /, **settings: Any) -> Agent:
    """Make an agent by the name of its algorithm and its settings."""
    agent = find(name)
    agent.check_complete(settings)
    return agent(**agent.checked_settings(settings))


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'goalward.agents' has no attribute {name!r}")
    return getattr(importlib.import_module(_homes[name]), name)
