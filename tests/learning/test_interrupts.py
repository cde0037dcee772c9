"""Nothing is lost: Ctrl-C and exceptions end a run with what was learnt."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epoch_rows import epoch_rows
from goalward import agents, learn, worlds
from goalward.acting.contract import Steps
from goalward.acting.stop_conditions import Ended
from goalward.agents import PSRL
from goalward.continuous.tasks import mountain_car
from goalward.learning.learn import run_agent
from goalward.planning import replan
from goalward.signals import interruptible
from sample_environments import Fickle, ModelEnvironment


def press(number: int = 1) -> None:
    for _ in range(number):
        os.kill(os.getpid(), signal.SIGINT)


class Pressing(ModelEnvironment):
    """Presses Ctrl-C, or raises an exception, at a step."""

    def __init__(self, when: int, what: Any = press):
        super().__init__(worlds.grid_world(2, 3))
        self.when, self.what, self.total = when, what, 0

    def step(self, action: int) -> Any:
        self.total += 1
        if self.total == self.when:
            if isinstance(self.what, BaseException):
                raise self.what
            self.what()
        return super().step(action)


@pytest.mark.parametrize("agent", [PSRL(), agents.QLearning()], ids=["plans", "online"])
def test_ctrl_c_returns_the_run(agent: Any) -> None:
    run = learn(agent, Pressing(123), 1000, seed=1)
    assert run.ended == Ended.STOPPED
    assert run.total_steps == 123
    assert "interrupted" in repr(run)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    more = learn(run.agent, Pressing(0), 10, seed=2, resume=True)
    assert more.ended == Ended.EPISODES
    assert int(more.agent.visits.sum()) == 123 + more.total_steps


def test_a_second_one_raises_at_once_with_the_run() -> None:
    with pytest.raises(KeyboardInterrupt) as raised:
        learn(PSRL(), Pressing(123, lambda: press(2)), 1000, seed=1)
    assert raised.value.run.total_steps == 122  # type: ignore[attr-defined]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_environment_may_raise_it_too() -> None:
    run = learn(PSRL(), Pressing(123, KeyboardInterrupt()), 1000, seed=1)
    assert (run.ended, run.total_steps) == (Ended.STOPPED, 122)


@pytest.mark.parametrize("name", ["q-learning", "ulcvi", "psrl"])
def test_a_compiled_rollout_stops_soon(name: str) -> None:
    world = worlds.grid_world()
    agent = agents.find(name).from_world(world, episodes=100_000_000)
    learn(agent, world, 10, max_steps=100)  # compiled before the time is taken
    pressed: list[float] = []

    def later() -> None:
        pressed.append(time.monotonic())
        press()

    timer = threading.Timer(0.5, later)
    timer.start()
    run = learn(agent, world, 100_000_000)
    assert run.ended == Ended.STOPPED
    assert time.monotonic() - pressed[0] < 5.0  # a second or so, on a busy machine


def test_a_long_solve_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint has the agent from before the plan, so the run goes on bit for bit."""
    world, path = worlds.grid_world(), tmp_path / "c.npz"
    solve = replan.Replanner.iterate
    calls: list[int] = []

    def slow(self: Any, model: Any) -> Any:
        calls.append(1)
        if len(calls) == 20:
            press()
            time.sleep(60.0)
        return solve(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(replan.Replanner, "iterate", slow)
        run = learn(PSRL(), world, 200, seed=4, checkpoint=path)
    assert run.ended == Ended.STOPPED
    assert len(run.epochs) == 19
    whole, resumed = learn(PSRL(), world, 200, seed=4), learn(PSRL(), world, 200, seed=4, checkpoint=path)
    np.testing.assert_array_equal(whole.costs, resumed.costs)
    assert epoch_rows(whole.epochs) == epoch_rows(resumed.epochs)


def test_nothing_is_installed_where_the_program_has_a_handler_or_in_other_threads() -> None:
    taken: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        run = learn(PSRL(), Pressing(50), 100, seed=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (run.ended, taken) == (Ended.EPISODES, [signal.SIGINT])
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(learn(PSRL(), Pressing(50, int), 100).ended))
    thread.start()
    thread.join()
    assert ended == [Ended.EPISODES]


def test_internal_callers_are_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_agent(PSRL(), Pressing(50), 100, seed=1)
    with pytest.raises(KeyboardInterrupt), interruptible():
        press()


@pytest.mark.parametrize("when", [1, 2, 57, 300])
@pytest.mark.parametrize("name", ["psrl", "q-learning", "uc-ssp", "ulcvi", "bernstein-ssp"])
def test_exceptions_carry_what_was_learnt(name: str, when: int) -> None:
    error = ConnectionError("the robot is gone")
    world = worlds.grid_world(2, 3)
    agent = agents.find(name).from_world(world, episodes=1000)
    whole = learn(agent, world, 1000, seed=5, max_steps=when, keep_steps=True)
    with pytest.raises(ConnectionError) as raised:
        learn(agent, Pressing(when, error), 1000, seed=5, keep_steps=True)
    assert raised.value is error
    assert "error.run" in error.__notes__[0]
    run = error.run  # type: ignore[attr-defined]
    assert run.total_steps == run.epochs.steps.sum() == when - 1
    if when > 1:
        for column, expected in zip(run.trajectory, whole.trajectory, strict=True):
            np.testing.assert_array_equal(column, expected[: when - 1])
    counts = run.agent.counts.visits if hasattr(run.agent, "counts") else run.agent.visits
    assert counts.sum() == when - 1
    assert learn(run.agent, ModelEnvironment(world), 5, resume=True).ended == Ended.EPISODES


def test_an_exception_in_the_agent_carries_the_run_too() -> None:
    class Broken(Fickle):
        def observe(self, steps: Steps) -> None:
            super().observe(steps)
            if self.total > 5:
                raise ZeroDivisionError

        @property
        def total(self) -> int:
            self.calls = getattr(self, "calls", 0) + 1
            return self.calls

    with pytest.raises(ZeroDivisionError) as raised:
        learn(Broken(), worlds.grid_world(2, 3), 1000)
    assert raised.value.run.total_steps > 0  # type: ignore[attr-defined]


def test_continuous_tasks() -> None:
    world = mountain_car()
    steps: list[int] = []

    def watch(episodes: int, done: int) -> bool:
        steps.append(done)
        if len(steps) == 3:
            raise RuntimeError("enough")
        return True

    agent = agents.find("continuous-psrl")(nodes=11)
    with pytest.raises(RuntimeError) as raised:
        learn(agent, world, 50, max_steps=2000, watch=watch)
    assert raised.value.run.total_steps == steps[-1]  # type: ignore[attr-defined]
