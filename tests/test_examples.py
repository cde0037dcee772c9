"""The examples run, small."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_learner_of_others_learns_in_a_world_of_ours() -> None:
    """NEAT: the policy costs less than half of what the uniformly random one does, 42.09."""
    found = re.search(r"costs (\S+) from the start; the optimum is 6\.036", run("evolve.py", "--generations", "4"))
    assert found is not None
    assert float(found[1]) < 21.0


@pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="stable-baselines3 is not installed")
def test_dqn() -> None:
    assert "the optimum is 6.036" in run("dqn.py", "--steps", "1000")
