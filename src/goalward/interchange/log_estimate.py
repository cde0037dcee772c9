"""What logged steps say about a world: a belief, the policy that is best in its mean, and how sure that is.

    mean model      E[theta | log]
    policy          optimal in the mean model, certified as `solve` does
    uncertainty     quantiles of V_policy(s; theta) for models theta drawn from the belief

The quantiles are those of the policy's cost, given the log and the prior. They say nothing about states and actions
that the log does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import Belief, Prior
from goalward.beliefs.dirichlet import Dirichlet
from goalward.errors import FileError, GoalwardError, SettingError
from goalward.interchange.explicit import Name
from goalward.interchange.logs import Log, read_log
from goalward.planning.evaluate import markov_chain
from goalward.planning.solve import Solution, solve, solve_all
from goalward.seeds import checked_seed
from goalward.settings import checked_choice, checked_integer, checked_number
from goalward.ssp.model import SSP

__all__ = ["LogEstimate", "learn_from"]


@dataclass(frozen=True, eq=False)
class LogEstimate:
    """What a log says.

    Attributes
    ----------
    belief
        The belief after the log.
    mean
        The expected model, with the names of the log.
    solution
        The solution of the expected model: its values and its policy.
    visits
        ``visits[s, a]``: how often each pair was logged.
    lower, upper
        For each state, the interval that holds the cost of the policy with probability `level`, given the log.
    level
        The probability of the intervals.
    samples
        How many models were drawn for them.
    left_out
        Steps that were not used because they led to a state in which nothing was ever played.
    """

    belief: Belief
    mean: SSP
    solution: Solution
    visits: Int64s
    lower: Floats
    upper: Floats
    level: float
    samples: int
    left_out: int

    @property
    def policy(self) -> Int64s:
        """An action for each state."""
        return self.solution.policy

    @property
    def value(self) -> float:
        """The cost of the policy from the start in the expected model."""
        return float(self.solution.values[self.mean.initial_state])

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the cost of the policy from the start."""
        start = self.mean.initial_state
        return float(self.lower[start]), float(self.upper[start])

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"LogEstimate(states={self.mean.states}, actions={self.mean.actions}, steps={int(self.visits.sum())},"
            f" value={self.value:.6g}, interval={low:.6g}..{high:.6g} at {self.level:g})"
        )


def learn_from(
    log: Any,
    *,
    goal: Name | Sequence[Name] | None = None,
    start: Name | None = None,
    prior: Prior | None = None,
    support: str = "all",
    drop_unfinished: bool = False,
    samples: int = 100,
    level: float = 0.9,
    seed: int = 0,
) -> LogEstimate:
    """Learn from logged steps.

    Parameters
    ----------
    log
        A CSV or Parquet file, a mapping of columns or a data frame, with the columns ``state``, ``action``, ``cost``,
        ``next_state`` and, to be checked for gaps, ``episode`` and ``step``.
    goal
        The state that is the goal, or several; ``goal`` if not given.
    start
        Where episodes start; the state of the first step if not given.
    prior
        What was believed before; `Dirichlet` with its default concentration if not given.
    support
        Without a prior: ``"all"`` if every state can follow every pair, ``"logged"`` if only what was seen to follow
        can, which suits large worlds and leaves no doubt about what was seen only once.
    drop_unfinished
        Leave out steps to states in which nothing was ever played, instead of refusing the log.
    samples
        How many models are drawn for the intervals.
    level
        The probability of the intervals.
    seed
        Of the models drawn.

    Examples
    --------
    >>> import goalward as gw
    >>> log = {"state": ["home"] * 4, "action": ["bus"] * 4, "cost": [1.0] * 4,
    ...        "next_state": ["work", "home", "work", "work"]}
    >>> estimate = gw.learn_from(log, goal="work")
    >>> print(f"{estimate.value:.3f}")
    1.355
    """
    checked_choice("support", support, ("all", "logged"))
    checked_integer("samples", samples, 2)
    level = checked_number("level", level, high=1.0, open=True)
    rng = np.random.default_rng(checked_seed(seed))
    try:
        read = read_log(log, goal, start, drop_unfinished)
    except GoalwardError as error:
        if isinstance(log, str | Path):
            raise FileError(f"{log}: {error}") from None
        raise
    if prior is not None and support != "all":
        raise SettingError("prior brings its own support; leave support out")
    if prior is None:
        prior = Dirichlet(support=logged_model(read) if support == "logged" else None)
    belief = prior.belief(read.task)
    belief.update(read.steps)
    mean = belief.mean()._replace(state_names=read.state_names, action_names=read.action_names)
    solution = solve(mean)
    costs = np.array([solve_all(markov_chain(belief.sample(rng), solution.policy)).values for _ in range(samples)])
    lower, upper = np.quantile(costs, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0, method="inverted_cdf")
    visits = np.zeros(read.task.costs.shape, dtype=np.int64)
    np.add.at(visits, (read.steps.states, read.steps.actions), 1)
    return LogEstimate(belief, mean, solution, visits, lower, upper, level, samples, read.left_out)


def logged_model(log: Log) -> SSP:
    """Return the model in which what was seen happens as often as it was seen."""
    S, A = log.task.costs.shape
    keys = (log.steps.states * A + log.steps.actions) * (S + 1) + log.steps.next_states
    seen, counts = np.unique(keys, return_counts=True)
    indptr = np.searchsorted(seen // (S + 1), np.arange(S * A + 1))
    # Of a support only the successors count; the weights are all below one, as they must be.
    return SSP.from_rows(indptr, seen % (S + 1), counts / counts.max(), log.task.costs, normalize=True)
