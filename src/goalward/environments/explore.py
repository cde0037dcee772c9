"""A model of an environment without a table, built by trying every action in every state that can be reached.

`explore` resets the environment and tries states in breadth-first order. For each action it puts the environment back
into the state, steps it and takes note of what happens. By default it saves and restores the attributes of the
environment and its wrappers by `copy.deepcopy`, and the environment is as before when it returns. Open files, renderers
and state inside C extensions cannot be copied so: pass ``clone`` and ``restore``.

Random number generators among the attributes get new seeds before every step. Without ``samples`` every pair is tried
a second time: with other seeds, and from the last way that led to the state. A different outcome means that transitions
are random, which is an error, or that equal states behave differently because the key hides something, which is a
warning. With ``samples=n`` each pair is tried n times; probabilities are frequencies and costs are means.

As in `goalward.environments.tables`, an end away from the goal is a dead end, and several first states get a state
before them. `truncated` is ignored: it says how long one may try, not where one is.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from goalward.environments.rules import CostRule, GoalRule, Outcome, cost_rule, goal_rule, name_of, wrappers
from goalward.environments.spaces import check_environment, checked_step, encoding_of, first_observation
from goalward.environments.tables import ENDED, GOAL, LIVE, Table, assemble, start_probabilities
from goalward.errors import ModelError, SettingError, StateError
from goalward.progress import phase
from goalward.settings import checked_integer
from goalward.ssp.model import SSP

__all__ = ["explore"]

SHARED = ("P", "action_space", "observation_space", "spec")
"""Attributes of environments that steps do not change; tables of transitions are slow to copy."""
TRIES_PER_START = 50


def explore(
    env: Any,
    *,
    goal: Any = None,
    cost: Any = None,
    give_up_cost: float | None = None,
    key: Callable[[Any], Hashable] | None = None,
    clone: Callable[[Any], Any] | None = None,
    restore: Callable[[Any, Any], object] | None = None,
    samples: int | None = None,
    max_states: int = 100_000,
    resets: int = 1,
    seed: int = 0,
) -> SSP:
    """Return the model of an environment, built by trying all actions in all states that can be reached.

    Parameters
    ----------
    env
        An environment with finitely many actions. Wrappers count: what `step` returns is what is modelled.
    goal, cost
        Which steps reach the goal and what they cost: see `goalward.environments.rules`.
    give_up_cost
        Let the model give up at this cost, also where an episode ended away from the goal.
    key
        What identifies a state: a function of the observation. It may also look at the environment itself, which is
        always in the state of the observation.
    clone, restore
        ``clone(env)`` returns a snapshot, ``restore(env, snapshot)`` goes back to it, as often as needed; by default
        the attributes are copied.
    samples
        How often to try each pair where transitions are random; None if they are deterministic.
    max_states
        The most states to number.
    resets, seed
        How many episodes to start to find the first states, the first of them by ``reset(seed=seed)``. Where the
        environment tells the probabilities of first states (`initial_state_distrib`), they are used.

    Examples
    --------
    >>> import goalward as gw, gymnasium
    >>> cliff = gw.explore(gymnasium.make("CliffWalking-v1"))
    >>> float(gw.solve(cliff).values[cliff.initial_state])
    13.0
    """
    check_environment(env)
    if (clone is None) != (restore is None):
        raise SettingError("pass clone and restore together, or neither of them")
    for name, number in (("samples", samples), ("resets", resets)):
        if number is not None:
            checked_integer(name, number, 1)
    copies = Copies(env) if clone is None or restore is None else None
    save = copies.clone if copies is not None else lambda: clone(env)  # type: ignore[misc]
    go_to = copies.restore if copies is not None else lambda snapshot: restore(env, snapshot)  # type: ignore[misc]
    before = save()
    try:
        found = Explorer(env, goal_rule(goal, env), cost_rule(cost), key, max_states, seed, save, go_to)
        starts = found.first_states(resets)
        with phase(f"exploring {name_of(env)}", 0, "states", "steps") as progress:
            for number, _ in enumerate(found.expand(1 if samples is None else samples)):
                progress.advance(number + 1, found.steps)
            if samples is None:
                found.check()
    finally:
        go_to(before)
    model = found.model(starts)
    return model if give_up_cost is None else model.with_give_up(give_up_cost)


class Copies:
    """Saves and restores the attributes of an environment and its wrappers."""

    def __init__(self, env: Any):
        self.env = env
        bare = getattr(env, "unwrapped", env)
        self.layers = [*wrappers(env), *([] if any(layer is bare for layer in wrappers(env)) else [bare])]
        # What refers to a layer still does so in a copy; what is shared is not copied.
        shared = [vars(layer)[name] for layer in self.layers for name in SHARED if name in vars(layer)]
        self.fixed = {id(value): value for value in (*self.layers, *shared)}

    def clone(self) -> list[dict[str, Any]]:
        """Return a copy of all attributes."""
        return self.copied([vars(layer) for layer in self.layers])

    def restore(self, snapshot: list[dict[str, Any]]) -> None:
        """Set all attributes to those of a snapshot, which stays as it is."""
        for layer, fields in zip(self.layers, self.copied(snapshot), strict=True):
            vars(layer).clear()
            vars(layer).update(fields)

    def copied(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        try:
            return copy.deepcopy(fields, dict(self.fixed))
        except Exception as error:
            raise SettingError(
                f"{name_of(self.env)} cannot be copied ({type(error).__name__}: {error}); make it without a renderer"
                " and open files, or pass clone=function and restore=function"
            ) from error


class Result(NamedTuple):
    """What one try led to; equal results are the same transition."""

    successor: int
    kind: int
    cost: float


class Explorer:
    """The states found so far, and what the actions do in them."""

    def __init__(
        self,
        env: Any,
        goal: GoalRule,
        cost: CostRule,
        key: Callable[[Any], Hashable] | None,
        max_states: int,
        seed: int,
        save: Callable[[], Any],
        go_to: Callable[[Any], object],
    ):
        self.env, self.goal, self.cost, self.seed, self.save, self.go_to = env, goal, cost, seed, save, go_to
        self.encoding = encoding_of(env, key, max_states)
        self.max_states, self.steps = max_states, 0
        self.seeds = np.random.SeedSequence(seed)
        # By state: the first and the last snapshot with the observation, and what was observed for each action.
        self.snapshots: dict[int, list[tuple[Any, Any]]] = {}
        self.results: dict[tuple[int, int], list[Result]] = {}
        self.ends: set[int] = set()

    def first_states(self, resets: int) -> dict[int, float]:
        """Start episodes; return the probability of each first state."""
        told = None if self.encoding.observations is None else start_probabilities(self.env)
        told = told if told is not None and len(told) == self.encoding.states else None
        wanted = None if told is None else {int(state) for state in np.flatnonzero(told)}
        tries = resets if wanted is None else TRIES_PER_START * len(wanted)
        count: dict[int, int] = {}
        for number in range(tries):
            observation = first_observation(self.env, **({} if number else {"seed": self.seed}))
            state = self.arrive(observation)
            count[state] = count.get(state, 0) + 1
            if wanted is not None and wanted <= set(count):
                break
        if told is not None and wanted == set(count):
            return {state: float(told[state]) for state in sorted(count)}
        return {state: number / sum(count.values()) for state, number in sorted(count.items())}

    def arrive(self, observation: Any) -> int:
        """Return the state of an observation, and save the environment there."""
        state = self.encoding.state(observation)
        known = self.snapshots.setdefault(state, [])
        if len(self.snapshots) > self.max_states:
            raise SettingError(
                f"{name_of(self.env)} has more than {self.max_states:,} states; pass a larger max_states=, or a key="
                " that tells fewer apart"
            )
        known[1:] = [(self.save(), observation)]
        return state

    def expand(self, samples: int) -> Iterator[int]:
        """Try each action so many times in every state that can be reached, nearest states first."""
        queue = list(self.snapshots)
        for state in queue:
            for action in range(self.encoding.actions):
                for _ in range(samples):
                    known = len(self.snapshots)
                    result = self.attempt(self.snapshots[state][0], action)
                    self.results.setdefault((state, action), []).append(result)
                    if len(self.snapshots) > known:
                        queue.append(result.successor)
            yield state

    def attempt(self, place: tuple[Any, Any], action: int, keep: bool = True) -> Result:
        """Go to a place and play an action with generators of new seeds; keep the place that it leads to, or not."""
        snapshot, observation = place
        self.go_to(snapshot)
        for layer in Copies(self.env).layers:
            reseed(vars(layer), self.seeds.spawn(1)[0])
        move = self.encoding.action(action)
        following, reward, terminated, _, info = checked_step(self.env, self.env.step(move))
        self.steps += 1
        outcome = Outcome(observation, move, following, reward, terminated, info)
        kind = GOAL if self.goal.reached(outcome) else ENDED if terminated else LIVE
        arrive = self.arrive if keep else self.encoding.state
        successor = arrive(following) if kind == LIVE else self.end(following) if kind == ENDED else -1
        return Result(successor, kind, self.cost.cost(outcome))

    def end(self, observation: Any) -> int:
        """Return the state of the last observation of an episode; -1 if it has none, as it is not one to act in."""
        try:
            state = self.encoding.state(observation)
        except StateError:
            return -1
        self.ends.add(state)
        return state

    def check(self) -> None:
        """Try every pair again with other seeds and from the last way to the state; see the top of the module."""
        hidden = None
        for state, action in list(self.results):
            first, last = self.snapshots[state][0], self.snapshots[state][-1]
            (expected,), again = self.results[state, action], self.attempt(last, action, keep=False)
            if again == expected:
                continue
            what = f"{self.encoding.action_name(action)!r} in state {self.encoding.name(state)!r}"
            if self.attempt(first, action, keep=False) != expected:
                raise ModelError(
                    f"{what} had different outcomes with different seeds: the transitions of {name_of(self.env)} are"
                    " random; pass samples=100, or more, to estimate their probabilities"
                )
            hidden = hidden or what
        if hidden is not None:
            warnings.warn(
                f"{hidden} had different outcomes depending on the way that led there; the states hide something that"
                " matters, and the model is wrong: pass a key= that tells more states apart",
                stacklevel=3,
            )

    def model(self, starts: dict[int, float]) -> SSP:
        """Return the model of all results; states are ordered by their numbers."""
        states = sorted(self.snapshots.keys() | self.ends)
        number = {state: index for index, state in enumerate(states)}
        S, A = len(states), self.encoding.actions
        entries: list[tuple[float, Outcome]] = []
        kinds: list[int] = []
        costs = np.zeros((S, A))
        for (state, action), results in self.results.items():
            counts: dict[tuple[int, int], int] = {}
            for result in results:
                counts[result[:2]] = counts.get(result[:2], 0) + 1
            # Without an observation, the goal is number S and the end of an episode elsewhere S + 1.
            for (successor, kind), times in counts.items():
                target = S if kind == GOAL else number.get(successor, S + 1)
                outcome = Outcome(number[state], action, target, 0.0, kind != LIVE, {})
                entries.append((times / len(results), outcome))
                kinds.append(kind)
            costs[number[state], action] = sum(result.cost for result in results) / len(results)
        if GOAL not in kinds:
            raise ModelError(
                f"no step of {name_of(self.env)} reached the goal by its rule, {self.goal}, from {S:,} states; pass"
                " another rule as goal=..., or more resets"
            )
        first = np.zeros(S + 2)
        for state, probability in starts.items():
            first[number[state]] = probability
        names = [*(self.encoding.name(state) for state in states), "goal", "episode ended"]
        actions = [self.encoding.action_name(action) for action in range(A)]
        padded = np.vstack([costs, np.zeros((2, A))])
        return assemble(Table(S + 2, A, entries), kinds, first, lambda ignored: padded, names, actions)


def reseed(fields: dict[str, Any], seed: np.random.SeedSequence) -> None:
    """Replace the random number generators among the attributes of an environment."""
    makers: dict[type, Callable[[Any], Any]] = {
        np.random.Generator: np.random.default_rng,
        np.random.RandomState: lambda seed: np.random.RandomState(seed.generate_state(1)[0]),
        random.Random: lambda seed: random.Random(int(seed.generate_state(1)[0])),  # noqa: S311 - a simulation
    }
    for name, value in fields.items():
        maker = next((maker for kind, maker in makers.items() if isinstance(value, kind)), None)
        if maker is not None:
            fields[name] = maker(seed.spawn(1)[0])
