"""The learning algorithms, each in its own file. `make` builds an agent by name.

>>> import goalward as gw
>>> gw.agents.make("uniform")
Uniform()

To add an algorithm, write a class with the decorator ``@register`` in a new file, and import the class below. Types,
help, documentation and conformance tests all use these imports.
"""

from typing import TYPE_CHECKING

from goalward.lazy import lazy

if TYPE_CHECKING:  # type checkers import these names, `lazy` reads the same lines at run time
    from goalward.acting.contract import Plan as Plan
    from goalward.acting.contract import Step as Step
    from goalward.acting.contract import Steps as Steps
    from goalward.acting.contract import Task as Task
    from goalward.acting.stop_conditions import NEVER as NEVER
    from goalward.agents.agent_file import load as load
    from goalward.agents.agent_file import save as save
    from goalward.agents.base import Agent as Agent
    from goalward.agents.base import Learner as Learner
    from goalward.agents.base import OnlineAgent as OnlineAgent
    from goalward.agents.base import find as find
    from goalward.agents.base import known as known
    from goalward.agents.base import make as make
    from goalward.agents.base import register as register
    from goalward.agents.base import registry as registry
    from goalward.agents.baselines import Optimal as Optimal
    from goalward.agents.baselines import Uniform as Uniform
    from goalward.agents.model_free.q_learning import QLearning as QLearning
    from goalward.agents.model_free.rand_ql import RandQL as RandQL
    from goalward.agents.optimistic.bernstein_ssp import BernsteinSSP as BernsteinSSP
    from goalward.agents.optimistic.eb_ssp import EBSSP as EBSSP
    from goalward.agents.optimistic.uc_ssp import UCSSP as UCSSP
    from goalward.agents.optimistic.ulcvi import ULCVI as ULCVI
    from goalward.agents.posterior.kl_index import KLIndex as KLIndex
    from goalward.agents.posterior.psrl import PSRL as PSRL
    from goalward.agents.posterior.psrl_variants import TSDE as TSDE
    from goalward.agents.posterior.psrl_variants import DoublingPSRL as DoublingPSRL
    from goalward.agents.posterior.psrl_variants import EpisodePSRL as EpisodePSRL
    from goalward.agents.posterior.psrl_variants import PosteriorMean as PosteriorMean
    from goalward.agents.posterior.psrl_variants import StepPSRL as StepPSRL
    from goalward.continuous.aggregated_psrl import AggregatedPSRL as AggregatedPSRL
    from goalward.continuous.psrl import ContinuousPSRL as ContinuousPSRL
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__)
