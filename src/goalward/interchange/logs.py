"""Logged steps: read them from CSV or Parquet files or from memory, and learn from them.

============  =================================================================================
column        meaning
============  =================================================================================
episode       which episode the step belongs to; may be absent
step          the number of the step in its episode, in any order; may be absent
state         where the step started
action        what was played
cost          what was paid
next_state    where the step led
============  =================================================================================

Consecutive steps of one episode must fit: one starts where the one before ended, and nothing comes after the goal. The
cost of a pair is the mean of what was paid. An action that was never played in a state is not available there. A state
that was reached, but in which nothing was ever played, such as the last one of a truncated episode, cannot be used: its
steps are refused, or left out on request.

`learn_from` makes a belief of a log, and of the belief

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
    """A belief learnt from a log, and the best policy in its mean.

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
        raise SettingError("prior brings its own support; leave support out")
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
    """Return the empirical model, in which transitions have the frequencies of the log."""
    S, A = log.task.costs.shape
    keys = (log.steps.states * A + log.steps.actions) * (S + 1) + log.steps.next_states
    seen, counts = np.unique(keys, return_counts=True)
    indptr = np.searchsorted(seen // (S + 1), np.arange(S * A + 1))
    # Of a support only the successors count; the weights are all below one, as they must be.
    return SSP.from_rows(indptr, seen % (S + 1), counts / counts.max(), log.task.costs, normalize=True)


class Log(NamedTuple):
    """Logged steps with numbered states and actions, and their task."""

    task: Task
    steps: Steps
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    left_out: int


def read_log(
    log: Any, goal: Name | Sequence[Name] | None = None, start: Name | None = None, drop_unfinished: bool = False
) -> Log:
    """Read a log, check it, and number its states and actions in order of appearance."""
    source = Source(log)
    columns = source.transitions()
    check_costs(columns.costs, lambda row: f"the step{source.location(row)}")
    is_goal = find_goals(columns, goal)
    order = checked_order(source, columns, is_goal)
    usable = usable_steps(source, columns, is_goal, drop_unfinished)
    rows = order[usable[order]]
    if not len(rows):
        raise ShapeError("no step of the log is left; it never reaches the goal")
    return numbered(columns.select(rows), is_goal, start, source.rows - len(rows))


def checked_order(source: Source, columns: Columns, is_goal: Bools) -> Int64s:
    """Return the rows sorted by episode and step; without these columns, in the given order."""
    from_goal = is_goal[columns.states]
    if from_goal.any():
        row = int(np.argmax(from_goal))
        raise StateError(f"the step{source.location(row)} starts in the goal, where every episode ends; leave it out")
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
            f"the step{source.location(int(after[index]))} does not follow from the one"
            f"{source.location(int(before[index]))}:"
            " number the steps of an episode as they happened; each starts where the last one led, none after the goal"
        )
    return order


def usable_steps(source: Source, columns: Columns, is_goal: Bools, drop: bool) -> Bools:
    """Return which steps lead to a goal or to a state with a logged action."""
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
                f"the step{source.location(row)} leads to {columns.entry(row)[2]!r}, where no action was ever played;"
                " name it as a goal, or pass drop_unfinished=True to leave such steps out"
                f" ({np.count_nonzero(lost)} such steps)"
            )
        usable &= ~lost


def numbered(columns: Columns, is_goal: Bools, start: Name | None, left_out: int) -> Log:
    """Return a log with its states and actions numbered in order of appearance."""
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
