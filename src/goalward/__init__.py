"""goalward: learn the cheapest way to a goal in an unknown world.

Online learning in the stochastic shortest path (SSP) model. Names are loaded when they are first used, so that
``import goalward`` and ``goalward --help`` cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from goalward._gymnasium_registration import register_when_loaded

__version__ = "0.1.0"

if TYPE_CHECKING:
    from goalward import agents as agents
    from goalward import worlds as worlds
    from goalward._jit import warm_up as warm_up
    from goalward.beliefs.dirichlet import Dirichlet as Dirichlet
    from goalward.beliefs.finite import FinitePrior as FinitePrior
    from goalward.beliefs.log_estimate import LogEstimate as LogEstimate
    from goalward.beliefs.log_estimate import learn_from as learn_from
    from goalward.beliefs.neighbourhoods import Neighbourhoods as Neighbourhoods
    from goalward.beliefs.tied_rows import TiedDirichlet as TiedDirichlet
    from goalward.errors import GoalwardError as GoalwardError
    from goalward.execution.runner import run as run
    from goalward.learning.learn import learn as learn
    from goalward.learning.run import Run as Run
    from goalward.learning.tuning import Tuning as Tuning
    from goalward.learning.tuning import tune as tune
    from goalward.model.goal_task import GoalTask as GoalTask
    from goalward.model.layout import GridLayout as GridLayout
    from goalward.model.ssp import SSP as SSP
    from goalward.model.structure import Structure as Structure
    from goalward.model.structure import structure as structure
    from goalward.planning.evaluate import Evaluation as Evaluation
    from goalward.planning.evaluate import evaluate as evaluate
    from goalward.planning.hardness import Hardness as Hardness
    from goalward.planning.hardness import hardness as hardness
    from goalward.planning.policy_episodes import Simulation as Simulation
    from goalward.planning.policy_episodes import simulate as simulate
    from goalward.planning.solve import Solution as Solution
    from goalward.planning.solve import solve as solve
    from goalward.report.plots import plot as plot
    from goalward.report.report_page import report as report
    from goalward.report.watch_page import watch as watch
    from goalward.results.study_results import Results as Results
    from goalward.results.study_results import open_results as open_results
    from goalward.results.table import Table as Table
    from goalward.studies.study import Study as Study
    from goalward.worlds.environments.discretize import Discretize as Discretize
    from goalward.worlds.gymnasium import from_gymnasium as from_gymnasium
    from goalward.worlds.gymnasium import to_gymnasium as to_gymnasium

_homes = {
    "Discretize": "goalward.worlds.environments.discretize",
    "from_gymnasium": "goalward.worlds.gymnasium",
    "to_gymnasium": "goalward.worlds.gymnasium",
    "Dirichlet": "goalward.beliefs.dirichlet",
    "FinitePrior": "goalward.beliefs.finite",
    "LogEstimate": "goalward.beliefs.log_estimate",
    "learn_from": "goalward.beliefs.log_estimate",
    "Neighbourhoods": "goalward.beliefs.neighbourhoods",
    "TiedDirichlet": "goalward.beliefs.tied_rows",
    "GoalwardError": "goalward.errors",
    "GoalTask": "goalward.model.goal_task",
    "GridLayout": "goalward.model.layout",
    "Run": "goalward.learning.run",
    "SSP": "goalward.model.ssp",
    "Structure": "goalward.model.structure",
    "structure": "goalward.model.structure",
    "Evaluation": "goalward.planning.evaluate",
    "evaluate": "goalward.planning.evaluate",
    "Hardness": "goalward.planning.hardness",
    "hardness": "goalward.planning.hardness",
    "learn": "goalward.learning.learn",
    "Tuning": "goalward.learning.tuning",
    "tune": "goalward.learning.tuning",
    "Simulation": "goalward.planning.policy_episodes",
    "simulate": "goalward.planning.policy_episodes",
    "Solution": "goalward.planning.solve",
    "solve": "goalward.planning.solve",
    "warm_up": "goalward._jit",
    "Study": "goalward.studies.study",
    "run": "goalward.execution.runner",
    "Results": "goalward.results.study_results",
    "open_results": "goalward.results.study_results",
    "Table": "goalward.results.table",
    "plot": "goalward.report.plots",
    "watch": "goalward.report.watch_page",
}
_packages = ("agents", "errors", "report", "worlds")

__all__ = ["__version__", *sorted(_homes), *_packages]


def __getattr__(name: str) -> Any:
    if name in _homes:
        value = getattr(importlib.import_module(_homes[name]), name)
    elif name in _packages:
        value = importlib.import_module(f"goalward.{name}")
    else:
        raise AttributeError(f"module 'goalward' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


register_when_loaded()
