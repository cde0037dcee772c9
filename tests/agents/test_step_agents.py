"""Agents that learn step by step: each update by hand, the compiled way of acting against the plain one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from counted import dense_counts
from scipy import stats

import goalward as gw
from goalward import SSP, learn, worlds
from goalward.acting.model_world import ModelStage, TabularPolicy
from goalward.agents import PSQL, SVISSP, VISSP, LCBAdvantage, OnlineAgent, Plan, QLearning, RandQL, Step, Task
from goalward.agents.model_free.horizon import horizon, note_step
from goalward.agents.model_free.lcb_advantage import iota, stage_horizon
from goalward.agents.optimistic.svi_ssp import iota as svi_iota
from goalward.errors import CostError, SettingError

GRID = worlds.grid_world()
AGENTS = {
    "psql": PSQL(),
    "psql, narrow": PSQL(scale=0.5),
    "rand-ql": RandQL(),
    "rand-ql, five members": RandQL(members=5),
    "q-learning": QLearning(),
    "vi-ssp": VISSP(),
    "vi-ssp, scaled": VISSP(scale=0.003),
    "vi-ssp, first ties": VISSP(scale=0.003, ties="first"),
    "svi-ssp": SVISSP(B_star=6.0, scale=1e-3),
    "svi-ssp, first ties": SVISSP(B_star=6.0, scale=1e-3, ties="first"),
    "lcb-advantage": LCBAdvantage(B_star=6.0, horizon=5.0, scale=1e-11),
    "lcb-advantage, first ties": LCBAdvantage(B_star=6.0, horizon=5.0, scale=1e-11, ties="first"),
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


def test_psql_by_hand() -> None:
    """The normal numbers are known, so every sample is."""
    noise = np.random.default_rng(0).standard_normal(1 << 15)
    agent = begun(PSQL(scale=2.0), LINE)
    assert isinstance(agent, PSQL)
    x0 = 2.0 * noise[:2]
    assert agent.act(0, lambda: 0.0) == int(np.argmin(x0))
    agent.learn(one_step(0, 0, 1))
    target = 1.0 + max(0.0, 2.0 * noise[2])  # the second action is not available in state 1
    assert agent.Q[0, 0] == pytest.approx(target), "the first learning rate is 1"
    assert agent.act(1, lambda: 0.0) == 0
    agent.learn(one_step(1, 0, 2, 0.25))
    assert agent.Q[1, 0] == 0.25
    agent.act(0, lambda: 0.0)
    agent.learn(one_step(0, 0, 1))
    # Two numbers at state 0, then those of state 1, which has been visited once; H = 1 after an episode of two steps.
    sample = 0.25 + 2.0 / math.sqrt(2.0) * noise[6]
    assert agent.Q[0, 0] == pytest.approx(target + 2.0 / 3.0 * (1.0 + max(0.0, sample) - target))
    assert agent.visits.tolist() == [[2, 0], [1, 0]]


def test_psql_takes_its_width_from_the_costs() -> None:
    """Costs in other units give the same actions, and values in these units."""
    cents = GRID.with_costs(GRID.costs * 0.25)
    one, other = (learn(PSQL(), world, 50, seed=1, keep_steps=True) for world in (GRID, cents))
    assert one.trajectory is not None
    assert other.trajectory is not None
    np.testing.assert_array_equal(one.trajectory.actions, other.trajectory.actions)
    assert isinstance(one.agent, PSQL)
    assert isinstance(other.agent, PSQL)
    np.testing.assert_allclose(other.agent.Q, 0.25 * one.agent.Q, rtol=1e-12)


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


def test_lcb_advantage_by_hand() -> None:
    """One stage of two visits to a state whose value is 3 and whose reference is 2."""
    agent = begun(LCBAdvantage(B_star=1.0, horizon=2.0, scale=1e-12), LINE)
    assert isinstance(agent, LCBAdvantage)
    agent.V[1], agent.V_ref[1] = 3.0, 2.0
    agent.learn(one_step(0, 0, 1))
    assert agent.Q[0, 0] == 0.0, "the stage is not over"
    agent.learn(one_step(0, 0, 1))
    log_term = 256.0 * math.log(4.0 * 4 * 2.0**5 / 0.1) ** 6
    assert iota(math.log(4.0 * 4 / 0.1), 1.0, 2.0) == pytest.approx(log_term)
    plain = 1.0 + 3.0 - 1e-12 * (2.0 * math.sqrt(log_term / 2) + log_term / 2)
    refined = 1.0 + 2.0 + 1.0 - 1e-12 * (4.0 / 2 + 3.0 / 2) * log_term
    assert agent.Q[0, 0] == pytest.approx(max(plain, refined), abs=1e-12)
    assert agent.stage_length[0, 0] == 3
    assert agent.stage_visits[0, 0] == 0
    assert agent.sums[0, 0].tolist() == [4.0, 8.0, 0.0, 0.0, 0.0]
    assert agent.V[0] == agent.V_ref[0] == 0.0, "the other action is still at zero"


def test_svi_ssp_by_hand() -> None:
    """State 1 has the value 3; two visits of state 0 lead there, and with H = 2 the stages are 1, 1, 2, 3, 4, ..."""
    agent = begun(SVISSP(B_star=1.0, scale=1e-4), LINE)
    assert isinstance(agent, SVISSP)
    agent._horizon = 2.0
    agent.V[1] = 3.0
    for n in (1, 2):
        agent.learn(one_step(0, 0, 1))
        log_term = 20.0 * math.log(2.0 * 4 * n / 0.1)
        assert svi_iota(math.log(2.0 * 4 / 0.1), float(n)) == pytest.approx(log_term)
        assert agent.Q[0, 0] == pytest.approx(1.0 + 3.0 - 1e-4 * 49.0 * log_term / n)
    ends = [int(agent.stage_end[0, 0])]
    for _ in range(12):
        agent.learn(one_step(0, 0, 1))
        ends.append(int(agent.stage_end[0, 0]))
    # f = 1, 1.5, 2, 3, 4.5, ...: e = 1, 1, 2, 3, 4, ..., which add up to 1, 2, 4, 7, 11, ...
    assert sorted(set(ends)) == [4, 7, 11, 17]
    assert agent.V[0] == 0.0
    agent.learn(one_step(0, 1, 0))
    assert agent.V[0] == agent.Q[0].min()


def test_the_stages_of_lcb_advantage() -> None:
    """ceil((4 6 / 1) ln(2 / beta) + 1) with beta = 1 / (2 36 44 1000)."""
    assert stage_horizon("any", GRID.costs, 6.0, 1000) == math.ceil(24.0 * math.log(2 * 2 * 36 * 44 * 1000) + 1)
    free = GRID.with_costs(np.zeros_like(GRID.costs))
    with pytest.raises(CostError, match="a cost is 0, or may be; lcb-advantage needs positive costs"):
        begun(LCBAdvantage(B_star=6.0), free)


@pytest.mark.parametrize("name", ["lcb-advantage", "svi-ssp"])
@pytest.mark.parametrize("costs", [(1.0, 1e16), (1.0, 1e300)])
def test_costs_of_very_different_size(name: str, costs: tuple[float, float]) -> None:
    """The lengths of the stages stay positive and finite, although beta or its reciprocal is not a double."""
    for order in (costs, costs[::-1]):
        # The first action leads to the goal at once, so B* is its cost.
        world = SSP.from_rows([0, 1, 3], [1, 0, 1], [1.0, 0.5, 0.5], [order])
        agent = gw.agents.find(name).from_world(world, episodes=20, rescale=True)
        run = learn(agent, world, 20, max_steps=5_000)
        assert 1.0 <= run.notes["horizon"] <= 2.0**53
        assert run.total_steps > 0


@pytest.mark.parametrize("name", ["psql", "rand-ql"])
def test_they_learn(name: str) -> None:
    """GridWorld and the cheap-loop chain, which defeats any fixed horizon; seeds fixed, bounds generous."""
    runs = [learn(gw.agents.make(name), GRID, 1000, seed=seed) for seed in range(5)]
    assert np.mean([run.gap_regret[-1] for run in runs]) < 0.02 * 1000 * 36.05
    chain = worlds.make("cheap-loop-chain")
    run = learn(gw.agents.make(name), chain, 100, seed=0, max_steps=200_000)
    assert not run.truncated


@pytest.mark.parametrize(
    ("agent", "settings", "message"),
    [
        (PSQL, {"scale": 0.0}, "scale is 0.0; it must be a positive number"),
        (RandQL, {"members": 0}, r"members is 0; it must be an integer in 1\.\.100"),
        (QLearning, {"epsilon": 1.5}, "epsilon is 1.5; it must be a number from 0 to 1"),
        (QLearning, {"rate": "fast"}, "rate is 'fast'; it must be a number from 0 to 1"),
        (LCBAdvantage, {"B_star": 1.0, "horizon": 0.5}, "horizon is 0.5; it must be a number from 1 or None"),
    ],
)
def test_settings_are_checked(agent: type, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        agent(**settings)
