"""Which runs the lemmas are about: any agent with a belief whose plans carry models drawn from it."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import WORLDS, recorded

import goalward as gw
from goalward import Dirichlet, learn
from goalward.agents import PSRL, Agent, Plan, PosteriorMean, Steps, Task, Uniform
from goalward.errors import TheoryError
from goalward.planning.replan import Replanner
from goalward.theory.trace import trace_of


class Own(Agent):
    """Posterior sampling that shares no class with PSRL-SSP: a fresh sample after every third step."""

    with_values: bool = True
    with_model: bool = True
    samples_posterior = True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.belief = Dirichlet(0.5).belief(task)
        self._planner = Replanner()

    def plan(self, state: int) -> Plan:
        theta = self.belief.sample(self.rng)
        planned = self._planner.solve(theta)
        values = planned.values if self.with_values else None
        return Plan(planned.policy, stop_after_steps=3, model=theta if self.with_model else None, values=values)

    def observe(self, steps: Steps) -> None:
        self.belief.update(steps)


@pytest.mark.parametrize("with_values", [True, False])
def test_an_agent_of_the_user_is_traced(with_values: bool) -> None:
    run = learn(Own(with_values), WORLDS["grid"], 50, 1, keep_plans=True, keep_steps=True)
    trace = trace_of(run)
    assert len(trace.models) == len(run.epochs)
    assert trace.world is run.world
    assert trace.visits[-1].sum() == run.total_steps
    # The values are those of the sampled model: Bellman's equation at the pair of each step.
    at = trace.epoch[7]
    model, values, (state, action) = trace.models[at], trace.values[at], [column[7] for column in trace.steps[:2]]
    assert model.costs[state, action] + model.to_dense()[state, action] @ values == pytest.approx(values[state])


def test_agents_that_do_not_claim_to_sample_their_posterior_are_refused() -> None:
    class Silent(Own):
        samples_posterior = False

    run = learn(Silent(), gw.worlds.grid_world(), 3, seed=1, keep_plans=True, keep_steps=True)
    with pytest.raises(TheoryError, match="draws from its posterior"):
        trace_of(run)


def test_what_is_missing_is_said() -> None:
    world = WORLDS["grid"]
    both = {"keep_plans": True, "keep_steps": True}
    with pytest.raises(TheoryError, match="recorded without its plans; record it with learn"):
        trace_of(learn(PSRL(), world, 5, keep_steps=True))
    with pytest.raises(TheoryError, match="recorded without its steps; record it with learn"):
        trace_of(learn(PSRL(), world, 5, keep_plans=True))
    with pytest.raises(TheoryError, match=r"uniform has no posterior, but .*; use psrl"):
        trace_of(learn(Uniform(), world, 5, **both))
    with pytest.raises(TheoryError, match="posterior-mean does not plan with draws from its posterior"):
        trace_of(learn(PosteriorMean(), world, 5, **both))
    with pytest.raises(TheoryError, match="does not plan with draws"):
        trace_of(learn(PSRL(sharpness=4.0), world, 5, **both))
    with pytest.raises(TheoryError, match="the plans of Own have no sampled models"):
        trace_of(learn(Own(with_model=False), world, 5, **both))


def test_only_runs_from_scratch_count() -> None:
    first = learn(PSRL(), WORLDS["random"], 5)
    second = learn(first.agent, WORLDS["random"], 5, 1, resume=True, keep_plans=True, keep_steps=True)
    with pytest.raises(TheoryError, match="continues an earlier run"):
        trace_of(second)


def test_B_is_the_largest_value_of_any_model() -> None:
    run = recorded("random")
    trace = trace_of(run)
    assert max(plan.values.max() for plan in run.plans or ()) <= trace.B
    assert run.optimal_value <= trace.B
