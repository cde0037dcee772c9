"""Agents in users' files."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from goalward import agents
from goalward.errors import FileError, GoalwardError
from goalward.user_code import load_member


def test_a_class_becomes_an_agent(folder):
    kind = agents.find(f"{folder}/agents.py:Plain")
    assert kind.name == "Plain"
    assert kind(action=2).settings() == {"action": 2}
    assert agents.find(f"{folder}/agents.py:Plain") is kind


def test_classes_of_one_file_keep_their_own_names(folder):
    names = [agents.find(f"{folder}/agents.py:{name}").name for name in ("Plain", "Raises", "Leaves")]
    assert names == ["Plain", "Raises", "Leaves"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("agents.py:Plan1", "no class or function in .*agents.py is called 'Plan1'; did you mean 'Plan'?"),
        ("agents.py:NoAgent", "NoAgent in .*agents.py is not an agent; derive it from goalward.agents.Agent"),
        ("agents.py:os", "os in .*agents.py is not a class or a function"),
        ("missing.py:Plain", "missing.py: No such file or directory"),
        ("agents.py", "agents.py' does not name a class or function .*; write a reference such as my_agent.py:MyAgent"),
        ("agents.py:", "does not name a class or function in a file"),
        ("broken.py:Plain", "broken.py: cannot be loaded .SyntaxError"),
        ("wrong.py:Plain", "wrong.py: cannot be loaded .ZeroDivisionError: division by zero"),
        ("leaves.py:Plain", "leaves.py: cannot be loaded .SystemExit: 0"),
        ("binary.py:Plain", "not a text file in UTF-8; it should be a Python file"),
    ],
)
def test_what_is_no_agent_is_refused(folder, reference, message):
    (folder / "broken.py").write_text("class Plain(:\n")
    (folder / "wrong.py").write_text("1 / 0\n")
    (folder / "leaves.py").write_text("import sys; sys.exit(0)\n")
    (folder / "binary.py").write_bytes(b"\xff")
    with pytest.raises(GoalwardError, match=message):
        agents.find(str(folder / reference))


def test_a_file_that_failed_can_be_mended(folder):
    (folder / "agent.py").write_text("1 / 0\n")
    with pytest.raises(FileError):
        agents.find(f"{folder}/agent.py:Plain")
    (folder / "agent.py").write_text((folder / "agents.py").read_text())
    assert agents.find(f"{folder}/agent.py:Plain").name == "Plain"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("x: float = math.inf", "x is inf; it must be a finite number"),
        ("x: set = field(default_factory=set)", r"x is set\(\); it must be a finite number"),
        (
            "x: int = field(default_factory=lambda: 1 / 0)",
            "the agent cannot be created .*own.py, line 6: ZeroDivisionError",
        ),
        (
            "def __post_init__(self): raise ValueError('no')",
            "the agent cannot be created .*own.py, line 6: ValueError: no",
        ),
        ("def __post_init__(self): sys.exit(0)", "the agent cannot be created .*own.py, line 6: SystemExit: 0"),
        ("def begin(self, task, rng): task.nothing", "the agent cannot be created .*own.py, line 6: AttributeError"),
        ("def begin(self): pass", "the agent cannot be created .*own.py: TypeError"),
    ],
)
def test_mistakes_of_a_class_are_named_with_the_line_of_the_study(folder, write_study, lines, message):
    head = "import math, sys\nfrom dataclasses import dataclass, field\nfrom goalward.agents import PSRL\n"
    (folder / "own.py").write_text(f"{head}@dataclass(eq=False)\nclass Own(PSRL):\n    {lines}\n")
    with pytest.raises(FileError, match=f"own.toml, line [0-9]+: {message}"):
        write_study("own.py:Own").check()


def test_threads_that_need_a_file_at_once_wait_for_it(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.3)\ndef make():\n    pass\n")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(load_member, [str(tmp_path / "slow.py:make")] * 4))
    assert len({id(function) for function in found}) == 1
