"""Checkpoints: on models a resumed run is the run that was never interrupted, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epoch_rows import epoch_rows
from goalward import SSP, Dirichlet, Environment, Neighbourhoods, agents, archive, learn, worlds
from goalward.acting.contract import Task
from goalward.acting.encoding import Encoding
from goalward.acting.model_world import ModelWorld
from goalward.acting.stop_conditions import Ended
from goalward.agents import PSRL, agent_file
from goalward.errors import FileError, SettingError
from goalward.learning.run import Run
from sample_environments import ModelEnvironment, chain

EPISODES = 60
WORLDS = {"grid": worlds.grid_world(2, 3), "random": worlds.random_mdp(states=8, seed=5, rows="uniform")}
LARGE = worlds.grid_world(12, 12)
TABULAR = [name for name in agents.known() if not agents.find(name).continuous]


def state_of(run: Run) -> str:
    progress = agent_file.progress(run.agent)
    return archive.digest({"learnt": progress["learnt"], "rng": progress["rng"]})


def same(one: Run, other: Run) -> None:
    for name in ("costs", "steps", "gaps", "reached"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert epoch_rows(one.epochs) == epoch_rows(other.epochs)
    assert one.ended == other.ended
    assert state_of(one) == state_of(other)


def check_interrupted(agent: Any, world: Any, episodes: int, path: Path, seed: int, parts: int) -> Run:
    """Learn in parts that a step limit ends, at random; check that this is the run without interruption, return it."""
    whole = learn(agent, world, episodes, seed, max_steps=200_000)
    limits = np.sort(np.random.default_rng(seed).integers(1, max(whole.total_steps, 2), size=parts)).tolist()
    for limit in limits:
        run = learn(agent, world, episodes, seed, max_steps=limit, checkpoint=path)
        assert run.total_steps == limit or run.ended == Ended.EPISODES
    same(learn(agent, world, episodes, seed, max_steps=200_000, checkpoint=path), whole)
    return whole


@pytest.mark.parametrize("name", TABULAR)
@pytest.mark.parametrize("world", WORLDS)
def test_every_agent_resumes_bit_for_bit(name: str, world: str, tmp_path: Path) -> None:
    ssp = WORLDS[world]
    agent = agents.find(name).from_world(ssp, episodes=EPISODES)
    path = tmp_path / "c.npz"
    whole = check_interrupted(agent, ssp, EPISODES, path, 1, parts=5)
    same(learn(agent, ssp, EPISODES, 1, checkpoint=path), whole)  # a finished run is returned as it is


@pytest.mark.parametrize(
    "agent",
    [
        PSRL(Dirichlet(0.1, support=LARGE)),
        PSRL(Neighbourhoods()),
        agents.KLIndex(samples=2),
        agents.BernsteinSSP(scale=0.01),
    ],
    ids=["support", "neighbourhoods", "kl-index", "bernstein"],
)
def test_the_warm_starts_of_large_models_are_saved(agent: Any, tmp_path: Path) -> None:
    """Above 128 states, sweeps start from the last values, in an order that the first sample decided."""
    assert LARGE.states > 128
    slow = agent.name == "kl-index"
    check_interrupted(agent, LARGE, 1 if slow else 8, tmp_path / "c.npz", 3, parts=2 if slow else 4)


@pytest.mark.parametrize("name", TABULAR)
def test_it_does_not_matter_where_chunks_are_cut(name: str) -> None:
    """Otherwise an interrupt, a recording or a slow machine would change the last bits."""
    ssp = WORLDS["grid"]
    agent = agents.find(name).from_world(ssp, episodes=EPISODES)
    if not agent.online:
        pytest.skip("its chunks end with its plans")
    same(learn(agent, ssp, EPISODES, 1), learn(agent, ssp, EPISODES, 1, keep_replay=True))


def test_kill_9_loses_the_time_since_the_last_checkpoint(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import goalward as gw
            run = gw.learn(gw.agents.PSRL(), gw.worlds.grid_world(), 20_000, 7, checkpoint="c.npz", every=0.0)
            print("done", run.total_steps)
            """
        ),
        encoding="utf-8",
    )
    path = tmp_path / "c.npz"
    killed = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.DEVNULL)
        before = path.stat().st_mtime_ns if path.exists() else 0
        while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns != before):
            time.sleep(0.01)
        time.sleep(0.2)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed
    world = worlds.grid_world()
    assert archive.read(path, "goalward-checkpoint", 1)["ledger"]["total_steps"] > 0
    same(learn(PSRL(), world, 20_000, 7, checkpoint=path), learn(PSRL(), world, 20_000, 7))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"agent": agents.UCSSP()}, "another agent"),
        ({"agent": PSRL(sharpness=2.0)}, "another settings"),
        ({"world": WORLDS["random"]}, "another world"),
        ({"episodes": 31}, "another episodes"),
        ({"seed": 1}, "another seed"),
    ],
)
def test_another_run_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    run = {"agent": PSRL(), "world": WORLDS["grid"], "episodes": 30, "seed": 0, "checkpoint": tmp_path / "c.npz"}
    learn(**run)
    with pytest.raises(SettingError, match=said):
        learn(**(run | change))


def test_a_run_that_resumes_depends_on_what_was_learnt_before(tmp_path: Path) -> None:
    world, path = WORLDS["grid"], tmp_path / "c.npz"
    first, second = learn(PSRL(), world, 20, 1).agent, learn(PSRL(), world, 20, 2).agent
    options: dict[str, Any] = {"resume": True, "checkpoint": path}
    learn(first, world, 20, 3, max_steps=30, **options)
    same(learn(first, world, 20, 3, **options), learn(first, world, 20, 3, resume=True))
    with pytest.raises(SettingError, match="another agent to resume"):
        learn(second, world, 20, 3, **options)


