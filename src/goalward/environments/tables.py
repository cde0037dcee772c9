"""Builds models of Gymnasium environments that expose a table of transitions.

FrozenLake, CliffWalking, Taxi and similar environments have a table. The entry ``env.unwrapped.P[s][a]`` is a list of
``(probability, next state, reward, terminated)``. `from_gymnasium` converts the table to an `SSP`:

* A step that reaches the goal, by the rule of `goal_and_cost_rules`, leads to the goal of the model. States that are
  entered only by such steps are merged into the goal. The other states keep their order.
* A step that ends the episode elsewhere leads to a dead end: a state without actions.
* The cost of a state–action pair is the mean cost of its outcomes.
* If episodes start in different states, the model has an additional last state, which is its initial state. The only
  action in this state is free and draws the first state, so V* of this state is the mean over the first states.

If no state was added and only the last states were merged into the goal, state i of the model is state i of the
environment. Otherwise, `state_names` has the numbers of the states in the environment. The table describes the
environment without wrappers, so it is not used if a wrapper may change the results of steps.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from goalward.acting.encoding import Encoding
from goalward.arrays import Floats
from goalward.environments import goal_and_cost_rules as rules
from goalward.environments.by_name import make_environment
from goalward.environments.goal_and_cost_rules import CostRule, GoalRule, Outcome, changing_wrapper, name_of
from goalward.environments.spaces import ACTION_NAMES, encoding_of, first_observation, space_of
from goalward.errors import ModelError, SettingError, ShapeError
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP


def from_gymnasium(env: Any, *, goal: Any = None, cost: Any = None) -> SSP:
    """Return the model of an environment that exposes its table of transitions.

    Parameters
    ----------
    env
        An environment, or its id, such as "FrozenLake-v1". It must not have a wrapper that changes its steps.
    goal, cost
        The rules that decide which steps reach the goal and what a step costs; see `environments.goal_and_cost_rules`.
        FrozenLake, CliffWalking and Taxi need no `goal`, because their goals are known.

    Examples
    --------
    >>> import goalward as gw
    >>> lake = gw.from_gymnasium("FrozenLake-v1")
    >>> lake
    SSP(states=15, actions=4, transitions=128, unavailable=16, costs=1, initial_state=0)
    >>> gw.structure(lake).never
    array([ 5,  7, 11, 12])
    """
    environment = make_environment(env) if isinstance(env, str) else env
    wrapper, bare = changing_wrapper(environment), getattr(environment, "unwrapped", environment)
    if wrapper is not None and (hasattr(bare, "P") or hasattr(bare, "ssp")):
        raise SettingError(
            f"the wrapper {wrapper} may change the results of steps of {name_of(environment)}, but the model would"
            " describe the environment without wrappers. Pass env.unwrapped to ignore the wrappers, or learn from the"
            " steps with gw.learn(agent, env)"
        )
    ssp = getattr(bare, "ssp", None)
    if isinstance(ssp, SSP):
        return ssp
    return table_model(environment, rules.goal_rule(goal, environment), rules.cost_rule(cost))


def to_gymnasium(ssp: SSP) -> Any:
    """Return the model `ssp` as a Gymnasium environment; see `goalward.environments.world_env`.

    Registered worlds also have ids, as in ``gymnasium.make("goalward.environments:goalward/GridWorld-v0", rows=5)``.
    """
    from goalward.environments.world_env import WorldEnv

    return WorldEnv(ssp)


def has_table(environment: Any, encoding: Encoding) -> bool:
    """Return whether an environment has a table of transitions that no wrapper or key makes invalid."""
    bare = getattr(environment, "unwrapped", environment)
    hidden = changing_wrapper(environment) or encoding.needs_key or getattr(bare, "fickle_passenger", False)
    return hasattr(bare, "P") and not hidden


def start_states(environment: Any, encoding: Encoding, resets: int) -> list[int]:
    """Return the states in which episodes start, with the most likely state first.

    If the environment does not provide these states, `resets` resets are tried. The list then has the state after the
    first reset, and -1 for each later reset that leads to another state.
    """
    told = None if changing_wrapper(environment) or encoding.needs_key else start_probabilities(environment)
    if told is not None and len(told) == encoding.states:
        return [int(np.argmax(told)), *np.flatnonzero(told).tolist()][: np.count_nonzero(told)]
    first = encoding.state(first_observation(environment, seed=0))
    found = [encoding.find(first_observation(environment, seed=seed)) for seed in range(1, resets)]
    return [first, *(-1 for state in found if state != first)]


def start_probabilities(environment: Any) -> Floats | None:
    """Return the probability of each first state, or None if the environment does not provide the probabilities."""
    starts = getattr(getattr(environment, "unwrapped", environment), "initial_state_distrib", None)
    probabilities = np.zeros(0) if starts is None else np.array(starts, dtype=np.float64)
    return np.asarray(probabilities / probabilities.sum()) if probabilities.sum() > 0.0 else None


class Table(NamedTuple):
    """The table of an environment; each of the `entries` has the probability and the outcome of a transition."""

    states: int
    actions: int
    entries: list[tuple[float, Outcome]]


def read_table(environment: Any) -> Table:
    """Read the table of an environment; raises an error if it is missing or invalid."""
    name, bare = name_of(environment), getattr(environment, "unwrapped", environment)
    if getattr(bare, "fickle_passenger", False):
        raise SettingError(f"the table of {name} does not describe its fickle passenger; use gw.learn(agent, env)")
    rows = getattr(bare, "P", None)
    if rows is None:
        raise SettingError(
            f"{name} has no table of transitions (env.unwrapped.P); learn from steps with gw.learn(agent, env)"
        )
    states, actions = space_of(bare.observation_space), space_of(bare.action_space)
    if states is None or actions is None or not states["kind"] == actions["kind"] == "discrete":
        raise SettingError(f"{name} has a table, but its spaces are not Discrete; both spaces must be Discrete")
    S, first_state, A, first_action = states["n"], states["start"], actions["n"], actions["start"]
    entries: list[tuple[float, Outcome]] = []
    for state, action in np.ndindex(S, A):
        try:
            for probability, successor, reward, end in rows[state + first_state][action + first_action]:
                outcome = Outcome(state, action, int(successor) - first_state, float(reward), bool(end), {})
                if not 0 <= outcome.next_state < S:
                    raise ValueError
                if probability != 0.0:
                    entries.append((float(probability), outcome))
        except (KeyError, IndexError, TypeError, ValueError):
            raise ShapeError(
                f"the table of {name} is invalid at state {state}, action {action}; each entry must be a list of"
                f" (probability, next state, reward, terminated) with next states 0..{S - 1}"
            ) from None
    return Table(S, A, entries)


def costs_of(table: Table, cost: CostRule, ignored: Collection[int] = ()) -> Floats:
    """Return the mean costs ``costs[s, a]``; the cost is infinite if (s, a) is unavailable or if s is in `ignored`."""
    mass, paid = np.zeros((2, table.states, table.actions))
    for probability, outcome in table.entries:
        if outcome.state not in ignored:
            mass[outcome.state, outcome.action] += probability
            paid[outcome.state, outcome.action] += probability * cost.cost(outcome)
    return np.divide(paid, mass, out=np.full_like(paid, np.inf), where=mass > 0.0)


def table_model(environment: Any, goal: GoalRule, cost: CostRule) -> SSP:
    """Return the model that the table of an environment describes."""
    table, bare = read_table(environment), getattr(environment, "unwrapped", environment)
    reached, ended, live = set[int](), set[int](), set[int]()  # states by how they are entered
    ways = []
    for _, outcome in table.entries:
        ways.append(reached if goal.reached(outcome) else ended if outcome.terminated else live)
        ways[-1].add(outcome.next_state)
    if not reached:
        raise ModelError(
            f"no transition of {name_of(environment)} reaches the goal, which is {goal}; pass another rule as goal=..."
        )
    starts = start_probabilities(environment)
    if starts is None or len(starts) != table.states:
        starts = np.zeros(table.states)
        starts[encoding_of(bare).state(first_observation(environment, seed=0))] = 1.0
    inside = live | set(np.flatnonzero(starts).tolist())
    goals, dead_ends = reached - inside, ended - inside - reached
    states = [state for state in range(table.states) if state not in goals]
    number = {state: index for index, state in enumerate(states)}
    names = [str(state) for state in states]
    # If episodes may end in a state or go on from it, the model has the state and, in addition, a shared dead end.
    shared_dead_end = len(names)
    if ended - dead_ends:
        names.append("dead end")
    first = number[int(np.argmax(starts))]
    if np.count_nonzero(starts) > 1:
        first = len(names)
        names.append("start")
    S, A = len(names), table.actions
    rows: list[list[tuple[int, float]]] = [[] for _ in range(S * A)]
    for (probability, outcome), way in zip(table.entries, ways, strict=True):
        state, successor = outcome.state, outcome.next_state
        if state not in goals and state not in dead_ends:
            named = way is live or successor in dead_ends
            target = S if way is reached else number[successor] if named else shared_dead_end
            rows[number[state] * A + outcome.action].append((target, probability))
    if names[-1] == "start":
        rows[first * A] = [(number[int(state)], starts[state]) for state in np.flatnonzero(starts)]
    costs = np.zeros((S, A))
    costs[: len(states)] = costs_of(table, cost, goals | dead_ends)[states]
    renumbered = names != [str(state) for state in range(S)]
    return SSP.from_rows(
        np.append(0, np.cumsum([len(row) for row in rows])),
        [successor for row in rows for successor, _ in row],
        [probability for row in rows for _, probability in row],
        np.where(np.isfinite(costs), costs, 0.0),
        first,
        state_names=names if renumbered else None,
        action_names=ACTION_NAMES.get(type(bare).__name__),
        layout=layout_of(bare, states, sorted(goals), names[len(states) :]),
    )


def layout_of(bare: Any, states: list[int], goals: list[int], added: list[str]) -> GridLayout | None:
    """Return the grid layout of an environment, or None; `added` has the names of states that only the model has."""
    name = type(bare).__name__
    if name == "TaxiEnv" and added == ["start"] and not goals:
        return taxi_layout(bare)
    if added or states != list(range(len(states))) or name not in ("FrozenLakeEnv", "CliffWalkingEnv"):
        return None
    rows, columns = np.asarray(bare.desc).shape if name == "FrozenLakeEnv" else bare.shape
    return GridLayout(int(rows), int(columns), np.array(states), np.array(goals))


def taxi_layout(bare: Any) -> GridLayout:
    """Return the layout of Taxi, with one floor for each place and destination of the passenger, start and goal."""
    ground = np.asarray(bare.desc)[1:-1, 1:-1:2].astype(str)
    rows, columns = ground.shape
    depots = [ground[place] for place in bare.locs]
    places = [*(f"at {depot}" for depot in depots), "in the taxi"]
    floors = [f"passenger {place}, going to {depot}" for place in places for depot in depots]
    floors += ["before the first step", "passenger delivered"]
    cells = np.arange(len(floors) * rows * columns).reshape(len(floors), rows, columns)
    decoded = (tuple(bare.decode(state)) for state in range(bare.observation_space.n))
    states = [cells[passenger * len(depots) + to, row, column] for row, column, passenger, to in decoded]
    states.append(cells[-2, rows // 2, columns // 2])
    goals = [cells[-1, row, column] for row, column in bare.locs]
    letters = "".join(np.where(ground == " ", ".", ground).ravel()) * len(floors)
    return GridLayout(len(floors) * rows, columns, np.array(states), np.array(goals), letters, floors=floors)
