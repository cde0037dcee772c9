"""All agents where costs are hidden or random: they learn, can be saved, and say what is not proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, ModelWorld, agents, learn, worlds
from goalward.acting.model_world import TabularPolicy
from goalward.agents.agent_file import load, save
from goalward.agents.base import CAVEAT
from goalward.errors import CostError, SettingError, TheoryError
from goalward.planning.replan import Replanner
from goalward.theory.trace import trace_of

RANDOM = worlds.random_mdp(states=4, seed=3, rows="uniform")
WORLD = RANDOM.with_costs(0.1 + 0.4 * RANDOM.costs / RANDOM.costs.max())
# Scales at which something is learnt within 300 episodes.
SCALES = {"eb-ssp": 0.002, "ulcvi": 1e-11}
KNOWN = {"uc-ssp", "bernstein-ssp"}
"""Agents that have to know the costs."""
NAMES = [name for name in agents.known() if not agents.find(name).continuous]
HIDDEN: list[dict[str, Any]] = [
    {"costs": "hidden", "cost_range": (0.05, 1.0)},
    {"noise": "bernoulli", "cost_range": (0.05, 1.0)},
    {"noise": "uniform", "cost_range": (0.0, 1.0)},
    {"noise": "bernoulli"},
]
STATED, EMPIRICAL = HIDDEN[1], HIDDEN[3]


def build(name: str, world: SSP = WORLD, episodes: int = 300) -> Any:
    settings = {"scale": SCALES[name]} if name in SCALES else {}
    return agents.find(name).from_world(world, episodes=episodes, **settings)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", HIDDEN, ids=["hidden", "bernoulli", "uniform", "empirical"])
def test_every_agent_learns_or_says_why_not(name: str, options: dict[str, Any]) -> None:
    world = ModelWorld(WORLD, **options)
    if name in KNOWN or (name in SCALES and "cost_range" not in options):
        with pytest.raises(CostError, match="or use psrl or q-learning instead of"):
            learn(build(name), world, 300, seed=1)
        return
    runs = [learn(build(name), world, 300, seed=seed) for seed in (1, 2)]
    assert not any(run.truncated for run in runs)
    regret = np.mean([run.gap_regret[-1] for run in runs])
    uniform = np.mean([learn(agents.Uniform(), WORLD, 300, seed=seed).gap_regret[-1] for seed in (1, 2)])
    assert regret <= (1.05 if name == "uniform" else 0.95) * uniform
    assert (CAVEAT in runs[0].notes) == (name not in ("eb-ssp", "ulcvi", "q-learning", "optimal", "uniform"))


@pytest.mark.parametrize("name", sorted({*NAMES} - KNOWN))
def test_saved_and_resumed(name: str, tmp_path: Path) -> None:
    world = ModelWorld(WORLD, **STATED)
    first = learn(build(name), world, 60, seed=4)
    save(first.agent, tmp_path / "agent.npz")
    runs = [learn(agent, world, 40, seed=5, resume=True) for agent in (first.agent, load(tmp_path / "agent.npz"))]
    assert runs[0].costs.tolist() == runs[1].costs.tolist()
    with pytest.raises(SettingError, match="has learnt in another world"):
        learn(first.agent, WORLD, 5, resume=True)


@pytest.mark.parametrize("name", ["q-learning", "rand-ql"])
@pytest.mark.parametrize("options", [STATED, {"noise": "uniform"}], ids=["bernoulli", "uniform"])
def test_kernels_do_what_act_and_learn_do(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = learn(build(name), ModelWorld(WORLD, **options), 200, seed=6)
    monkeypatch.setattr(TabularPolicy, "has_kernel", False)
    stepped = learn(build(name), ModelWorld(WORLD, **options), 200, seed=6)
    assert compiled.costs.tolist() == stepped.costs.tolist()


def test_tables_and_online_policies_pay_the_same_noise() -> None:
    """The optimal policy as a table and as an online policy: the same costs step by step, whatever the blocks."""

    class Online(TabularPolicy):
        def __init__(self, policy: np.ndarray):
            self.policy = policy

        def act(self, state: int, draw: Any) -> int:
            return int(self.policy[state])

    best = gw.solve(WORLD).policy
    for options in (EMPIRICAL, {"noise": "uniform"}):
        world = ModelWorld(WORLD, **options)
        columns = []
        for policy, cut in ((best, 10**6), (Online(best), 10**6), (best, 7)):
            stage, plan, costs = world.stage(8), agents.Plan(policy), []
            while len(costs) < 20_000:
                costs += stage.follow(plan, 10**6, cut).steps.costs.tolist()
            columns.append(costs[:20_000])
        assert columns[0] == columns[1] == columns[2]


@pytest.mark.parametrize("noise", ["bernoulli", "uniform"])
def test_noise_is_unbiased_and_giving_up_is_known(noise: Any) -> None:
    """Means of each pair against the model at four and a half standard errors: below 1e-4 in all; fixed seed."""
    ssp = WORLD.with_give_up(2.0)
    world = ModelWorld(ssp, noise=noise)
    task = world.task(1)
    assert not np.isnan(task.costs[:, -1]).any()
    assert np.isnan(task.costs[:, :-1]).all()
    run = learn(agents.Uniform(), world, 3000, seed=9, keep_steps=True)
    steps = run.trajectory
    assert steps is not None
    assert set(steps.costs[steps.actions == ssp.give_up].tolist()) == {2.0}
    for state, action in np.ndindex(WORLD.costs.shape):
        paid = steps.costs[(steps.states == state) & (steps.actions == action)]
        error = paid.std(ddof=1) / np.sqrt(len(paid))
        assert abs(paid.mean() - WORLD.costs[state, action]) <= 4.5 * error + 1e-12
    unknown = steps.costs[steps.actions != ssp.give_up]
    largest = float(WORLD.costs.max())
    if noise == "bernoulli":
        assert set(unknown.tolist()) == {0.0, largest}
    else:
        assert 0.0 <= unknown.min() < unknown.max() <= 2.0 * largest


def test_transitions_do_not_depend_on_noise() -> None:
    plain, noisy = (
        learn(agents.Uniform(), world, 50, seed=10, keep_steps=True)
        for world in (WORLD, ModelWorld(WORLD, **EMPIRICAL))
    )
    assert plain.trajectory is not None
    assert noisy.trajectory is not None
    assert plain.trajectory.next_states.tolist() == noisy.trajectory.next_states.tolist()


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
    run = learn(agents.PSRL(perturb_costs=0.3), ModelWorld(WORLD, **STATED), 50, seed=2, keep_plans=True)
    assert run.plans is not None
    for plan in run.plans:
        raised = plan.model._replace(costs=np.maximum(plan.model.costs, 0.3))
        np.testing.assert_allclose(plan.values, gw.solve(raised).values, rtol=1e-5)


def test_theory_replays_and_pages() -> None:
    run = learn(agents.PSRL(), ModelWorld(WORLD, **STATED), 20, seed=1, keep_plans=True, keep_steps=True)
    with pytest.raises(TheoryError, match="learn the costs"):
        trace_of(run)
    with pytest.raises(SettingError, match="keep_replay=True"):
        gw.watch(run)
    kept = learn(agents.PSRL(), ModelWorld(WORLD, **STATED), 20, seed=1, keep_replay=True)
    gw.watch(kept)
    assert kept.replay is not None
    assert kept.replay.belief is None
    assert all(frame.model is None for frame in kept.replay.frames)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"costs": "secret"}, SettingError), ({"noise": "gaussian"}, SettingError),
     ({"costs": "hidden", "cost_range": (0.0, 0.2)}, CostError),
     ({"noise": "uniform", "cost_range": (0.05, 2.0)}, CostError)],
)  # fmt: skip
def test_worlds_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ModelWorld(WORLD, **options)
