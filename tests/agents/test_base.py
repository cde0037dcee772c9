"""The contract of an agent: what it may not do, what it cannot be given back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from goalward import SSP, Dirichlet, agents, archive, learn, worlds
from goalward.agents import PSRL, OnlineAgent, Optimal, Steps, Task, Uniform, agent_file
from goalward.agents.base import registry
from goalward.errors import FileError, PolicyError, SettingError, UnknownNameError

WORLD = worlds.grid_world(2, 2)


def begun() -> PSRL:
    agent = PSRL()
    agent.begin(Task.of(WORLD, 10), np.random.default_rng(0))
    return agent


class TestRestore:
    """What does not fit is refused."""

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"surplus": 1}, "the state has the entries"),
            ({"visits": np.zeros((2, 2), dtype=np.int64)}, r"visits must have shape \(3, 4\)"),
            ({"visits": np.zeros((3, 4))}, "dtype int64"),
            ({"k": "one"}, "k must be of type int"),
            ({"belief": {"counts": np.zeros(3, dtype=np.int64)}}, "counts must have shape"),
        ],
    )
    def test_misfits(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            begun().restore(begun().to_state() | change)

    def test_missing(self) -> None:
        state = begun().to_state()
        del state["k"]
        with pytest.raises(ValueError, match="but psrl needs"):
            begun().restore(state)

    def test_file_with_a_misfit(self, tmp_path: Path) -> None:
        """A file that is whole but holds the state of another task."""
        path = tmp_path / "agent.npz"
        agents.save(begun(), path)
        tree = archive.read(path, "goalward-agent", 1)
        tree["learnt"]["visits"] = np.zeros((1, 1), dtype=np.int64)
        archive.write(path, "goalward-agent", 1, tree)
        with pytest.raises(FileError, match="cannot be restored"):
            agents.load(path)


class Moody(Uniform):
    """An agent whose numbers fall, change their type and become infinite."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.mood, self.total, self.patience, self.last = 1.0, 0, np.float64(3.0), 7
        self.values, self.best = np.zeros(task.costs.shape), np.zeros(task.states, dtype=np.int64)

    def observe(self, steps: Steps) -> None:
        self.mood -= 0.5 * len(steps.states)
        self.total += float(steps.costs.sum())  # type: ignore[assignment]
        self.patience -= np.float64(1.0)
        self.last = None  # type: ignore[assignment]
        self.values[0], self.values[1] = -np.inf, np.nan
        self.best -= 1


def test_an_agent_of_a_user_gets_back_whatever_it_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = learn(Moody(), WORLD, 5)
    with pytest.raises(SettingError, match=r"could not be loaded; put @goalward\.agents\.register"):
        agents.save(run.agent, tmp_path / "agent.npz")
    monkeypatch.setattr(registry, "known", lambda: (Moody.name,))
    monkeypatch.setattr(registry, "find", lambda name: Moody)
    agents.save(run.agent, tmp_path / "agent.npz")
    loaded = agents.load(tmp_path / "agent.npz")
    np.testing.assert_equal(loaded.to_state(), run.agent.to_state())
    resumed = learn(loaded, WORLD, 5, 1, resume=True, keep_steps=True)
    assert resumed.trajectory is not None
    assert loaded.to_state()["mood"] == 1.0 - 0.5 * run.total_steps


@pytest.mark.parametrize("name", ["q-learning", "rand-ql"])
@pytest.mark.parametrize("cost", [1e17, 1e300])
def test_estimates_of_huge_costs_are_restored(name: str, cost: float, tmp_path: Path) -> None:
    world = WORLD.with_costs(np.full_like(WORLD.costs, cost))
    run = learn(agents.make(name), world, 5)
    agents.save(run.agent, tmp_path / "agent.npz")
    np.testing.assert_equal(agents.load(tmp_path / "agent.npz").to_state(), run.agent.to_state())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, 1e308])
def test_estimates_out_of_reach_are_refused(value: float) -> None:
    agent = agents.make("q-learning")
    agent.begin(Task.of(WORLD, 10), np.random.default_rng(0))
    with pytest.raises(ValueError, match="all numbers in Q must lie"):
        agent.restore(agent.to_state() | {"Q": np.full(WORLD.costs.shape, value)})


