"""Models from Gymnasium environments that show their table of transitions.

FrozenLake, CliffWalking, Taxi and environments like them hold a table ``env.unwrapped.P[s][a]``, a list of
``(probability, next state, reward, terminated)``. `from_gymnasium` makes an `SSP` of it:

* A step that reaches the goal, by the rule of `goal_and_cost_rules.py`, leads to the goal of the model. States that
  are entered in no other way are merged into it; the others keep their order.
* A step that ends the episode elsewhere leads to a dead end: a state in which nothing can be done.
* The cost of a pair is the mean cost of its outcomes.
* Where episodes start in one of several states, the model starts in one more, the last. Its only action costs nothing
  and draws the first state, so V* of the start is the mean over all starts.

State i of the model is state i of the environment as long as the goals are its last states; if not, `state_names` hold
the numbers of the environment.

The table describes the bare environment. It is not used if a wrapper may change what its steps return (`wrappers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.environments.rules import CostRule, GoalRule, Outcome, cost_rule, goal_rule, name_of
from goalward.environments.spaces import StateNumbers, action_space, first_observation
from goalward.environments.wrappers import changing_wrapper
from goalward.errors import ModelError, SettingError, ShapeError, StateError
from goalward.settings import checked_number
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP

__all__ = ["from_gymnasium", "has_table", "mean_costs", "start_states", "table_model", "to_gymnasium"]

ACTION_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pick up", "drop off"),
}
GOAL, ENDED, LIVE = range(3)


def from_gymnasium(env: Any, *, goal: Any = None, cost: Any = None, dead_end: Any = None) -> SSP:
    """Make a model of an environment that shows its table of transitions.

    Parameters
    ----------
    env
        An environment, or its id, such as "FrozenLake-v1". Wrappers that may change its steps are refused.
    goal
        Which steps reach the goal: "terminated" for all that end an episode, the least reward at the goal, or a
        function of an `Outcome`. FrozenLake, CliffWalking and Taxi need none.
    cost
        What a step costs: "penalty", minus the reward where that is negative and 1 otherwise, which is the default;
        "reward", minus the reward; a number; or a function of an `Outcome`.
    dead_end
        Which steps lead to a dead end beside those that end an episode elsewhere: the largest reward there, or a
        function of an `Outcome`.

    Examples
    --------
    >>> import goalward as gw
    >>> lake = gw.from_gymnasium("FrozenLake-v1")
    >>> lake
    SSP(states=15, actions=4, transitions=128, unavailable=16, costs=1, initial_state=0)
    >>> gw.structure(lake).never
    array([ 5,  7, 11, 12])
    """
    environment = made(env)
    check_wrappers(environment)
    ssp = getattr(environment.unwrapped, "ssp", None)
    if isinstance(ssp, SSP):
        return ssp
    return table_model(environment, goal_rule(goal, environment), cost_rule(cost), dead_end)


def to_gymnasium(ssp: SSP, render_mode: str | None = None) -> Any:
    """Return a model as a Gymnasium environment; see `goalward.environments.world_env`.

    Registered worlds have ids of their own: ``gymnasium.make("goalward/GridWorld-v0", rows=5)``.
    """
    from goalward.environments.world_env import WorldEnv

    if not isinstance(ssp, SSP):
        raise SettingError(f"ssp is {ssp!r}; it must be an SSP, such as gw.worlds.make('grid-world')")
    return WorldEnv(ssp, render_mode)


def made(env: Any) -> Any:
    """Return an environment, by its id if need be."""
    if isinstance(env, SSP):
        raise SettingError("env is an SSP, a model already; from_gymnasium takes an environment")
    if not isinstance(env, str):
        if not hasattr(env, "unwrapped"):
            raise SettingError(f"env is {env!r}; it must be a Gymnasium environment or its id, such as 'FrozenLake-v1'")
        return env
    from goalward.environments.library import gymnasium

    try:
        return gymnasium.make(env)
    except gymnasium.error.Error as error:
        raise SettingError(f"there is no environment {env!r}: {error}") from None


def check_wrappers(environment: Any) -> None:
    """Raise SettingError if a wrapper may change the steps of an environment that shows a table or a model."""
    wrapper, bare = changing_wrapper(environment), environment.unwrapped
    if wrapper is not None and (hasattr(bare, "P") or hasattr(bare, "ssp")):
        raise SettingError(
            f"the wrapper {wrapper} may change what the steps of {name_of(environment)} return, and the model is that"
            " of the environment below it; pass env.unwrapped to leave all wrappers out, or learn through the steps:"
            " gw.learn(agent, env)"
        )


def has_table(environment: Any) -> bool:
    """Return whether an environment shows its table of transitions, and no wrapper may change what it says."""
    bare = getattr(environment, "unwrapped", environment)
    return hasattr(bare, "P") and not getattr(bare, "fickle_passenger", False) and not changing_wrapper(environment)


def mean_costs(environment: Any, cost: CostRule) -> Floats:
    """Return ``costs[s, a]``, the mean cost of each pair of a table, by a rule."""
    table = Table.of(environment)
    mass, paid = np.zeros((2, table.states, table.actions))
    for probability, outcome in table.entries:
        mass[outcome.state, outcome.action] += probability
        paid[outcome.state, outcome.action] += probability * cost.cost(outcome)
    return np.divide(paid, mass, out=np.full_like(paid, np.inf), where=mass > 0.0)


def start_states(environment: Any) -> Floats | None:
    """Return the probability of each first state, None if the environment does not say."""
    bare = getattr(environment, "unwrapped", environment)
    given = getattr(bare, "initial_state_distrib", None)
    return None if given is None or changing_wrapper(environment) else np.asarray(given, dtype=np.float64)


def table_model(environment: Any, goal: GoalRule, cost: CostRule, dead_end: Any = None) -> SSP:
    """Return the model of a table of transitions by the given rules."""
    table = Table.of(environment)
    lost = dead_end_rule(dead_end)
    kinds = [kind_of(outcome, goal, lost) for _, outcome in table.entries]
    if GOAL not in kinds:
        raise ModelError(
            f"no transition of {table.name} reaches the goal by its rule, {goal}; pass another rule as goal=..."
        )
    starts = table.starts(environment)
    entered = {kind: set() for kind in (GOAL, ENDED, LIVE)}  # type: dict[int, set[int]]
    for (_, outcome), kind in zip(table.entries, kinds, strict=True):
        entered[kind].add(outcome.next_state)
    inside = entered[LIVE] | set(np.flatnonzero(starts).tolist())
    goals = entered[GOAL] - inside
    lost_states = entered[ENDED] - inside - goals
    kept = [state for state in range(table.states) if state not in goals]
    number = {state: index for index, state in enumerate(kept)}
    names = [str(state) for state in kept]
    # A state in which an episode may end or go on is two states of the model.
    nowhere = len(names)
    if entered[ENDED] - lost_states:
        names.append("dead end")
    S = len(names) + int(np.count_nonzero(starts) > 1)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(S * table.actions)]
    mass, paid = np.zeros(len(rows)), np.zeros(len(rows))
    for (probability, outcome), kind in zip(table.entries, kinds, strict=True):
        state, reached = outcome.state, outcome.next_state
        if state in goals or state in lost_states:
            continue
        successor = S if kind == GOAL else number[reached] if kind == LIVE or reached in lost_states else nowhere
        row = number[state] * table.actions + outcome.action
        rows[row].append((successor, probability))
        mass[row] += probability
        paid[row] += probability * cost.cost(outcome)
    costs = np.divide(paid, mass, out=np.zeros(len(rows)), where=mass > 0.0)
    if len(names) < S:
        names.append("start")
        rows[(S - 1) * table.actions] = [(number[int(state)], starts[state]) for state in np.flatnonzero(starts)]
        first = S - 1
    else:
        first = number[int(np.argmax(starts))]
    renumbered = names != [str(state) for state in range(S)]
    return SSP.from_rows(
        np.append(0, np.cumsum([len(row) for row in rows])),
        [successor for row in rows for successor, _ in row],
        [probability for row in rows for _, probability in row],
        costs.reshape(S, table.actions),
        first,
        state_names=names if renumbered else None,
        action_names=ACTION_NAMES.get(type(environment.unwrapped).__name__),
        layout=None if renumbered else layout_of(environment, kept, sorted(goals)),
    )


@dataclass(frozen=True, eq=False)
class Table:
    """The transitions of an environment, each with its probability."""

    name: str
    states: int
    actions: int
    entries: list[tuple[float, Outcome]]

    @classmethod
    def of(cls, environment: Any) -> Table:
        """Read the table of an environment; raises an error that says what it is not."""
        name, bare = name_of(environment), environment.unwrapped
        if getattr(bare, "fickle_passenger", False):
            raise SettingError(f"the table of {name} leaves its fickle passenger out; learn through its steps instead")
        table = getattr(bare, "P", None)
        if table is None:
            raise SettingError(
                f"{name} shows no table of transitions (env.unwrapped.P); learn through its steps: gw.learn(agent, env)"
            )
        numbers, actions = StateNumbers(bare), action_space(bare)
        if type(numbers.space).__name__ != "Discrete" or numbers.count is None or actions is None:
            raise SettingError(f"{name} has a table but no Discrete spaces; its states and actions must be numbers")
        entries: list[tuple[float, Outcome]] = []
        for state in range(numbers.count):
            for action in range(actions[0]):
                try:
                    listed = [tuple(entry) for entry in table[state + numbers.first][action + actions[1]]]
                    read = [(float(p), int(y) - numbers.first, float(r), bool(end)) for p, y, r, end in listed]
                except (KeyError, IndexError, TypeError, ValueError):
                    raise ShapeError(
                        f"the table of {name} at state {state}, action {action} is no list of (probability, next state,"
                        " reward, terminated)"
                    ) from None
                for probability, reached, reward, end in read:
                    if not 0 <= reached < numbers.count:
                        raise StateError(
                            f"the table of {name} leads from state {state} by action {action} to state {reached}; there"
                            f" are 0..{numbers.count - 1}"
                        )
                    if probability != 0.0:
                        entries.append((probability, Outcome(state, action, reached, reward, end, {})))
        return cls(name, numbers.count, actions[0], entries)

    def starts(self, environment: Any) -> Floats:
        """Return the probability of each first state; without any word on it, the first one after a reset."""
        given = start_states(environment)
        if given is not None and given.shape == (self.states,) and given.sum() > 0.0:
            return np.asarray(given / given.sum())
        found = np.zeros(self.states)
        found[StateNumbers(environment).read(first_observation(environment, seed=0), self.states)] = 1.0
        return found


def kind_of(outcome: Outcome, goal: GoalRule, lost: Callable[[Outcome], bool] | None) -> int:
    if goal.reached(outcome):
        return GOAL
    if outcome.terminated or (lost is not None and lost(outcome)):
        return ENDED
    return LIVE


def dead_end_rule(given: Any) -> Callable[[Outcome], bool] | None:
    if given is None or callable(given):
        return given  # type: ignore[no-any-return]
    worst = checked_number("dead_end", given, -np.inf, note=", the largest reward in a dead end; or a function")
    return lambda outcome: outcome.reward <= worst


def layout_of(environment: Any, states: list[int], goals: list[int]) -> GridLayout | None:
    """Return where the states of the environments that are grids lie."""
    bare = environment.unwrapped
    if type(bare).__name__ == "FrozenLakeEnv":
        rows, columns = np.asarray(bare.desc).shape
    elif type(bare).__name__ == "CliffWalkingEnv":
        rows, columns = (int(size) for size in bare.shape)
    else:
        return None
    return GridLayout(rows, columns, states, goals)
