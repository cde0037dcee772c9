"""Agents in users' files."""

import pytest

from goalward.errors import FileError, GoalwardError
from goalward.experiments.agent_files import load_class, read_agent_file


def test_a_class_becomes_an_agent(folder):
    kind = load_class(read_agent_file("agents.py:Plain", folder))
    assert kind.name == "Plain"
    assert kind(action=2).settings() == {"action": 2}
    assert load_class(read_agent_file("agents.py:Plain", folder)) is kind


def test_classes_of_one_file_keep_their_own_names(folder):
    names = [load_class(read_agent_file(f"agents.py:{name}", folder)).name for name in ("Plain", "Raises", "Leaves")]
    assert names == ["Plain", "Raises", "Leaves"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("agents.py:Plan1", "no class in .*agents.py is called 'Plan1'; did you mean 'Plan'?"),
        ("agents.py:NoAgent", "NoAgent in .*agents.py is no agent; derive it from goalward.agents.Agent"),
        ("agents.py:os", "os in .*agents.py is no agent"),
        ("missing.py:Plain", "missing.py: No such file or directory"),
        ("agents.py", "'agents.py' names no class in a file; write file.py:Class"),
        ("agents.py:a b", "names no class in a file"),
        ("broken.py:Plain", "broken.py: cannot be loaded .SyntaxError"),
        ("wrong.py:Plain", "wrong.py: cannot be loaded .ZeroDivisionError: division by zero"),
        ("binary.py:Plain", "not a Python file in UTF-8"),
    ],
)
def test_what_is_no_agent_is_refused(folder, reference, message):
    (folder / "broken.py").write_text("class Plain(:\n")
    (folder / "wrong.py").write_text("1 / 0\n")
    (folder / "binary.py").write_bytes(b"\xff")
    with pytest.raises(GoalwardError, match=message):
        load_class(read_agent_file(reference, folder))


def test_a_file_that_failed_can_be_mended(folder):
    (folder / "agent.py").write_text("1 / 0\n")
    with pytest.raises(FileError):
        load_class(read_agent_file("agent.py:Plain", folder))
    (folder / "agent.py").write_text((folder / "agents.py").read_text())
    assert load_class(read_agent_file("agent.py:Plain", folder)).name == "Plain"
