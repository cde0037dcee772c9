"""goalward learns the cheapest way to a goal in an unknown world.

The package implements online learning in stochastic shortest path (SSP) models. Public names are imported on first use,
so that ``import goalward`` and ``goalward --help`` start fast.
"""

from typing import TYPE_CHECKING

from goalward.lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from goalward import agents as agents
    from goalward import continuous as continuous
    from goalward import errors as errors
    from goalward import theory as theory
    from goalward import worlds as worlds
    from goalward.acting.contract import Task as Task
    from goalward.acting.model_world import ModelWorld as ModelWorld
    from goalward.beliefs.dirichlet import Dirichlet as Dirichlet
    from goalward.beliefs.finite import FinitePrior as FinitePrior
    from goalward.beliefs.neighbourhoods import Neighbourhoods as Neighbourhoods
    from goalward.continuous.discretize import Discretize as Discretize
    from goalward.continuous.task import ContinuousTask as ContinuousTask
    from goalward.environments.environment import Environment as Environment
    from goalward.environments.explore import explore as explore
    from goalward.environments.tables import from_gymnasium as from_gymnasium
    from goalward.environments.tables import to_gymnasium as to_gymnasium
    from goalward.errors import GoalwardError as GoalwardError
    from goalward.figures import plot as plot
    from goalward.interchange.logs import LogEstimate as LogEstimate
    from goalward.interchange.logs import learn_from as learn_from
    from goalward.learning.deployed_policy import LearntPolicy as LearntPolicy
    from goalward.learning.deployed_policy import Trial as Trial
    from goalward.learning.deployed_policy import load_policy as load_policy
    from goalward.learning.learn import learn as learn
    from goalward.learning.run import Run as Run
    from goalward.learning.warm_up import warm_up as warm_up
    from goalward.pages.report import report as report
    from goalward.pages.watch import watch as watch
    from goalward.planning.distribution import CostDistribution as CostDistribution
    from goalward.planning.evaluate import Evaluation as Evaluation
    from goalward.planning.evaluate import evaluate as evaluate
    from goalward.planning.hardness import Hardness as Hardness
    from goalward.planning.hardness import hardness as hardness
    from goalward.planning.solve import Solution as Solution
    from goalward.planning.solve import solve as solve
    from goalward.results.comparison import compare as compare
    from goalward.results.results import Results as Results
    from goalward.results.results import open_results as open_results
    from goalward.results.results import run as run
    from goalward.ssp.graph import Structure as Structure
    from goalward.ssp.graph import structure as structure
    from goalward.ssp.layout import GridLayout as GridLayout
    from goalward.ssp.model import SSP as SSP
    from goalward.studies.study import Study as Study
    from goalward.table import Table as Table
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__, ["__version__"])