def test_what_cannot_be_kept_or_saved_is_refused_before_the_first_step(tmp_path: Path) -> None:
    world = WORLDS["grid"]
    with pytest.raises(SettingError, match="a checkpoint stores no plans"):
        learn(PSRL(), world, 5, checkpoint=tmp_path / "c.npz", keep_steps=True)
    with pytest.raises(FileError, match="does not exist"):
        learn(PSRL(), world, 5, checkpoint=tmp_path / "no" / "c.npz")
    with pytest.raises(SettingError, match="every is -1"):
        learn(PSRL(), world, 5, checkpoint=tmp_path / "c.npz", every=-1)
    (tmp_path / "c.npz").write_bytes(b"something else")
    with pytest.raises(FileError, match="damaged, or not a goalward file"):
        learn(PSRL(), world, 5, checkpoint=tmp_path / "c.npz")


def test_the_old_checkpoint_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, path = WORLDS["grid"], tmp_path / "c.npz"
    learn(PSRL(), world, 50, max_steps=40, checkpoint=path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match="No space left") as raised:
            learn(PSRL(), world, 50, checkpoint=path, every=0.0)
    assert raised.value.run.total_steps > 40  # type: ignore[attr-defined]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c.npz"]
    same(learn(PSRL(), world, 50, checkpoint=path), learn(PSRL(), world, 50))


class Failing(ModelEnvironment):
    """Raises an exception at some steps, counted from the start."""

    def __init__(self, ssp: SSP, *when: int):
        super().__init__(ssp)
        self.when, self.total = when, 0

    def step(self, action: int) -> Any:
        self.total += 1
        if self.total in self.when:
            raise ConnectionError("the robot is gone")
        return super().step(action)


@pytest.mark.parametrize("agent", [PSRL(), agents.UCSSP()], ids=["plans", "online"])
def test_an_environment_resumes_with_a_new_episode(agent: Any, tmp_path: Path) -> None:
    ssp, path = chain(3, back=0.5), tmp_path / "c.npz"
    options = {"episodes": 40, "seed": 1, "checkpoint": path}
    failing = Environment(Failing(ssp, 50))
    with pytest.raises(ConnectionError) as raised:
        learn(agent, failing, **options)
    first = raised.value.run  # type: ignore[attr-defined]
    run = learn(agent, Environment(ModelEnvironment(ssp)), **options)
    over = np.count_nonzero(first.reached)
    np.testing.assert_array_equal(run.costs[: len(first.costs)], first.costs)
    assert len(run.costs) == 40
    assert run.ended == Ended.EPISODES
    assert not run.reached[over]
    assert run.reached[over + 1 :].all()
    assert run.total_steps == run.epochs.steps.sum()
    counts = run.agent.belief.counts if agent.name == "psrl" else run.agent.counts.visits
    assert counts.sum() == run.total_steps  # nothing is lost, nothing counted twice
    again = learn(agent, Environment(ModelEnvironment(ssp)), **options)
    np.testing.assert_array_equal(again.costs, run.costs)
    assert archive.digest(again.agent.to_state()) == archive.digest(run.agent.to_state())


def test_an_environment_of_another_size_is_refused(tmp_path: Path) -> None:
    options = {"episodes": 40, "checkpoint": tmp_path / "c.npz"}
    for states, said in ((3, ""), (4, "another world")):
        ssp = chain(states)
        environment = Environment(ModelEnvironment(ssp))
        if not said:
            learn(PSRL(), environment, **options)
        else:
            with pytest.raises(SettingError, match=said):
                learn(PSRL(), environment, **options)


def test_a_saved_agent_and_a_checkpoint_carry_the_encoding(tmp_path: Path) -> None:
    """What the world is told on resuming is the numbering of the agent's task."""
    encoding = Encoding(None, {"kind": "discrete", "n": 2, "start": 0}, max_states=3)
    assert encoding.state("b") == 0
    told: list[Any] = []

    class Numbered(ModelWorld):
        def task(self, episodes: int, resumed: Task | None = None) -> Task:
            told.append(resumed and resumed.encoding)
            return replace(super().task(episodes), encoding=encoding)

    world = Numbered(chain(3))
    agent = learn(PSRL(), world, 5).agent
    agent_file.save(agent, tmp_path / "agent.npz")
    learn(agent_file.load(tmp_path / "agent.npz"), world, 5, resume=True)
    assert told == [None, encoding]


@pytest.mark.parametrize("noise", [None, "bernoulli", "uniform"])
@pytest.mark.parametrize("name", ["psrl", "q-learning", "eb-ssp", "ulcvi"])
def test_hidden_and_random_costs(name: str, noise: Any, tmp_path: Path) -> None:
    ssp, path = WORLDS["random"].with_costs(0.5 * WORLDS["random"].costs), tmp_path / "c.npz"
    agent = agents.find(name).from_world(ssp, episodes=EPISODES)
    world = ModelWorld(ssp, costs="hidden", noise=noise, cost_range=(0.0, 1.0))
    check_interrupted(agent, world, EPISODES, path, 2, parts=4)
    others = [ssp] if noise is None else [ssp, ModelWorld(ssp, costs="hidden", cost_range=(0.0, 1.0))]
    for other in others:
        with pytest.raises(FileError, match=r"with other known costs|had another distribution"):
            learn(agent, other, EPISODES, 2, checkpoint=path)
