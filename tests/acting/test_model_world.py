"""Following a plan: each condition by hand, then everything at random against the environment's steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch_rows import epoch_rows
from goalward import SSP, Environment, learn, worlds
from goalward.acting.contract import Stage
from goalward.acting.model_world import BLOCK, ModelStage, TabularPolicy
from goalward.acting.stop_conditions import Ended
from goalward.agents import Plan
from goalward.errors import PolicyError, UnreachableGoalError
from sample_environments import Counter, Fickle, ModelEnvironment, chain
from strategies import models

WALK = np.zeros(3, dtype=np.int64)


class Walker(TabularPolicy):
    """The same walk as a policy that has no kernel."""

    def act(self, state: int, draw: Any) -> int:
        return 0


MANY = 10**9


def stages(ssp: SSP) -> list[Stage[Plan]]:
    """The same world compiled and step by step."""
    return [ModelStage(ssp, 11), Environment(ModelEnvironment(ssp)).stage(11)]


@pytest.mark.parametrize("which", [0, 1])
class TestConditions:
    """On a chain of three states without chance; a plan walks 0, 1, 2, goal, 0, 1, ..."""

    def test_after_goals(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, stop_after_goals=2)
        steps, ended, *_ = stage.follow(plan, MANY, MANY)
        assert ended == Ended.GOALS
        assert steps.states.tolist() == [0, 1, 2, 0, 1, 2]
        assert steps.next_states.tolist() == [1, 2, 3, 1, 2, 3]
        assert steps.costs.tolist() == [1.0] * 6
        assert stage.state == 0

    def test_after_steps(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, stop_after_steps=4)
        steps, ended, *_ = stage.follow(plan, MANY, MANY)
        assert (len(steps.states), ended, stage.state) == (4, Ended.STEPS, 1)

    @pytest.mark.parametrize(
        ("condition", "limit", "states", "reason", "state"),
        [
            ("stop_after_visits", 2, [0, 1, 2, 0, 1], Ended.AFTER_VISITS, 2),
            ("stop_before_visits", 1, [0, 1, 2, 0], Ended.BEFORE_VISITS, 1),
        ],
    )
    def test_visits(self, which: int, condition: str, limit: int, states: list[int], reason: Ended, state: int) -> None:
        stage = stages(chain(3))[which]
        limits = np.full((3, 2), 100)
        limits[1, 0] = limit
        plan = Plan(WALK, **{condition: limits})
        steps, ended, *_ = stage.follow(plan, MANY, MANY)
        assert (steps.states.tolist(), ended, stage.state) == (states, reason, state)

    def test_before_visits_lets_the_first_step_pass(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, stop_before_visits=np.zeros((3, 2), dtype=np.int64))
        steps, ended, *_ = stage.follow(plan, MANY, MANY)
        assert (steps.states.tolist(), ended, stage.state) == ([0], Ended.BEFORE_VISITS, 1)

    def test_visits_count_from_the_start_of_the_plan(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, stop_after_visits=np.full((3, 2), 2))
        lengths = []
        for _ in range(3):
            lengths.append(len(stage.follow(plan, MANY, MANY).steps.states))
        assert lengths == [4, 4, 4]

    def test_all_conditions_at_once(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, np.array([[9, 9], [9, 9], [1, 9]]), None, 1, 3)
        ended = stage.follow(plan, 1, MANY).ended
        assert ended == Ended.AFTER_VISITS | Ended.GOALS | Ended.STEPS | Ended.EPISODES

    def test_a_plan_goes_on_over_pieces(self, which: int) -> None:
        stage = stages(chain(3))[which]
        plan = Plan(WALK, stop_after_goals=2)
        pieces = [stage.follow(plan, MANY, 4) for _ in range(2)]
        assert [(len(steps.states), ended) for steps, ended, *_ in pieces] == [(4, 0), (2, Ended.GOALS)]

    @pytest.mark.parametrize("policy", [[0, 0, 2], [0, 0, -1], [0, 0, 1]])
    def test_unavailable_action(self, which: int, policy: list[int]) -> None:
        rows = [(0, 0, 1, 1.0, 1.0), (1, 0, 2, 1.0, 1.0), (2, 0, "goal", 1.0, 1.0), (0, 1, 0, 1.0, 1.0)]
        stage = stages(SSP.from_transitions(rows, goals=["goal"]))[which]
        plan = Plan(np.array(policy))
        with pytest.raises(PolicyError, match=rf"action {policy[2]}, which is not available in state 2"):
            stage.follow(plan, MANY, MANY)

    @pytest.mark.parametrize(
        "policy",
        [
            np.zeros(4, dtype=np.int64),
            np.zeros(3),
            np.full((3, 2), 0.4),
            np.array([[2.0, -1.0]] * 3),
            np.zeros((0, 3), dtype=np.int64),
            np.zeros((1, 3), dtype=np.int64),
        ],
    )
    def test_policy_that_does_not_fit(self, which: int, policy: np.ndarray) -> None:
        with pytest.raises(PolicyError):
            stages(chain(3))[which].follow(Plan(policy), MANY, MANY)


@pytest.mark.parametrize("which", [0, 1])
def test_conditions_also_end_policies_without_a_kernel(which: int) -> None:
    three = np.full((3, 2), 3)
    conditions: list[dict[str, Any]] = [
        {"stop_after_goals": 2},
        {"stop_after_steps": 4},
        {"stop_after_visits": three},
        {"stop_before_visits": three},
        {"stop_after_visits": three, "stop_after_goals": 3, "stop_after_steps": 7},
    ]
    for condition in conditions:
        ends = []
        for policy in (WALK, Walker()):
            stage = stages(chain(3))[which]
            steps, ended, *_ = stage.follow(Plan(policy, **condition), 5, MANY)
            ends.append((len(steps.states), ended, stage.state))
        assert ends[0] == ends[1]


@given(models(dead_ends=False, costs=("unit", "ties", "real")), st.integers(0, 2**32))
def test_compiled_and_stepwise_give_the_same_run(ssp: SSP, seed: int) -> None:
    try:
        run = learn(Fickle(), ssp, 20, seed, keep_steps=True, keep_plans=True, max_steps=3000)
    except UnreachableGoalError:
        return
    same = learn(Fickle(), ModelEnvironment(ssp), 20, seed, keep_steps=True, max_steps=3000)
    assert run.trajectory is not None
    assert same.trajectory is not None
    for one, other in zip(run.trajectory, same.trajectory, strict=True):
        np.testing.assert_array_equal(one, other)
    for name in ("costs", "steps", "gaps", "reached"):
        np.testing.assert_array_equal(getattr(run, name), getattr(same, name))
    assert epoch_rows(run.epochs) == epoch_rows(same.epochs)
    assert run.ended == same.ended


def test_blocks_do_not_show() -> None:
    """A run of several blocks, compiled, against the stepwise one, in which the environment has no blocks."""
    ssp = worlds.grid_world(2, 2)
    run = learn(Fickle(), ssp, 10_000, 5, keep_steps=True, max_steps=3 * BLOCK)
    assert run.truncated
    same = learn(Fickle(), ModelEnvironment(ssp), 10_000, 5, keep_steps=True, max_steps=3 * BLOCK)
    assert run.trajectory is not None
    assert same.trajectory is not None
    np.testing.assert_array_equal(run.trajectory.next_states, same.trajectory.next_states)
    np.testing.assert_array_equal(run.trajectory.actions, same.trajectory.actions)


def test_online_agents_compiled_and_stepwise() -> None:
    ssp = chain(4, back=0.2)
    run = learn(Counter(), ssp, 300, 5, keep_steps=True)
    same = learn(Counter(), ModelEnvironment(ssp), 300, 5, keep_steps=True)
    assert run.trajectory is not None
    assert same.trajectory is not None
    for one, other in zip(run.trajectory, same.trajectory, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(run.epochs) == 1
    assert run.epochs.goals.tolist() == [300]
    balanced = run.agent.visits  # type: ignore[attr-defined]
    assert (abs(balanced[:, 0] - balanced[:, 1]) <= 1).all()


def test_successors_follow_the_probabilities() -> None:
    """Chi-square over 40,000 steps with seven degrees of freedom; a correct draw fails with probability 1e-6."""
    P = np.array([0.01, 0.04, 0.05, 0.1, 0.3, 0.0, 0.2, 0.3])
    ssp = SSP.from_dense(np.tile(P, (7, 1, 1)).reshape(7, 1, 8), np.ones((7, 1)))
    stage = ModelStage(ssp, 3)
    plan = Plan(np.zeros(7, dtype=np.int64), stop_after_steps=40_000)
    counts = np.zeros(8)
    ended = 0
    while not ended:
        steps, ended, *_ = stage.follow(plan, MANY, MANY)
        counts += np.bincount(steps.next_states, minlength=8)
    assert counts[5] == 0
    expected = 40_000 * P[P > 0]
    assert ((counts[P > 0] - expected) ** 2 / expected).sum() < 38.2


def test_actions_follow_the_probabilities() -> None:
    """Chi-square with two degrees of freedom; a correct draw fails with probability 1e-6."""
    ssp = SSP.from_dense(np.tile([0.5, 0.5], (1, 4, 1)), np.ones((1, 4)))
    stage = ModelStage(ssp, 3)
    plan = Plan(np.array([[0.2, 0.0, 0.5, 0.3]]), stop_after_steps=8000)
    steps = stage.follow(plan, MANY, MANY).steps
    counts = np.bincount(steps.actions, minlength=4)
    assert counts[1] == 0
    expected = len(steps.actions) * np.array([0.2, 0.5, 0.3])
    assert ((counts[[0, 2, 3]] - expected) ** 2 / expected).sum() < 27.6


def test_uncompiled_kernel_gives_the_same_run(run_python) -> None:  # type: ignore[no-untyped-def]
    code = (
        "import goalward as gw, hashlib\n"
        "run = gw.learn(gw.agents.make('uniform'), gw.worlds.grid_world(), 30, 7, keep_steps=True)\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in run.trajectory)).hexdigest(), run.gaps.sum())"
    )
    assert run_python(code) == run_python(code, NUMBA_DISABLE_JIT="1")


def test_an_agent_that_plans_nothing_is_refused_also_after_its_first_plan() -> None:
    stage = ModelStage(worlds.grid_world(), 0)
    stage.follow(Plan(np.ones(11, dtype=np.int64), stop_after_steps=2), 5, 10)
    with pytest.raises(PolicyError, match="the agent returned None; make"):
        stage.follow(None, 5, 10)  # type: ignore[arg-type]
