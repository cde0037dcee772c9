"""goalward: learn the cheapest way to a goal in an unknown world.

Online learning in the stochastic shortest path (SSP) model. Names are loaded when they are first used, so that
``import goalward`` and ``goalward --help`` cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from goalward import agents as agents
    from goalward import worlds as worlds
    from goalward.beliefs.dirichlet import Dirichlet as Dirichlet
    from goalward.beliefs.finite import FinitePrior as FinitePrior
    from goalward.beliefs.neighbourhoods import Neighbourhoods as Neighbourhoods
    from goalward.beliefs.tied import TiedDirichlet as TiedDirichlet
    from goalward.continuous.task import ContinuousTask as ContinuousTask
    from goalward.environments.discretize import Discretize as Discretize
    from goalward.environments.environment import Environment as Environment
    from goalward.environments.tables import from_gymnasium as from_gymnasium
    from goalward.environments.tables import to_gymnasium as to_gymnasium
    from goalward.errors import GoalwardError as GoalwardError
    from goalward.figures import plot as plot
    from goalward.interchange.logs import LogEstimate as LogEstimate
    from goalward.interchange.logs import learn_from as learn_from
    from goalward.jit import warm_up as warm_up
    from goalward.learning.learn import learn as learn
    from goalward.learning.run import Run as Run
    from goalward.learning.tuning import Tuning as Tuning
    from goalward.learning.tuning import tune as tune
    from goalward.pages.report import report as report
    from goalward.pages.watch import watch as watch
    from goalward.planning.evaluate import Evaluation as Evaluation
    from goalward.planning.evaluate import evaluate as evaluate
    from goalward.planning.hardness import Hardness as Hardness
    from goalward.planning.hardness import hardness as hardness
    from goalward.planning.simulate import Simulation as Simulation
    from goalward.planning.simulate import simulate as simulate
    from goalward.planning.solve import Solution as Solution
    from goalward.planning.solve import solve as solve
    from goalward.results.results import Results as Results
    from goalward.results.results import open_results as open_results
    from goalward.ssp.graph import Structure as Structure
    from goalward.ssp.graph import structure as structure
    from goalward.ssp.layout import GridLayout as GridLayout
    from goalward.ssp.model import SSP as SSP
    from goalward.studies.runner import run as run
    from goalward.studies.study import Study as Study
    from goalward.table import Table as Table

_homes = {
    "Discretize": "goalward.environments.discretize",
    "Environment": "goalward.environments.environment",
    "from_gymnasium": "goalward.environments.tables",
    "to_gymnasium": "goalward.environments.tables",
    "Dirichlet": "goalward.beliefs.dirichlet",
    "FinitePrior": "goalward.beliefs.finite",
    "LogEstimate": "goalward.interchange.logs",
    "learn_from": "goalward.interchange.logs",
    "Neighbourhoods": "goalward.beliefs.neighbourhoods",
    "TiedDirichlet": "goalward.beliefs.tied",
    "GoalwardError": "goalward.errors",
    "ContinuousTask": "goalward.continuous.task",
    "GridLayout": "goalward.ssp.layout",
    "Run": "goalward.learning.run",
    "SSP": "goalward.ssp.model",
    "Structure": "goalward.ssp.graph",
    "structure": "goalward.ssp.graph",
    "Evaluation": "goalward.planning.evaluate",
    "evaluate": "goalward.planning.evaluate",
    "Hardness": "goalward.planning.hardness",
    "hardness": "goalward.planning.hardness",
    "learn": "goalward.learning.learn",
    "Tuning": "goalward.learning.tuning",
    "tune": "goalward.learning.tuning",
    "Simulation": "goalward.planning.simulate",
    "simulate": "goalward.planning.simulate",
    "Solution": "goalward.planning.solve",
    "solve": "goalward.planning.solve",
    "warm_up": "goalward.jit",
    "Study": "goalward.studies.study",
    "run": "goalward.studies.runner",
    "Results": "goalward.results.results",
    "open_results": "goalward.results.results",
    "Table": "goalward.table",
    "plot": "goalward.figures",
    "report": "goalward.pages.report",
    "watch": "goalward.pages.watch",
}
_packages = ("agents", "errors", "worlds")

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
