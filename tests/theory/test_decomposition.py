"""Regret is R1 + R2 + R3 on every path, and the terms are those that the paper writes down."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import WORLDS, recorded

from goalward import SSP, Dirichlet, FinitePrior, learn
from goalward.acting.contract import Task
from goalward.agents import PSRL
from goalward.errors import TheoryError
from goalward.learning.run import Run
from goalward.theory.decomposition import decompose
from goalward.theory.trace import trace_of
from sample_environments import ModelEnvironment

AGENTS = ("psrl", "tsde", "psrl-step")


def literal_terms(run: Run, world: SSP) -> tuple[float, float, float]:
    """Add the three sums of section 4 up as they are printed, step by step, on dense kernels."""
    assert run.plans is not None
    assert run.trajectory is not None
    R1 = R2 = R3 = 0.0
    step = 0
    for plan, length in zip(run.plans, run.epochs.steps.tolist(), strict=True):
        assert plan.model is not None
        theta, V = plan.model.to_dense(), np.append(plan.values, 0.0)
        for _ in range(length):
            s, a, _, s_prime = (column[step] for column in run.trajectory[:4])
            s_next = world.initial_state if s_prime == world.goal else s_prime
            R1 += V[s] - V[s_next]
            R2 += V[s_next] - V[s_prime]
            R3 += V[s_prime] - theta[s, a] @ V
            step += 1
    return R1, R2 - len(run.costs) * run.optimal_value, R3


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_terms_add_up_to_the_regret(world: str, agent: str, seed: int) -> None:
    run = recorded(world, agent, seed=seed)
    terms = decompose(trace_of(run))
    assert terms.sum == pytest.approx(run.regret[-1], rel=1e-6)
    assert terms.error < 1e-12
    assert terms.total_cost == pytest.approx(run.costs.sum())
    assert terms.raised_costs == 0.0


@pytest.mark.parametrize("world", WORLDS)
def test_the_terms_are_those_of_the_paper(world: str) -> None:
    run = recorded(world)
    terms = decompose(trace_of(run))
    assert pytest.approx(literal_terms(run, WORLDS[world]), rel=1e-9) == (terms.R1, terms.R2, terms.R3)
    assert terms.by_episode.sum(axis=0) == pytest.approx([terms.R1, terms.R2, terms.R3])


def test_the_second_term_is_the_error_at_the_start() -> None:
    run = recorded("grid")
    assert run.plans is not None
    starts = np.array([plan.values[0] for plan in run.plans])  # type: ignore[index]
    expected = run.epochs.goals @ starts - len(run.costs) * run.optimal_value
    assert pytest.approx(expected) == decompose(trace_of(run)).R2


def test_with_the_true_model_regret_is_the_third_term() -> None:
    """With the true model as the only candidate, R1 + R2 is zero."""
    world = WORLDS["grid"]
    run = learn(PSRL(FinitePrior([world])), world, 50, 3, keep_plans=True, keep_steps=True)
    terms = decompose(trace_of(run))
    assert pytest.approx(run.regret[-1], rel=1e-6) == terms.R3
    assert pytest.approx(0.0, abs=1e-6) == terms.R1 + terms.R2


def test_perturbed_costs_are_a_fourth_term() -> None:
    world = WORLDS["random"]
    run = learn(PSRL(perturb_costs=0.4), world, 100, 1, keep_plans=True, keep_steps=True)
    terms = decompose(trace_of(run))
    assert run.trajectory is not None
    assert terms.raised_costs == pytest.approx(np.minimum(run.trajectory.costs - 0.4, 0.0).sum())
    assert terms.sum == pytest.approx(run.regret[-1], rel=1e-6)


def test_a_run_that_is_cut_off_adds_up_too() -> None:
    world = WORLDS["grid"]
    run = learn(PSRL(), world, 100, 5, max_steps=333, keep_plans=True, keep_steps=True)
    assert run.truncated
    terms = decompose(trace_of(run))
    assert terms.sum == pytest.approx(run.regret[-1], rel=1e-6)
    assert terms.by_episode.sum(axis=1).cumsum() == pytest.approx(run.regret, rel=1e-6, abs=1e-9)


def test_episodes_that_the_environment_breaks_off_add_up_too() -> None:
    world = WORLDS["grid"]
    run = learn(PSRL(), ModelEnvironment(world, limit=9), 60, 2, keep_plans=True, keep_steps=True)
    assert not run.reached.all()
    assert decompose(trace_of(run)).sum == pytest.approx(run.regret[-1], rel=1e-6)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(5))
def test_changing_the_model_costs_at_most_B_for_each_epoch(world: str, seed: int) -> None:
    run = recorded(world, seed=seed)
    terms = decompose(trace_of(run))
    assert run.plans is not None
    assert max(plan.values.max() for plan in run.plans) <= terms.B  # type: ignore[union-attr]
    assert terms.R1 <= terms.bound == terms.B * len(run.epochs)


def test_over_worlds_of_the_prior_the_second_term_respects_its_lemma() -> None:
    prior, rng = Dirichlet(1.0), np.random.default_rng(0)
    costs = np.linspace(0.2, 1.0, 8).reshape(4, 2)
    R2, bounds = [], []
    for seed in range(20):
        world = prior.belief(Task(costs, 0, 1)).sample(rng)
        run = learn(PSRL(prior), world, 60, seed, keep_plans=True, keep_steps=True)
        terms = decompose(trace_of(run))
        R2.append(terms.R2)
        bounds.append(terms.bound)
    assert np.mean(R2) < np.mean(bounds)


def test_dead_ends_of_a_sampled_model_are_named() -> None:
    """Both candidates lead home from the start; only one of them knows a way from state 1."""
    P = np.zeros((2, 1, 3))
    P[0, 0] = (0.0, 0.1, 0.9)
    P[1, 0, 2] = 1.0
    true = SSP.from_dense(P, [[1.0], [1.0]])
    P[0, 0], P[1, 0] = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    wrong = SSP.from_dense(P, [[1.0], [1.0]])
    prior = FinitePrior([true, wrong], [1e-9, 1.0])
    run = learn(PSRL(prior), true, 50, keep_plans=True, keep_steps=True)
    with pytest.raises(TheoryError, match=r"visits a dead end of the sampled model of epoch"):
        decompose(trace_of(run))
