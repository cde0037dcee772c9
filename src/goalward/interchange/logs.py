"""Reads logged steps from CSV or Parquet files or from memory, and learns from them.

============  =================================================================================
column        meaning
============  =================================================================================
episode       the name or number of the episode (optional)
step          the number of the step in the episode (optional); rows may have any order
state         the state in which the step started
action        the action
cost          the cost of the step
next_state    the state to which the step led
============  =================================================================================

Each step of an episode must start in the state in which the previous step ended, and no step may follow the goal. The
cost of a state–action pair is its mean logged cost. An action that was never played in a state is unavailable.
In some states, no action was ever played, for example in the last state of a truncated episode. Steps to these states
cannot be used. Such steps raise an error, or are left out with `drop_unfinished`.

`learn_from` turns a log into a belief, and computes from the belief

    mean model      E[theta | log]
    policy          an optimal policy of the mean model, from `solve`
    uncertainty     quantiles of V_policy(s; theta), where theta is drawn from the belief

The quantiles describe the cost of the policy, given the log and the prior, but say nothing about states and actions
that are not in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge

from goalward.acting.contract import Steps, Task
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.base import Belief, Prior
from goalward.beliefs.dirichlet import Dirichlet
from goalward.errors import FileError, GoalwardError, SettingError, ShapeError, StateError, UnknownNameError
from goalward.interchange.columns import Source, find_goals
from goalward.planning.evaluate import markov_chain
from goalward.planning.solve import Solution, solve, solve_all
from goalward.seeds import checked_seed
from goalward.settings import Confidence, check
from goalward.ssp.checks import check_costs
from goalward.ssp.model import SSP, Name
from goalward.ssp.transitions import Columns, by_appearance, check_pairs, mean_costs


@dataclass(frozen=True, eq=False)
class LogEstimate:
    """A belief learnt from a log, and an optimal policy of its mean model.

    Attributes
    ----------
    belief
        The posterior, given the log.
    mean
        The expected model, with the names of the log.
    solution
        The solution of the expected model, with values and policy.
    visits
        ``visits[s, a]`` is how often action a was played in state s in the log.
    lower, upper
        For each state, an interval that contains the cost of the policy with posterior probability `level`.
    level
        The posterior probability of each interval.
    samples
        The number of models drawn from the belief to compute the intervals.
    left_out
        How many steps were left out because no action was ever played in the next state.
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
        """The optimal action in each state of the expected model."""
        return self.solution.policy

    @property
    def value(self) -> float:
        """The cost of the policy from the initial state in the expected model."""
        return float(self.solution.values[self.mean.initial_state])

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the cost of the policy from the initial state."""
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
    """Return a belief learnt from logged steps, an optimal policy, and the uncertainty of the policy's cost.

    Parameters
    ----------
    log
        A CSV or Parquet file, a mapping of columns or a data frame, with the columns ``state``, ``action``, ``cost``
        and ``next_state``. With the columns ``episode`` and ``step``, episodes are checked for gaps.
    goal
        The name of the goal, or a list of names. The default is ``goal``.
    start
        The initial state. The default is the state of the first step.
    prior
        The prior of the belief. The default is `Dirichlet` with its default concentration.
    support
        Which states can follow a state–action pair in the default prior: ``"all"``, or only ``"logged"`` successors.
        In large worlds, use ``"logged"``. However, a pair with a single logged successor then seems deterministic.
    drop_unfinished
        Leave out steps to states in which no action was ever played, instead of raising an error.
    samples
        The number of models drawn for the intervals.
    level
        The posterior probability of each interval.
    seed
        The seed for drawing the models.

    Examples
    --------
    >>> import goalward as gw
    >>> log = {"state": ["home"] * 4, "action": ["bus"] * 4, "cost": [1.0] * 4,
    ...        "next_state": ["work", "home", "work", "work"]}
    >>> estimate = gw.learn_from(log, goal="work")
    >>> print(f"{estimate.value:.3f}")
    1.355
    """
    check("support", support, Literal["all", "logged"])
    check("samples", samples, Annotated[int, Ge(2)])
    level = check("level", level, Confidence)
    rng = np.random.default_rng(checked_seed(seed))
    try:
        logged = read_log(log, goal, start, drop_unfinished)
    except GoalwardError as error:
        if isinstance(log, str | Path):
            raise FileError(f"{log}: {error}") from None
        raise
    if prior is not None and support != "all":
        raise SettingError("support is only for the default prior; leave out support, or leave out prior")
    if prior is None:
        prior = Dirichlet(support=logged_model(logged) if support == "logged" else None)
    belief = prior.belief(logged.task)
    belief.update(logged.steps)
    mean = belief.mean()._replace(state_names=logged.state_names, action_names=logged.action_names)
    solution = solve(mean)
    costs = np.array([solve_all(markov_chain(belief.sample(rng), solution.policy)).values for _ in range(samples)])
    lower, upper = np.quantile(costs, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0, method="inverted_cdf")
    visits = np.zeros(logged.task.costs.shape, dtype=np.int64)
    np.add.at(visits, (logged.steps.states, logged.steps.actions), 1)
    return LogEstimate(belief, mean, solution, visits, lower, upper, level, samples, logged.left_out)


def logged_model(log: Log) -> SSP:
    """Return the empirical model, whose transition probabilities are the frequencies in the log."""
    S, A = log.task.costs.shape
    keys = (log.steps.states * A + log.steps.actions) * (S + 1) + log.steps.next_states
    seen, counts = np.unique(keys, return_counts=True)
    indptr = np.searchsorted(seen // (S + 1), np.arange(S * A + 1))
    # For a support, only the successors matter, but `from_rows` requires weights of at most 1.
    return SSP.from_rows(indptr, seen % (S + 1), counts / counts.max(), log.task.costs, normalize=True)


class Log(NamedTuple):
    """Logged steps with numbered states and actions, and the task that they define."""

    task: Task
    steps: Steps
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    left_out: int


def read_log(
    log: Any, goal: Name | Sequence[Name] | None = None, start: Name | None = None, drop_unfinished: bool = False
) -> Log:
    """Return the checked steps of a log. States and actions are numbered in order of appearance."""
    source = Source(log)
    columns = source.transitions()
    check_costs(columns.costs, lambda row: f"the step{source.location(row)}")
    is_goal = find_goals(columns, goal)
    order = checked_order(source, columns, is_goal)
    usable = usable_steps(source, columns, is_goal, drop_unfinished)
    rows = order[usable[order]]
    if not len(rows):
        raise ShapeError("the log never reaches the goal, so no step can be used; choose another goal with goal=...")
    return numbered(columns.select(rows), is_goal, start, source.rows - len(rows))


def checked_order(source: Source, columns: Columns, is_goal: Bools) -> Int64s:
    """Check the order of steps. Return row numbers, sorted by episode and step if these columns exist."""
    from_goal = is_goal[columns.states]
    if from_goal.any():
        row = int(np.argmax(from_goal))
        raise StateError(f"the step{source.location(row)} starts in the goal, where episodes end; leave out this step")
    if not {"episode", "step"} <= source.columns.keys():
        return np.arange(source.rows)
    episodes, steps = source.columns["episode"].array(), source.columns["step"].array()
    order = np.lexsort((steps, episodes))
    before, after = order[:-1], order[1:]
    same = episodes[before] == episodes[after]
    follows = (steps[after] > steps[before]) & ~is_goal[columns.next_states[before]]
    follows &= (steps[after] != steps[before] + 1.0) | (columns.next_states[before] == columns.states[after])
    wrong = same & ~follows
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ShapeError(
            f"the step{source.location(int(after[index]))} does not continue the step"
            f"{source.location(int(before[index]))}:"
            " a step must start where the previous step of the episode ended, and no step may follow the goal"
        )
    return order


def usable_steps(source: Source, columns: Columns, is_goal: Bools, drop: bool) -> Bools:
    """Return for each step whether the next state is a goal or a state with a logged action."""
    usable = np.ones(source.rows, dtype=np.bool_)
    while True:
        continued = is_goal.copy()
        continued[columns.states[usable]] = True
        lost = usable & ~continued[columns.next_states]
        if not lost.any():
            return usable
        if not drop:
            row = int(np.argmax(lost))
            raise StateError(
                f"the step{source.location(row)} leads to {columns.entry(row)[2]!r}, where no action was ever played"
                f" ({np.count_nonzero(lost)} such steps); name this state as a goal, or pass drop_unfinished=True to"
                " leave out such steps"
            )
        usable &= ~lost


def numbered(columns: Columns, is_goal: Bools, start: Name | None, left_out: int) -> Log:
    """Return a log whose states and actions are numbered in order of appearance."""
    states, old_states = by_appearance(columns.states, len(columns.state_names))
    actions, old_actions = by_appearance(columns.actions, len(columns.action_names))
    S, A = len(old_states), len(old_actions)
    check_pairs(S, A)
    states[is_goal] = S
    names = tuple(str(columns.state_names[number]) for number in old_states)
    if start is not None and str(start) not in names:
        raise UnknownNameError("state with a logged action", str(start), names)
    path = (states[columns.states], actions[columns.actions], states[columns.next_states])
    played, chosen, reached = (codes.astype(np.int64) for codes in path)
    steps = Steps.in_table(played, chosen, columns.costs, reached, S)
    pairs = steps.states * A + steps.actions
    means = mean_costs(pairs, columns.probabilities, steps.costs, S * A)
    costs = np.where(np.bincount(pairs, minlength=S * A) > 0, means, np.inf).reshape(S, A)
    task = Task(costs, 0 if start is None else names.index(str(start)), 1)
    return Log(task, steps, names, tuple(str(columns.action_names[number]) for number in old_actions), left_out)
