"""`goalward learn` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from goalward import SSP, agents, learn, progress, signals, worlds
from goalward.errors import FileError
from goalward.settings import read_settings
from goalward.signals import Interrupted

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(call: Call) -> Call:
    return partial(call, "learn")


def test_table(run: Call) -> None:
    code, out, err = run("grid-world", "--agent", "psrl", "--episodes", 200, "--seed", 4)
    assert (code, err) == (0, "")
    expected = learn(agents.PSRL(), worlds.grid_world(), 200, 4)
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert rows["episodes"] == ["episodes", "cost", "per", "episode", "regret", "gap", "regret", "epochs"]
    assert rows["200"][1] == f"{expected.costs.sum():,.6g}"
    assert rows["200"][3] == f"{expected.regret[-1]:,.1f}"
    assert rows["200"][5] == f"{len(expected.epochs)}"
    assert {"1", "10", "100"} <= set(rows)
    assert "steps per second" in out


def test_json(run: Call) -> None:
    code, out, _ = run("grid-world", "--set", "rows=2", "--episodes", 50, "--format", "json")
    curve, document = json.loads(out)["curve"], json.loads(out)["run"]
    expected = learn(agents.PSRL(), worlds.grid_world(2), 50, 0)
    assert code == 0
    assert document["agent"] == "psrl"
    assert document["settings"]["prior"] is None
    assert document["prior"] == "Dirichlet(0.1)"
    assert document["steps"] == expected.total_steps
    assert curve[-1]["regret"] == expected.regret[-1]
    assert curve[-1]["gap_regret"] == expected.gap_regret[-1]
    assert sum(document["epochs_ended_by"].values()) >= document["epochs"] == len(expected.epochs)
    assert not document["truncated"]


def test_settings_of_the_agent(run: Call) -> None:
    arguments = ["--agent-set", "value_limit=7.5", "--agent-set", "prior={kind='dirichlet', concentration=0.5}"]
    _, out, _ = run("grid-world", *arguments, "--episodes", 20, "--format", "json")
    document = json.loads(out)["run"]
    assert document["settings"]["value_limit"] == 7.5
    assert document["settings"]["prior"]["concentration"] == 0.5
    assert "rejections" in document
    _, out, _ = run("grid-world", "--agent-set", "prior=neighbourhoods", "--episodes", 20, "--format", "json")
    assert json.loads(out)["run"]["settings"]["prior"]["kind"] == "neighbourhoods"


def test_what_an_agent_was_told(run: Call) -> None:
    _, out, _ = run("grid-world", "--agent", "optimal", "--episodes", 20)
    assert "knows in advance" in out


def test_truncation_is_said(run: Call) -> None:
    code, out, _ = run("grid-world", "--agent", "uniform", "--episodes", 1000, "--max-steps", 500)
    assert code == 0
    assert "of 1,000 episodes reached the goal; max_steps ended the run" in out


class TestKeeping:
    """--save and --resume."""

    def test_going_on(self, run: Call, tmp_path: Path) -> None:
        kept = tmp_path / "kept.npz"
        code, out, _ = run("grid-world", "--set", "columns=3", "--episodes", 100, "--seed", 5, "--save", kept)
        assert code == 0
        assert f"saved: {kept}" in out
        first = learn(agents.PSRL(), worlds.grid_world(columns=3), 100, 5)
        code, out, _ = run("--resume", kept, "--episodes", 100, "--seed", 6, "--save", kept, "--format", "json")
        assert code == 0
        second = learn(first.agent, worlds.grid_world(columns=3), 100, 6, resume=True)
        assert json.loads(out)["run"]["steps"] == second.total_steps
        agent = agents.load(kept)
        assert isinstance(agent, agents.PSRL)
        assert agent.k == 201

    def test_luck_is_new_when_no_seed_is_given(self, run: Call, tmp_path: Path) -> None:
        kept = tmp_path / "kept.npz"
        run("grid-world", "--episodes", 10, "--save", kept)
        seeds = set()
        for _ in range(3):
            seeds.add(
                json.loads(run("--resume", kept, "--episodes", 5, "--save", kept, "--format", "json")[1])["run"]["seed"]
            )
        assert len(seeds) == 3

    def test_another_world(self, run: Call, tmp_path: Path) -> None:
        kept = tmp_path / "kept.npz"
        run("grid-world", "--episodes", 10, "--save", kept)
        code, _, err = run("random-mdp", "--resume", kept)
        assert code == 2
        assert "psrl has learnt in another world" in err

    def test_saved_from_python(self, run: Call, tmp_path: Path) -> None:
        """Such a file does not say which world it comes from."""
        agents.save(learn(agents.PSRL(), worlds.grid_world(), 10).agent, tmp_path / "kept.npz")
        code, _, err = run("--resume", tmp_path / "kept.npz")
        assert code == 2
        assert "no world is given" in err
        assert run("grid-world", "--resume", tmp_path / "kept.npz", "--episodes", 5)[0] == 0

    def test_damaged(self, run: Call, tmp_path: Path) -> None:
        (tmp_path / "kept.npz").write_bytes(b"PK nothing")
        code, _, err = run("--resume", tmp_path / "kept.npz")
        assert code == 2
        assert "damaged, or not a goalward file" in err

    def test_no_folder(self, run: Call, tmp_path: Path) -> None:
        code, out, err = run("grid-world", "--episodes", 10**9, "--save", tmp_path / "no" / "kept.npz")
        assert (code, out) == (2, "")
        assert "create it first" in err

    def test_a_folder_is_no_file(self, run: Call, tmp_path: Path) -> None:
        code, out, err = run("grid-world", "--episodes", 10**9, "--max-steps", 10, "--save", tmp_path)
        assert (code, out) == (2, "")
        assert "is a folder; choose a file, such as" in " ".join(err.split())
        assert not list(tmp_path.iterdir())

    def test_a_file_that_cannot_be_written(self, run: Call, tmp_path: Path) -> None:
        """Here for its name, which also holds for those who may write everywhere."""
        kept = tmp_path / ("x" * 300 + ".npz")
        code, out, err = run("grid-world", "--episodes", 10**9, "--max-steps", 10, "--save", kept)
        assert (code, out) == (2, "")
        assert "choose a file that can be written" in " ".join(err.split())

    def test_trying_leaves_nothing_behind(self, run: Call, tmp_path: Path) -> None:
        kept = tmp_path / "kept.npz"
        kept.write_text("before")
        code, _, _ = run("nowhere", "--save", kept)
        assert code == 2
        assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]

    @pytest.mark.parametrize("options", [(), ("--format", "json")])
    def test_what_was_learnt_is_printed_before_it_is_kept(
        self, run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
    ) -> None:
        def full(*_: object) -> None:
            raise FileError("No space left on device")

        monkeypatch.setattr("goalward.agents.agent_file.save", full)
        code, out, err = run("grid-world", "--episodes", 10, "--save", tmp_path / "kept.npz", *options)
        assert code == 2
        assert "No space left on device" in err
        assert "epochs" in out
        assert "saved:" not in out
        assert not options or json.loads(out)["run"]["agent"] == "psrl"


class TestInterruption:
    """Ctrl-C in the middle."""

    @pytest.fixture(autouse=True)
    def _as_the_program(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        signals.catch_signals()
        yield
        for number, handler in before.items():
            signal.signal(number, handler)
        signals._received.clear()

    def interrupt(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        """Send real signals from inside the run, once it has done a piece of its work."""
        advance = progress.Phase.advance
        sent = 0

        def interrupting(self: progress.Phase, done: int, second: int = 0) -> None:
            nonlocal sent
            advance(self, done, second)
            while self.unit == "episodes" and sent < times:
                sent += 1
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(progress.Phase, "advance", interrupting)

    def test_what_was_learnt_is_kept(self, run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        handler = signal.getsignal(signal.SIGINT)
        self.interrupt(monkeypatch, times=1)
        kept = tmp_path / "kept.npz"
        code, out, _ = run("grid-world", "--episodes", 10**6, "--save", kept)
        assert code == 130
        assert "the run was interrupted" in out
        agent = agents.load(kept)
        assert isinstance(agent, agents.PSRL)
        assert agent.visits.sum() > 0
        assert signal.getsignal(signal.SIGINT) is handler

    def test_a_second_one_ends_at_once(self, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interrupt(monkeypatch, times=2)
        with pytest.raises(Interrupted) as stop:
            run("grid-world", "--episodes", 10**6)
        assert stop.value.exit_code == 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grid-world", "--agent", "prsl"], "no agent is called 'prsl'; did you mean 'psrl'?"),
        (["grid-wrold"], "did you mean 'grid-world'?"),
        (["grid-world", "--agent-set", "value_limits=1"], "did you mean 'value_limit'?"),
        (["grid-world", "--agent-set", "value_limit"], "expected NAME=VALUE, such as value_limit=5, got 'value_limit'"),
        (["grid-world", "--agent-set", "value_limit=1", "--agent-set", "value_limit=2"], "value_limit is set twice"),
        (["grid-world", "--agent-set", "prior={kind='dirichlet', concentration=0}"], "concentration is 0"),
        (["grid-world", "--agent-set", "prior=dirichlett"], "did you mean 'dirichlet'?"),
        (["grid-world", "--episodes", "0"], "episodes is 0"),
        (["grid-world", "--seed", "-1"], "seed is -1"),
        (["grid-world", "--max-steps", "0"], "max_steps is 0"),
        ([], "no world is given"),
    ],
)
def test_bad_input(run: Call, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_resume_brings_its_agent(run: Call, tmp_path: Path) -> None:
    code, _, err = run("--resume", tmp_path / "x.npz", "--agent", "psrl")
    assert code == 2
    assert "leave out --agent and --agent-set" in err


def test_help_loads_nothing_heavy(run_python: Callable[..., str]) -> None:
    code = (
        "import sys\nfrom goalward.cli import main\n"
        "try:\n    main(['learn', '--help'])\nexcept SystemExit:\n    pass\n"
        "print({'numpy', 'numba', 'rich', 'scipy'} & set(sys.modules))"
    )
    assert run_python(code).splitlines()[-1] == "set()"


def test_a_world_with_a_pit_is_refused_until_one_may_give_up(run: Call, tmp_path: Path) -> None:
    model = str(tmp_path / "pit.json")
    SSP.from_dense([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]]], [[1.0], [1.0]]).save(model)
    code, out, err = run(model, "--episodes", 10)
    assert (code, out) == (2, "")
    assert "give_up_cost=" in err
    kept = tmp_path / "agent.npz"
    code, out, _ = run(model, "--episodes", 10, "--give-up-cost", 3, "--save", kept)
    assert code == 0
    code, out, _ = run("--resume", kept, "--episodes", 10)
    assert code == 0


OWN = """
from dataclasses import dataclass
import numpy as np
from goalward.agents import Agent, Plan

