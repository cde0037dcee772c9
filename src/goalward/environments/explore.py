"""Builds a model of an environment that has no table by trying every action in every reachable state.

`explore` resets the environment and visits states in breadth-first order. To try an action in a state, it restores the
environment to the state, plays the action and records the result. At the end, the environment is as it was before. By
default, `explore` saves and restores the attributes of the environment and its wrappers with `copy.deepcopy`, which
cannot copy open files, renderers or the state of C extensions. For such environments, pass ``clone`` and ``restore``.

Before every step, all random number generators among the attributes get new seeds. Without ``samples``, every
state–action pair is tried twice, with different seeds. If the two results differ, an error is raised: either
transitions are random, or the key hides a difference between states. With ``samples=n``, each pair is tried n times,
and the model has the relative frequencies as probabilities and the mean costs.

All episodes that end away from the goal lead to the same dead end. If episodes start in different states, the model has
an additional initial state, whose only action draws the first state. `truncated` is ignored.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from goalward.environments.goal_and_cost_rules import Outcome, cost_rule, goal_rule, name_of, wrappers
from goalward.environments.spaces import check_environment, checked_step, encoding_of, first_observation
from goalward.errors import ModelError, SettingError, StateError
from goalward.progress import phase
from goalward.settings import Size, check
from goalward.ssp.model import SSP, restrict_actions

SHARED = ("P", "action_space", "observation_space", "spec")
"""Attributes that steps do not change, so they are not copied; copying a table of transitions would be slow."""
START, GOAL, ENDED = "start", "goal", "episode ended"


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
    """Return a model of `env`, built by trying all actions in all reachable states.

    Parameters
    ----------
    env
        An environment with finitely many actions. The model includes the effects of all wrappers.
    goal, cost
        The rules that decide which steps reach the goal and what a step costs; see `environments.goal_and_cost_rules`.
    give_up_cost
        Adds an action that restarts at this cost. The action is also available in the dead end after a failed episode.
    key
        A function that computes the state from an observation. The function may also read the environment, which is
        always in the state of this observation when the function is called.
    clone, restore
        ``clone(env)`` returns a snapshot, and ``restore(env, snapshot)`` restores the environment from a snapshot. A
        snapshot may be restored several times. By default, the attributes are copied.
    samples
        The number of tries per state–action pair if transitions are random; None means that they are deterministic.
    max_states
        The limit on the number of states.
    resets, seed
        `resets` is the number of resets used to find the initial states. `seed` is for the first reset and all steps.

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
    if samples is not None:
        check("samples", samples, Size)
    snapshots = Snapshots(env, clone, restore)
    before = snapshots.save()
    try:
        explorer = Explorer(env, goal, cost, key, max_states, snapshots, seed)
        starts = explorer.first_states(check("resets", resets, Size), seed)
        with phase(f"exploring {name_of(env)}", 0, "states", "steps") as explorer.progress:
            model = explorer.model(starts, samples)
    finally:
        snapshots.restore(before)
    return model if give_up_cost is None else model.with_give_up(give_up_cost)


