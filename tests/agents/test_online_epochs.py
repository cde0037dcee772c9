"""UC-SSP and ULCVI plan inside `act`: their rollout against `act` and `learn`, and the epochs of a run."""

from __future__ import annotations

import numpy as np
import pytest

from goalward import SSP, agents, learn, worlds
from goalward.acting.model_world import BLOCK, Dynamics, TabularPolicy, Walk
from goalward.acting.stop_conditions import Ended, TableStop
from goalward.agents import OnlineAgent
from goalward.agents.optimistic.uc_ssp import UCSSP
from goalward.agents.optimistic.ulcvi import ULCVI
from goalward.learning.run import Run

GRID, RANDOM = worlds.grid_world(), worlds.random_mdp(states=8, seed=5, rows="uniform")
FREE = GRID.with_costs(np.where(np.arange(4) == 0, 0.5 * (np.arange(GRID.states) % 2)[:, None], GRID.costs))
# Those at which hardly anything and nearly everything is known within the steps of the test.
CASES = [("uc-ssp", scale) for scale in (1.0, 0.05)] + [("ulcvi", scale) for scale in (1.0, 1e-9)]
NAMES = ["uc-ssp", "ulcvi"]


class PlainUCSSP(UCSSP):
    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        TabularPolicy.rollout(self, model, stop, walk)


class PlainULCVI(ULCVI):
    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        TabularPolicy.rollout(self, model, stop, walk)


PLAIN: dict[str, type[OnlineAgent]] = {"uc-ssp": PlainUCSSP, "ulcvi": PlainULCVI}


def both(name: str, world: SSP, episodes: int, max_steps: int | None = None, **settings: object) -> tuple[Run, Run]:
    """Run an agent by its kernel, and step by step by `act` and `learn`."""
    kinds = agents.find(name), PLAIN[name]
    made = [kind.from_world(world, episodes=episodes, **settings) for kind in kinds]
    compiled, plain = (learn(agent, world, episodes, 5, max_steps=max_steps) for agent in made)
    return compiled, plain


def assert_same(compiled: Run, plain: Run) -> None:
    for name in ("costs", "steps", "gaps", "reached"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name), err_msg=name)
    for name, column in vars(plain.epochs).items():
        np.testing.assert_array_equal(getattr(compiled.epochs, name), column, err_msg=name)
    assert compiled.ended == plain.ended
    assert compiled.agent.notes() == plain.agent.notes()


@pytest.mark.parametrize(("name", "scale"), CASES)
@pytest.mark.parametrize("world", [GRID, RANDOM, FREE], ids=["grid", "random", "free"])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_the_rollout_does_what_act_and_learn_do(name: str, scale: float, world: SSP, ties: str) -> None:
    """To the bit, across the ends of blocks of random numbers, and where a run ends in the middle of an epoch."""
    order = list(reversed(range(world.actions)))
    assert_same(*both(name, world, 10_000, scale=scale, ties=ties, action_order=order, max_steps=BLOCK + 100))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_whole_episodes(name: str) -> None:
    compiled, plain = both(name, GRID, 40)
    assert_same(compiled, plain)
    assert compiled.epochs.ended[-1] == Ended.GOALS | Ended.EPISODES
    assert compiled.epochs.steps.sum() == compiled.total_steps


@pytest.mark.parametrize("name", NAMES)
def test_recording_a_run_does_not_change_it(name: str) -> None:
    """A replay has a frame for each epoch, and the epochs are those of the run without one."""
    agent = agents.find(name).from_world(GRID, episodes=30)
    run, recorded = (learn(agent, GRID, 30, 3, keep_replay=kept) for kept in (False, True))
    assert_same(run, recorded)
    assert recorded.replay is not None
    assert recorded.replay.has_plans
    assert recorded.replay.epochs == len(run.epochs)
    assert [frame.steps for frame in recorded.replay.frames[:20]] == run.epochs.steps[:20].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_is_watched_and_resumed(name: str) -> None:
    """What an agent has learnt goes on; the plan in which its first run ended does not."""
    agent = agents.find(name).from_world(RANDOM, episodes=100)
    first = learn(agent, RANDOM, 10**6, 1, watch=lambda episodes, steps: False)
    assert first.ended == Ended.STOPPED
    assert first.epochs.ended[-1] & Ended.STOPPED
    runs = [learn(first.agent, RANDOM, 10**6, 2, resume=True, max_steps=500) for _ in range(2)]
    assert_same(*runs)