@dataclass(eq=False)
class Mine(Agent):
    action: int = 1
    def plan(self, state):
        return Plan(np.full(self.task.states, self.action))
    def observe(self, steps):
        pass
"""


def test_an_agent_of_ones_own(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agent.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("grid-world", "--agent", "my_agent.py:Mine", "--episodes", 20)
    assert code == 0
    assert out.startswith("Mine in grid-world, seed 0\n")
    code, other, _ = run("grid-world", "--agent", "my_agent.py:Mine", "--agent-set", "action=3", "--episodes", 20)
    assert code == 0
    assert other != out
    for arguments, message in (
        (("--agent", "my_agent.py:Yours"), "there are: Agent, Mine, Plan"),
        (("--agent", "my_agent.py"), "write a reference such as my_agent.py:MyAgent"),
        (("--agent", "no_agent.py:Mine"), "no_agent.py: No such file"),
        (("--agent", "my_agent.py:Mine", "--agent-set", "actoin=3"), "did you mean 'action'?"),
        (("--agent", "my_agent.py:Mine", "--save", "kept.npz"), "--save works only for goalward's own agents"),
    ):
        code, _, err = run("grid-world", *arguments)
        assert code == 2
        assert message in err


def test_what_is_listed_can_be_typed(call: Call) -> None:
    """Every default that ``goalward list agents NAME`` prints is a setting that ``goalward learn`` takes."""
    for name in agents.known():
        document = json.loads(call("list", "agents", name, "--format", "json")[1])
        rows = [
            row for row in document["settings"] if row["default"] not in ("computed from the true world", "required")
        ]
        settings = read_settings(f"{row['setting']}={row['default']}" for row in rows)
        if not document["notes"]:
            assert agents.find(name).complete(settings) == agents.find(name).complete({}), name


def test_words_of_python_are_settings(run: Call) -> None:
    code, _, err = run("grid-world", "--agent-set", "perturb_costs=True", "--episodes", 5)
    assert (code, err) == (0, "")
    settings = ("--agent-set", "action_order=None", "--agent-set", "scale=0.01")
    code, _, err = run("grid-world", "--agent", "bernstein-ssp", *settings, "--episodes", 5)
    assert (code, err) == (0, "")