class Snapshots:
    """Saves and restores an environment with the user's functions, or by copying the attributes of all layers."""

    def __init__(self, env: Any, clone: Callable[[Any], Any] | None, set_back: Callable[[Any, Any], object] | None):
        self.env, self.clone, self.set_back = env, clone, set_back
        self.layers = [*wrappers(env), getattr(env, "unwrapped", env)]
        # Copies keep their references to the layers themselves and to the shared attributes.
        shared = [vars(layer)[name] for layer in self.layers for name in SHARED if name in vars(layer)]
        self.fixed = {id(value): value for value in (*self.layers, *shared)}

    def save(self) -> Any:
        if self.clone is not None:
            return self.clone(self.env)
        return self.copied([vars(layer) for layer in self.layers])

    def restore(self, snapshot: Any) -> None:
        if self.set_back is not None:
            self.set_back(self.env, snapshot)
            return
        for layer, fields in zip(self.layers, self.copied(snapshot), strict=True):
            vars(layer).clear()
            vars(layer).update(fields)

    def copied(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        try:
            return copy.deepcopy(fields, dict(self.fixed))
        except Exception as error:
            raise SettingError(
                f"{name_of(self.env)} cannot be copied ({type(error).__name__}: {error}); make it without renderers"
                " and open files, or pass clone=function and restore=function"
            ) from error


class Explorer:
    """The states found so far, and the results of actions in these states.

    The result of a step is a pair of next state and cost. The next state is a number, `GOAL` or `ENDED`.
    """

    progress: Any

    def __init__(
        self, env: Any, goal: Any, cost: Any, key: Any, max_states: int, snapshots: Snapshots, seed: int
    ):  # fmt: skip
        self.env, self.goal, self.cost = env, goal_rule(goal, env), cost_rule(cost)
        self.encoding = encoding_of(env, key, max_states)
        self.max_states, self.snapshots, self.steps = max_states, snapshots, 0
        self.seeds = np.random.SeedSequence(seed)
        # The last snapshot and observation of each state, and the results of all steps of each state–action pair.
        self.places: dict[int, tuple[Any, Any]] = {}
        self.results: dict[tuple[int, int], list[tuple[Hashable, float]]] = {}

    def first_states(self, resets: int, seed: int) -> Counter[int]:
        """Start `resets` episodes and return how often each first state appeared."""
        seeds = [{"seed": seed}, *({} for _ in range(resets - 1))]
        return Counter(self.arrive(first_observation(self.env, **options)) for options in seeds)

    def arrive(self, observation: Any) -> int:
        """Return the state number of this observation, and save a snapshot of the environment for this state."""
        state = self.encoding.state(observation)
        self.places[state] = (self.snapshots.save(), observation)
        if len(self.places) > self.max_states:
            raise SettingError(
                f"{name_of(self.env)} has more than {self.max_states:,} states; pass a larger max_states=, or a key="
                " that distinguishes fewer states"
            )
        return state

    def model(self, starts: Counter[int], samples: int | None) -> SSP:
        """Try each action in every reachable state, with nearest states first, and return the model."""
        actions, tries = range(self.encoding.actions), samples or 1

        def available(state: Hashable) -> Any:
            return [0] if state in (START, ENDED) else actions

        def successors(state: Any, action: int) -> Iterator[tuple[Hashable, float, float]]:
            if state == ENDED:
                yield ENDED, 1.0, 0.0  # removed below
                return
            if state == START:
                yield from ((first, times / starts.total(), 0.0) for first, times in sorted(starts.items()))
                return
            results = [self.attempt(state, action) for _ in range(tries)]
            self.results[state, action] = results
            self.progress.advance(len(self.places), self.steps)
            yield from ((after, 1.0 / tries, cost) for after, cost in results)

        start = START if len(starts) > 1 else next(iter(starts))
        try:
            model = SSP.from_successors(start, available, successors, GOAL, limit=self.max_states + 2, normalize=True)
        except StateError:
            if any(after == GOAL for results in self.results.values() for after, _ in results):
                raise
            self.check(samples)
            raise ModelError(
                f"no step of {name_of(self.env)} reached the goal, which is {self.goal}; {len(self.places):,} states"
                " were found: pass another rule as goal=..., or a larger resets=..."
            ) from None
        self.check(samples)
        texts = model.state_names or ()
        names = tuple(self.encoding.name(int(text)) if text.isdecimal() else text for text in texts)
        model = model._replace(state_names=names, action_names=tuple(map(self.encoding.action_name, actions)))
        return restrict_actions(model, model.available & (np.array(texts) != ENDED)[:, np.newaxis])

    def attempt(self, state: int, action: int, keep: bool = True) -> tuple[Hashable, float]:
        """Reseed all generators, play `action` in `state` and return the result; with `keep`, save the next state."""
        snapshot, observation = self.places[state]
        self.snapshots.restore(snapshot)
        for layer in self.snapshots.layers:
            reseed(vars(layer), self.seeds.spawn(1)[0])
        move = self.encoding.action(action)
        following, reward, terminated, _, info = checked_step(self.env, self.env.step(move))
        self.steps += 1
        outcome = Outcome(observation, move, following, reward, terminated, info)
        cost = self.cost.cost(outcome)
        if self.goal.reached(outcome):
            return GOAL, cost
        if terminated:
            return ENDED, cost
        return self.arrive(following) if keep else self.encoding.state(following), cost

    def check(self, samples: int | None) -> None:
        """Without `samples`, try every pair a second time; raises ModelError if an outcome differs."""
        for (state, action), first in self.results.items() if samples is None else ():
            if [self.attempt(state, action, keep=False)] != first:
                raise ModelError(
                    f"action {self.encoding.action_name(action)!r} in state {self.encoding.name(state)!r} had different"
                    f" outcomes in two tries. If {name_of(self.env)} is random, pass samples=100 or more"
                    " to estimate probabilities. If it is not random, pass a key= that distinguishes more states"
                )


def reseed(fields: dict[str, Any], seed: np.random.SeedSequence) -> None:
    """Replace the random number generators in `fields`, which are the attributes of an environment."""
    for name, value in fields.items():
        number = int(seed.spawn(1)[0].generate_state(1)[0])
        if isinstance(value, np.random.Generator):
            fields[name] = np.random.default_rng(number)
        elif isinstance(value, np.random.RandomState | random.Random):
            fields[name] = type(value)(number)
