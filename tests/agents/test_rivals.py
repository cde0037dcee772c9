"""What the optimistic agents share: the pseudo-code to the step, what they refuse, what they record."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from counted import dense_counts
from pseudo_code import ALGORITHMS

from goalward import SSP, ModelWorld, agents, learn, worlds
from goalward.agents import Steps, Task
from goalward.agents.optimistic import eb_ssp, uc_ssp
from goalward.beliefs.counts import Counts
from goalward.errors import ConvergenceError, CostError, SettingError, StateError

RIVALS = tuple(sorted(ALGORITHMS))
GRID = worlds.grid_world(2, 3)
RANDOM = worlds.random_mdp(states=4, seed=3, rows="uniform")
# Zero costs in every other state.
FREE = GRID.with_costs(np.where(np.arange(5)[:, np.newaxis] % 2 == 0, 0.0, 0.5) * GRID.costs)
# Scales at which something is learnt within forty episodes.
SMALL = {"uc-ssp": 0.05, "bernstein-ssp": 0.01, "eb-ssp": 0.002, "ulcvi": 1e-9}
EPISODES = 40


def facts(name: str, agent: object) -> dict[str, object]:
    """What the literal algorithm is told besides the settings."""
    if name == "eb-ssp":
        return {"B": agent.B_star, "known": True}  # type: ignore[attr-defined]
    if name == "ulcvi":
        return {"B_star": agent.B_star, "T_star": agent.T_star}  # type: ignore[attr-defined]
    return {}


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("world", [GRID, RANDOM, FREE], ids=["grid", "random", "free"])
@pytest.mark.parametrize("small", [False, True], ids=["theory", "small"])
def test_every_step_is_that_of_the_pseudo_code(name: str, world: SSP, small: bool) -> None:
    scale, episodes = (SMALL[name], EPISODES) if small else (1.0, 15)  # with the theory's widths, episodes are long
    order = list(range(world.actions))[::-1]
    agent = agents.find(name).from_world(world, episodes=episodes, scale=scale, ties="first", action_order=order)
    run = learn(agent, world, episodes, seed=5, keep_steps=True)
    assert run.trajectory is not None
    expected = ALGORITHMS[name](world, episodes, 5, 0.1, scale, order, **facts(name, agent))
    assert list(zip(run.trajectory.states.tolist(), run.trajectory.actions.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", RIVALS)
def test_a_small_scale_learns(name: str) -> None:
    """Less than a third of the uniformly random policy's regret; theory-size bonuses have learnt nothing by then."""
    world = worlds.grid_world()
    agent = agents.find(name).from_world(world, episodes=500, scale=SMALL[name] / 5)
    uniform = 36.05 * 500
    assert learn(agent, world, 500, seed=1).gap_regret[-1] < uniform / 3


@pytest.mark.parametrize("name", RIVALS)
class TestRefusals:
    """Bad input is refused by name."""

    def make(self, name: str, world: SSP = GRID, **settings: object) -> None:
        agent = agents.find(name).from_world(world, episodes=3, **settings)
        agent.begin(Task.of(world, 3), np.random.default_rng(0))

    def test_costs_above_one(self, name: str) -> None:
        with pytest.raises(
            CostError, match=rf"costs lie in 2\.\.2, but {name} needs costs in \[0, 1\]; pass rescale.*/ 2\)"
        ):
            self.make(name, GRID.with_costs(2.0 * GRID.costs))

    def test_states_without_actions(self, name: str) -> None:
        world = SSP.from_rows([0, 2, 2], [1, 2], [0.0, 1.0], [[1.0], [1.0]])
        with pytest.raises(StateError, match=f"no action is available in state 1, but {name} needs"):
            self.make(name, world)

    def test_settings(self, name: str) -> None:
        """One value each: tests of settings have the others."""
        for setting, value in {"delta": 1.0, "scale": 0.0, "ties": "last", "action_order": (0, 1)}.items():
            with pytest.raises(SettingError, match=f"{setting} is "):
                self.make(name, **{setting: value})


