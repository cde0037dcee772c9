"""Agents that learn step by step: each update by hand, the compiled way of acting against the plain one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from counted import dense_counts
from scipy import stats

from goalward import SSP, learn, worlds
from goalward.acting.model_world import ModelStage, TabularPolicy
from goalward.agents import OnlineAgent, Plan, QLearning, RandQL, Step, Task
from goalward.agents.model_free.rand_ql import horizon, note_step
from goalward.errors import SettingError

GRID = worlds.grid_world()
AGENTS = {
    "rand-ql": RandQL(),
    "rand-ql, five members": RandQL(members=5),
    "q-learning": QLearning(),
}
# The goal in two steps: the first action of state 0 costs 1 and leads to 1; the second is not available in state 1.
LINE = SSP.from_transitions(
    [(0, 0, 1, 1.0, 1.0), (0, 1, 0, 1.0, 0.5), (1, 0, 2, 1.0, 0.25)], goals=[2], initial_state=0
)


def begun(agent: OnlineAgent, world: SSP, seed: int = 0) -> OnlineAgent:
    agent.begin(Task.of(world, 10**6), np.random.default_rng(seed))
    return agent


def one_step(state: int, action: int, successor: int, cost: float = 1.0) -> Step[int]:
    return Step(state, action, cost, successor, False)


class Plainly(TabularPolicy):
    """The `act` and `learn` of an agent without its kernel."""

    def __init__(self, agent: OnlineAgent):
        self.agent = agent

    def act(self, state: int, draw: Callable[[], float]) -> int:
        return self.agent.act(state, draw)

    def learn(self, step: Step[int]) -> int:
        return self.agent.learn(step)


@pytest.mark.parametrize(
    "world",
    [GRID, worlds.random_mdp(), LINE],
    ids=["grid", "random", "unavailable actions"],
)
@pytest.mark.parametrize("name", AGENTS)
def test_compiled_and_plain_acting_have_the_same_bits(name: str, world: SSP) -> None:
    """Over several blocks of random numbers, and across the end of a call."""
    results = []
    for compiled in (True, False):
        agent, stage = begun(AGENTS[name], world), ModelStage(world, 1)
        plan = Plan(agent if compiled else Plainly(agent))
        chunks = [stage.follow(plan, *room) for room in ((30, 1000), (10**6, 11_000), (10**6, 4000))]
        state = agent.to_state()
        # Rows of the counts get room for more successors a little earlier in the compiled way.
        counts = [dense_counts(agent.counts)] if state.pop("counts", None) else []  # type: ignore[attr-defined]
        lengths = [len(chunk.steps.actions) for chunk in chunks]
        assert sum(lengths) > 8000
        results.append([*state.values(), *counts, agent.values(), lengths, *chunks[-1].steps])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_horizon_follows_the_episodes() -> None:
    clock = np.zeros(3)
    assert horizon(clock) == 0.5
    for _ in range(9):
        note_step(clock, False)
    assert horizon(clock) == 4.5, "half of the current length"
    note_step(clock, True)
    assert clock.tolist() == [0.0, 10.0, 1.0]
    for _ in range(20):
        note_step(clock, True)
    # The mean of 10 and twenty ones, each with a twenty-first of the weight.
    assert clock[1] == pytest.approx((10 + 19) / 20 + 0.05 * (1 - (10 + 19) / 20))


def test_rand_ql_has_the_rates_of_its_pseudo_code() -> None:
    """After one visit, Q_j = w u c with u ~ Beta(1, 1) and w ~ Beta(H + 1, 1), H = 1/2; level 1e-3."""
    world = SSP.from_rows([0, 1], [1], [1.0], [[1.0]])
    found = []
    for seed in range(400):
        agent = begun(RandQL(members=5), world, seed)
        agent.learn(one_step(0, 0, 1))
        assert isinstance(agent, RandQL)
        assert agent.Q[0, 0] == agent.V[0] == agent.estimates.min()
        found.append(agent.estimates.reshape(-1))
    rng = np.random.default_rng(0)
    expected = rng.beta(1.0, 1.0, 4000) * rng.beta(1.5, 1.0, 4000)
    assert stats.ks_2samp(np.concatenate(found), expected).pvalue > 1e-3


def test_q_learning_finds_the_values_of_a_certain_world() -> None:
    agent = learn(QLearning(epsilon=0.2), LINE, 2000, seed=0).agent
    assert isinstance(agent, QLearning)
    np.testing.assert_allclose(agent.Q, [[1.25, 1.75], [0.25, np.inf]], rtol=1e-5)
    np.testing.assert_array_equal(agent.values(), agent.Q.min(axis=1))


def test_q_learning_explores_with_probability_epsilon() -> None:
    """A chance below epsilon draws among the available actions, one above it plays the best."""
    agent = begun(QLearning(epsilon=0.5), GRID)
    assert isinstance(agent, QLearning)
    agent.Q[0] = [3.0, 1.0, 2.0, 1.0]
    assert [agent.act(0, lambda chance=chance: chance) for chance in (0.0, 0.13, 0.26, 0.49)] == [0, 1, 2, 3]
    assert [agent.act(0, lambda chance=chance: chance) for chance in (0.5, 0.74, 0.76, 0.99)] == [1, 1, 3, 3]
    always = begun(QLearning(epsilon=1.0), LINE)
    assert {always.act(1, lambda chance=chance: chance) for chance in (0.0, 0.5, 0.999)} == {0}, (
        "the other is not available"
    )


def test_rand_ql_learns() -> None:
    """GridWorld and the cheap-loop chain, which defeats any fixed horizon; seeds fixed, bounds generous."""
    runs = [learn(RandQL(), GRID, 1000, seed=seed) for seed in range(5)]
    assert np.mean([run.gap_regret[-1] for run in runs]) < 0.02 * 1000 * 36.05
    chain = worlds.make("cheap-loop-chain")
    run = learn(RandQL(), chain, 100, seed=0, max_steps=200_000)
    assert not run.truncated


@pytest.mark.parametrize(
    ("agent", "settings", "message"),
    [
        (RandQL, {"members": 0}, r"members is 0; it must be an integer in 1\.\.100"),
        (QLearning, {"epsilon": 1.5}, "epsilon is 1.5; it must be a number from 0 to 1"),
        (QLearning, {"rate": "fast"}, "rate is 'fast'; it must be a number from 0 to 1"),
    ],
)
def test_settings_are_checked(agent: type, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        agent(**settings)