@pytest.mark.parametrize("place", ["agent", "prior"])
def test_a_saved_agent_executes_no_file(place: str, tmp_path: Path) -> None:
    """A stranger's file may name any Python file of this machine."""
    witness = tmp_path / "executed"
    (tmp_path / "trap.py").write_text(f"open({str(witness)!r}, 'w')\n")
    path = tmp_path / "a.npz"
    agents.save(learn(agents.PSRL(Dirichlet(0.1)), worlds.grid_world(), 2).agent, path)
    tree = archive.read(path, agent_file.FORMAT, agent_file.VERSION)
    if place == "agent":
        tree["agent"] = f"{tmp_path}/trap.py:Trap"
    else:
        tree["settings"]["prior"]["prior"]["kind"] = f"{tmp_path}/trap.py:Trap"
    archive.write(path, agent_file.FORMAT, agent_file.VERSION, tree)
    with pytest.raises(FileError, match="refers to the Python file"):
        agent_file.load(path)
    assert not witness.exists()


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    agent = begun()
    agent.diary = ["dear", "diary"]  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="psrl cannot be saved: diary is of type list"):
        agents.save(agent, tmp_path / "agent.npz")


def test_optimal_in_another_world() -> None:
    with pytest.raises(PolicyError, match=r"the policy has shape \(11,\)"):
        learn(Optimal(worlds.grid_world()), WORLD, 10)


def test_missing_and_unknown_settings_of_a_constructor() -> None:
    with pytest.raises(SettingError, match=r"ulcvi needs B_star, a fact .* pass it, or use ULCVI\.from_world"):
        agents.ULCVI()
    with pytest.raises(SettingError, match="ulcvi needs T_star"):
        agents.ULCVI(B_star=2.0)
    with pytest.raises(SettingError, match=r"B_star is None; it must be a positive number"):
        agents.ULCVI(B_star=None, T_star=2.0)
    with pytest.raises(SettingError, match=r"optimal needs model"):
        Optimal()
    with pytest.raises(UnknownNameError, match="did you mean 'value_limit'"):
        agents.PSRL(value_limits=3.0)


def test_an_agent_must_be_one() -> None:
    for wrong in (agents.PSRL, "psrl"):
        with pytest.raises(SettingError, match="pass an Agent or an OnlineAgent"):
            learn(wrong, WORLD, 3)  # type: ignore[arg-type]


def test_online_agent_that_plays_what_is_not_there() -> None:
    class Stubborn(OnlineAgent):
        name: ClassVar[str] = "stubborn"

        def act(self, state: int, draw: Callable[[], float]) -> int:
            return 1

    world = SSP.from_dense([[[0.5, 0.5], [0.0, 0.0]]], [[1.0, 1.0]])
    with pytest.raises(PolicyError, match="the policy plays action 1, which is not available in state 0"):
        learn(Stubborn(), world, 10)


def test_a_subclass_may_change_a_setting_without_an_annotation() -> None:
    class Eager(agents.PSRL):
        sharpness = 2.0

    assert Eager().settings() == agents.PSRL(sharpness=2.0).settings()
    assert Eager(sharpness=3.0).sharpness == 3.0
    with pytest.raises(SettingError, match="sharpness is 0"):
        Eager(sharpness=0.0)


def test_settings_and_needs() -> None:
    agent = Optimal.from_world(WORLD, episodes=5)
    assert agent.given == {"model": WORLD}
    assert agent.settings() == {"model": {"digest": WORLD.digest}}
    told = Optimal.from_world(WORLD, episodes=5, model=WORLD)
    assert told.given == {}


def test_lazy_names() -> None:
    for name in agents.__all__:
        assert getattr(agents, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Psrl'"):
        agents.Psrl  # noqa: B018


def test_an_agent_may_have_a_constructor_of_its_own() -> None:
    class Mine(Uniform):
        def __init__(self, boldness: float = 0.5):
            self.boldness = 2.0 * boldness

    assert Mine(1).settings() == {"boldness": 2.0}
    assert Mine.from_settings({"boldness": 1}, WORLD, 10).boldness == 2.0
    with pytest.raises(SettingError, match="boldness is 'high'; it must be a number"):
        Mine("high")  # type: ignore[arg-type]


def test_an_agent_that_is_not_registered_has_the_name_of_its_class() -> None:
    class Mine(Uniform):
        boldness: float = 0.5

    assert Uniform.name == "uniform"
    assert Mine().name == "Mine"
    with pytest.raises(UnknownNameError, match="Mine"):
        Mine(bolness=0.1)
