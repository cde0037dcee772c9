"""The compiled epoch loops against `plan` and `observe`, and what the loop makes of their epochs."""

from __future__ import annotations

import numpy as np
import pytest

from goalward import SSP, agents, learn, worlds
from goalward.acting.compiled_stretches import SelfActing
from goalward.acting.rollout import BLOCK, Ended
from goalward.agents import Agent, Plan
from goalward.agents.optimistic.uc_ssp import UCSSP
from goalward.errors import ConvergenceError
from goalward.learning.run import Run

GRID, RANDOM = worlds.grid_world(), worlds.random_mdp(states=8, seed=5, rows="uniform")
FREE = GRID.with_costs(np.where(np.arange(4) == 0, 0.5 * (np.arange(GRID.states) % 2)[:, None], GRID.costs))
# Those at which hardly anything and nearly everything is known within the steps of the test.
CASES = [("uc-ssp", scale) for scale in (1.0, 0.05)] + [("ulcvi", scale) for scale in (1.0, 1e-9)]


def both(name: str, world: SSP, episodes: int, **settings: object) -> tuple[Run, Run]:
    """Run an agent by its compiled loop and, because its plans are kept, by `plan` and `observe`."""
    limit = settings.pop("max_steps", None)
    agent = agents.find(name).from_world(world, episodes=episodes, **settings)
    assert isinstance(agent, SelfActing)
    compiled, plain = (learn(agent, world, episodes, 5, max_steps=limit, keep_plans=kept) for kept in (False, True))
    assert compiled.plans is None
    assert plain.plans is not None
    return compiled, plain


def assert_same(compiled: Run, plain: Run) -> None:
    for name in ("costs", "steps", "gaps", "reached"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name), err_msg=name)
    for name, column in vars(plain.epochs).items():
        np.testing.assert_array_equal(getattr(compiled.epochs, name), column, err_msg=name)
    assert compiled.ended == plain.ended
    states = compiled.agent.to_state(), plain.agent.to_state()
    np.testing.assert_equal(states[0], states[1])
    assert compiled.agent.notes() == plain.agent.notes()


@pytest.mark.parametrize(("name", "scale"), CASES)
@pytest.mark.parametrize("world", [GRID, RANDOM, FREE], ids=["grid", "random", "free"])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_the_compiled_loop_does_what_plan_and_observe_do(name: str, scale: float, world: SSP, ties: str) -> None:
    """To the bit, across the ends of blocks of luck, and where a run ends in the middle of an epoch."""
    order = list(reversed(range(world.actions)))
    assert_same(*both(name, world, 10_000, scale=scale, ties=ties, action_order=order, max_steps=BLOCK + 100))


@pytest.mark.parametrize("name", ["uc-ssp", "ulcvi"])
def test_a_run_of_whole_episodes(name: str) -> None:
    compiled, plain = both(name, GRID, 40)
    assert_same(compiled, plain)
    assert compiled.epochs.ended[-1] == Ended.GOALS | Ended.EPISODES
    assert compiled.epochs.steps.sum() == compiled.total_steps


@pytest.mark.parametrize("name", ["uc-ssp", "ulcvi"])
def test_costs_in_other_units(name: str) -> None:
    dear = GRID.with_costs(7.0 * np.asarray(GRID.costs))
    assert_same(*both(name, dear, 100, rescale=True, max_steps=2000))


@pytest.mark.parametrize("name", ["uc-ssp", "ulcvi"])
def test_a_run_that_is_watched_and_resumed(name: str) -> None:
    """What an agent has learnt goes on; the plan in which its first run ended does not."""
    agent = agents.find(name).from_world(RANDOM, episodes=100)
    first = learn(agent, RANDOM, 10**6, 1, watch=lambda episodes, steps: False)
    assert first.ended == Ended.STOPPED
    assert first.epochs.ended[-1] & Ended.STOPPED
    runs = [learn(first.agent, RANDOM, 10**6, 2, resume=True, max_steps=500, keep_plans=kept) for kept in (False, True)]
    assert_same(*runs)


def test_a_changed_algorithm_is_not_bypassed() -> None:
    """A subclass that plans in its own way is asked for its plans."""

    class Always(UCSSP):
        def plan(self, state: int) -> Plan:
            return Plan(np.ones(self.task.states, dtype=np.int64), stop_after_goals=1)

    run = learn(Always(), GRID, 5, 0, keep_steps=True)
    assert run.trajectory is not None
    assert set(run.trajectory.actions.tolist()) == {1}
    assert isinstance(run.agent, Agent)


def test_a_plan_that_does_not_settle_is_an_error() -> None:
    with pytest.raises(ConvergenceError, match="uc-ssp"):
        learn(UCSSP(scale=0.01, max_sweeps=2), GRID, 100, 0)