@pytest.mark.parametrize(("name", "fact"), [("eb-ssp", "B_star"), ("ulcvi", "B_star"), ("ulcvi", "T_star")])
class TestFacts:
    """What an algorithm must be told is asked for by name and recorded."""

    def test_missing(self, name: str, fact: str) -> None:
        others = {other: 2.0 for other in agents.find(name).needs if other != fact}
        with pytest.raises(
            SettingError, match=f"{name} needs {fact}, a fact about the true model: pass it, or use .*from_world"
        ):
            agents.make(name, **others)

    def test_impossible(self, name: str, fact: str) -> None:
        for value in (0.0, float("inf"), "none", [2.0]):
            with pytest.raises(SettingError, match=f"{fact} is .*; it must be a positive"):
                agents.find(name).from_world(GRID, episodes=3, **{fact: value})

    def test_recorded(self, name: str, fact: str) -> None:
        run = learn(agents.find(name).from_world(GRID, episodes=3), GRID, 3)
        assert run.agent.given[fact] == run.agent.settings()[fact] > 0.0


@pytest.mark.parametrize(("name", "module"), [("uc-ssp", uc_ssp), ("eb-ssp", eb_ssp)])
def test_a_plan_that_does_not_settle_is_an_error(
    name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SWEEPS", 1)
    agent = agents.find(name).from_world(GRID, episodes=50, scale=1e-3)
    with pytest.raises(ConvergenceError, match=rf"{name}: the plan of epoch \d+ has a residual of .* after 1 sweeps"):
        learn(agent, GRID, 50)


@pytest.mark.parametrize("name", RIVALS)
def test_the_scale_is_recorded(name: str) -> None:
    run = learn(agents.find(name).from_world(GRID, episodes=3, scale=0.5, ties="first"), GRID, 3)
    assert run.notes["scale"] == run.agent.settings()["scale"] == 0.5
    assert run.notes["ties"] == "first"


class TestCounts:
    """The counts against a dense tally."""

    def test_counts(self) -> None:
        rng = np.random.default_rng(4)
        S, A = 9, 2
        task = Task(np.ones((S, A)), 0, 1)
        counts = Counts(task)
        dense = np.zeros((S, A, S + 1))
        for length in (1, 3, 200, 1000):
            steps = Steps.in_table(
                rng.integers(S, size=length),
                rng.integers(A, size=length),
                np.ones(length),
                rng.integers(S + 1, size=length),
                -1,
            )
            counts.add(steps)
            np.add.at(dense, (steps.states, steps.actions, steps.next_states), 1)
            np.testing.assert_array_equal(dense_counts(counts), dense)
            np.testing.assert_array_equal(counts.visits, dense.sum(axis=2))
        for row, size in enumerate(counts.size):
            assert (np.diff(counts.successors[row, :size]) > 0).all()
        assert counts.width == S + 1

    def test_one_row_is_copied(self) -> None:
        task = Task(np.ones((6, 1)), 0, 1)
        full, part = Counts(task), Counts(task)
        n = np.arange(7)
        full.add(Steps.in_table(np.zeros(7, dtype=np.int64), np.zeros(7, dtype=np.int64), np.ones(7), n, -1))
        full.add(Steps.in_table(n[:1] + 2, n[:1], np.ones(1), n[:1], -1))
        part.copy_row(0, full)
        np.testing.assert_array_equal(dense_counts(part)[0], dense_counts(full)[0])
        assert part.visits.sum() == 7
        full.add(Steps.in_table(n[:1], n[:1], np.ones(1), n[:1], -1))
        assert part.visits[0, 0] == 7

    def test_wrong_states_are_refused(self) -> None:
        small, large = Counts(Task(np.ones((2, 1)), 0, 1)), Counts(Task(np.ones((9, 1)), 0, 1))
        with pytest.raises(ValueError, match="a row has room for 4 successors, but only 3 exist"):
            small.restore(large.to_state())
        with pytest.raises(ValueError, match=r"visits must have shape \(9, 1\)"):
            large.restore(small.to_state())


SPECIALISATIONS = """
import goalward as gw
from goalward.jit import kernels

for world in (gw.worlds.grid_world(2, 3), gw.worlds.random_mdp(states=4, seed=3, rows="uniform")):
    for name in {names}:
        for ties in ("random", "first"):
            run = gw.learn(gw.agents.find(name).from_world(world, episodes=10, ties=ties), world, 10)
            gw.learn(run.agent, world, 10, resume=True)
print([kernel.__name__ for kernel in kernels() if len(kernel.signatures) > 1])
"""


def test_going_on_compiles_nothing_anew(run_python: Callable[[str], str]) -> None:
    """A deep copy is writable where the original was not; kernels must not see the difference."""
    assert run_python(SPECIALISATIONS.format(names=RIVALS)) == "[]"


@pytest.mark.parametrize("name", RIVALS)
class TestRescaling:
    """Costs of any scale: the run is that of the world with costs in [0, 1], what it pays is in true costs."""

    # A power of two, by which division is exact.
    LARGE = RANDOM.with_costs(RANDOM.costs / RANDOM.costs.max() * 8.0)
    UNIT = RANDOM.with_costs(RANDOM.costs / RANDOM.costs.max())

    def test_the_steps_are_the_same_and_the_regret_is_eight_times_as_large(self, name: str) -> None:
        known = {fact: value for fact, value in [("B_star", 2.5), ("T_star", 7.0)] if fact in agents.find(name).needs}
        scaled = {fact: value * 8.0 if fact == "B_star" else value for fact, value in known.items()}
        agent = agents.find(name)(scale=SMALL[name], **known)
        rescaling = agents.find(name)(scale=SMALL[name], rescale=True, **scaled)
        run = learn(agent, self.UNIT, EPISODES, seed=3, keep_plans=True)
        same = learn(rescaling, self.LARGE, EPISODES, seed=3, keep_plans=True)
        assert same.steps.tolist() == run.steps.tolist()
        np.testing.assert_allclose(same.regret, 8.0 * run.regret, rtol=1e-9)
        np.testing.assert_allclose(same.gap_regret, 8.0 * run.gap_regret, rtol=1e-9)
        for plan, larger in zip(run.plans or (), same.plans or (), strict=True):
            if plan.values is not None:  # those of online agents are looked at below
                np.testing.assert_allclose(larger.values, 8.0 * plan.values)
            assert plan.model is None or np.array_equal(larger.model.costs, 8.0 * plan.model.costs)
        if isinstance(run.agent, agents.OnlineAgent) and isinstance(same.agent, agents.OnlineAgent):
            np.testing.assert_allclose(same.agent.values(), 8.0 * np.asarray(run.agent.values()))

    def test_the_notes_say_so(self, name: str) -> None:
        agent = agents.find(name).from_world(self.LARGE, episodes=3, rescale=True)
        notes = learn(agent, self.LARGE, 3, seed=0).notes
        assert notes["costs_divided_by"] == 8.0
        plain = agents.find(name).from_world(self.UNIT, episodes=3)
        assert "costs_divided_by" not in learn(plain, self.UNIT, 3, seed=0).notes


def test_costs_that_are_paid_are_rescaled_too() -> None:
    """EB-SSP with costs that it has to learn."""
    unit, large = (
        ModelWorld(world, costs="hidden", cost_range=(0.0, largest))
        for world, largest in ((TestRescaling.UNIT, 1.0), (TestRescaling.LARGE, 8.0))
    )
    run = learn(agents.EBSSP(B_star=2.5, scale=SMALL["eb-ssp"]), unit, EPISODES, seed=3)
    same = learn(agents.EBSSP(B_star=20.0, rescale=True, scale=SMALL["eb-ssp"]), large, EPISODES, seed=3)
    assert same.steps.tolist() == run.steps.tolist()
    assert same.notes["B"] == 8.0 * run.notes["B"]
