"""What type checkers, editors and `help` see of agents, priors and worlds."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import goalward as gw
from goalward.agents.base import registry as agents
from goalward.settings import settings_of
from goalward.worlds.base import registry as worlds

CALLS = Path(__file__).with_name("calls_for_type_checkers.py")


def test_mypy_finds_the_wrong_calls_and_no_others() -> None:
    pytest.importorskip("mypy")
    root = CALLS.parents[1]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), str(CALLS)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    found = {int(line) for line in re.findall(rf"{CALLS.name}:(\d+): error", done.stdout)}
    lines = CALLS.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert found == wrong, done.stdout + done.stderr


def test_signatures_name_every_setting() -> None:
    for _, agent in agents:
        assert list(inspect.signature(agent).parameters) == list(settings_of(agent))
    for _, world in worlds:
        assert list(inspect.signature(world.build).parameters) == list(settings_of(world.build))
    assert str(inspect.signature(gw.agents.PSRL)).startswith("(prior: 'Prior | None' = None, perturb_costs: ")
    assert str(inspect.signature(gw.Dirichlet)).startswith("(concentration: 'Positive' = 0.1, support: ")
