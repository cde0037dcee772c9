"""All agents where costs are hidden or random: they learn, can be saved, and say what is not proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, ModelWorld, agents, learn, worlds
from goalward.acting.model_world import TabularPolicy
from goalward.agents.base import CAVEAT
from goalward.agents.saving import load, save
from goalward.errors import CostError, SettingError, TheoryError
from goalward.planning.replan import Replanner
from goalward.theory.trace import trace_of
from sample_environments import ModelEnvironment

RANDOM = worlds.random_mdp(states=4, seed=3, rows="uniform")
WORLD = RANDOM.with_costs(0.1 + 0.4 * RANDOM.costs / RANDOM.costs.max())
# Scales at which something is learnt within 300 episodes.
SCALES = {"eb-ssp": 0.002, "ulcvi": 1e-11}
KNOWN = {"uc-ssp", "bernstein-ssp"}
"""Agents that have to know the costs."""
NAMES = [name for name in agents.known() if not agents.find(name).continuous]
STATED = ModelWorld(WORLD, "hidden", (0.05, 1.0))


class RandomCosts(ModelEnvironment):
    """Pays 0 or the largest cost of the model; the mean is the cost of the model."""

    action_space = WORLD.actions

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            self.chances = np.random.default_rng(seed + 1)
        return super().reset(seed=seed)

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        state, reward, *rest = super().step(action)
        largest = float(self.ssp.costs.max())
        return state, -largest * (self.chances.random() < -reward / largest), *rest


def random_costs(cost_range: tuple[float, float] | None = None) -> gw.Environment:
    return gw.Environment(RandomCosts(WORLD), cost="reward", max_states=WORLD.states, cost_range=cost_range)


HIDDEN = {"hidden": STATED, "random": random_costs((0.0, 1.0)), "empirical": random_costs()}


def build(name: str, world: SSP = WORLD, episodes: int = 300) -> Any:
    settings = {"scale": SCALES[name]} if name in SCALES else {}
    return agents.find(name).from_world(world, episodes=episodes, **settings)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("costs", HIDDEN)
def test_every_agent_learns_or_says_why_not(name: str, costs: str) -> None:
    if name == "optimal" and costs != "hidden":
        pytest.skip("its model numbers the states differently")
    world = HIDDEN[costs]
    if name in KNOWN or (name in SCALES and costs == "empirical"):
        with pytest.raises(CostError, match="use an agent that learns any costs"):
            learn(build(name), world, 300, seed=1)
        return
    runs = [learn(build(name), world, 300, seed=seed) for seed in (1, 2)]
    assert not any(run.truncated for run in runs)
    optimum = 300 * gw.solve(WORLD).values[WORLD.initial_state]
    regret = np.mean([run.costs.sum() - optimum for run in runs])
    uniform = np.mean([learn(agents.Uniform(), WORLD, 300, seed=seed).costs.sum() - optimum for seed in (1, 2)])
    assert regret <= (1.25 if name == "uniform" else 0.95) * uniform
    assert (CAVEAT in runs[0].notes) == (name not in ("eb-ssp", "ulcvi", "q-learning", "optimal", "uniform"))


@pytest.mark.parametrize("name", sorted({*NAMES} - KNOWN))
def test_saved_and_resumed(name: str, tmp_path: Path) -> None:
    world = STATED
    first = learn(build(name), world, 60, seed=4)
    save(first.agent, tmp_path / "agent.npz")
    runs = [learn(agent, world, 40, seed=5, resume=True) for agent in (first.agent, load(tmp_path / "agent.npz"))]
    assert runs[0].costs.tolist() == runs[1].costs.tolist()
    with pytest.raises(SettingError, match="has learnt in another world"):
        learn(first.agent, WORLD, 5, resume=True)


@pytest.mark.parametrize("name", ["q-learning", "rand-ql"])
def test_kernels_do_what_act_and_learn_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = learn(build(name), STATED, 200, seed=6)
    monkeypatch.setattr(TabularPolicy, "has_kernel", False)
    stepped = learn(build(name), STATED, 200, seed=6)
    assert compiled.costs.tolist() == stepped.costs.tolist()


def test_what_giving_up_costs_is_known() -> None:
    ssp = WORLD.with_give_up(2.0)
    costs = ModelWorld(ssp, "hidden").task(1).costs
    np.testing.assert_array_equal(costs[:, -1], ssp.costs[:, -1])
    assert np.isnan(costs[:, :-1]).all()


@pytest.mark.parametrize("states", [6, 140])
def test_the_replanner_sees_changed_costs(states: int) -> None:
    """Samples with new costs on the same rows, on both sides of the limit of small models, against exact solves."""
    world = worlds.random_mdp(states=states, seed=1, rows="uniform")
    agent = learn(agents.PSRL(gw.Dirichlet(0.1)), ModelWorld(world, costs="hidden"), 1, seed=1).agent
    assert isinstance(agent, agents.PSRL)
    planner, rng, first = Replanner(), np.random.default_rng(0), agent.belief.sample(np.random.default_rng(1))
    for _ in range(6):
        model = first._replace(costs=rng.uniform(0.1, 5.0, first.costs.shape))
        np.testing.assert_allclose(planner.solve(model).values, gw.solve(model).values, rtol=1e-5)


def test_perturbed_costs() -> None:
    run = learn(agents.PSRL(perturb_costs=0.3), STATED, 50, seed=2, keep_plans=True)
    assert run.plans is not None
    for plan in run.plans:
        raised = plan.model._replace(costs=np.maximum(plan.model.costs, 0.3))
        np.testing.assert_allclose(plan.values, gw.solve(raised).values, rtol=1e-5)


def test_theory_replays_and_pages() -> None:
    run = learn(agents.PSRL(), STATED, 20, seed=1, keep_plans=True, keep_steps=True)
    with pytest.raises(TheoryError, match="learn the costs"):
        trace_of(run)
    with pytest.raises(SettingError, match="keep_replay=True"):
        gw.watch(run)
    kept = learn(agents.PSRL(), STATED, 20, seed=1, keep_replay=True)
    gw.watch(kept)
    assert kept.replay is not None
    assert kept.replay.belief is None
    assert all(frame.model is None for frame in kept.replay.frames)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"costs": "secret"}, SettingError), ({"costs": "hidden", "cost_range": (0.0, 0.2)}, CostError)],
)  # fmt: skip
def test_worlds_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ModelWorld(WORLD, **options)
