"""Agents compared in one call: on models, on users' environments, in this process and over processes."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward.errors import GoalwardError
from goalward.results.summary import compare as compare_pairs
from goalward.studies.store import Store
from processes import wait_until

ENVIRONMENT = '''
import gymnasium
import goalward as gw
from own_cost import COST

class Walk(gymnasium.Env):
    """Six places; action 1 leads on with probability 0.8, action 0 back to the first."""
    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place = 0 if action == 0 else self.place + int(self.np_random.random() < 0.8)
        return self.place, -COST, self.place == 5, False, {}

def make_env():
    return gw.Environment(Walk(), goal="terminated", cost=COST)
'''
SCRIPT = """
import goalward as gw
from own_env import make_env

if __name__ == "__main__":
    agents = {"psrl": gw.agents.PSRL(), "q-learning": gw.agents.QLearning()}
    results = gw.compare(agents, make_env, episodes=300, runs=12, seed=3, folder="results", workers=2)
    print(results)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, also the current one, with an environment in a file that imports another file."""
    (tmp_path / "own_env.py").write_text(ENVIRONMENT)
    (tmp_path / "own_cost.py").write_text("COST = 1.0\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def data(folder: Path) -> dict[tuple[str, int], str]:
    store = Store.open(folder)
    return {
        (cell.agent.label, run): store.read(key).document["data_sha256"]
        for cell in store.design().cells
        for run, key in enumerate(store.design().keys(cell))
    }


def test_killed_over_processes_a_comparison_resumes_and_ends_the_same(own: Path) -> None:
    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "script.py"], stdout=-1, stderr=-1, text=True, cwd=own)

    process = start()
    wait_until(lambda: list(own.glob("results/runs/*/*.parquet")), process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    process = start()
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "Results('comparison': 24 of 24 runs)\n"), err
    study = {
        "name": "comparison", "seed": 3, "runs": 12, "episodes": 300,
        "worlds": [{"world": "own_env.py:make_env"}],
        "agents": [{"agent": "psrl"}, {"agent": "q-learning"}],
    }  # fmt: skip
    gw.run(study, own / "whole", workers=1)
    assert data(own / "results") == data(own / "whole")


def test_costs_stand_where_no_model_is_known(own: Path) -> None:
    # From the same seed, a run of the study is the run of `learn` in a fresh environment.
    agents = {"psrl": gw.agents.PSRL(), "uniform": "uniform"}
    results = gw.compare(agents, "own_env.py:make_env", episodes=60, runs=4, workers=1)
    cells = results.cells
    for cell, kind in zip(cells, (gw.agents.PSRL, gw.agents.Uniform), strict=True):
        for run, spec in enumerate(results.design.specs(cell.cell)):
            expected = gw.learn(kind(), gw.worlds.load_world("own_env.py:make_env"), 60, spec.seed)
            np.testing.assert_array_equal(cell.curves["cost"][run], expected.costs)
            assert cell.values["cost"][run] == expected.costs.mean()
    table = results.summary()
    assert "cost per episode" in table.headings
    assert "regret" not in table.headings
    difference = cells[1].values["cost"] - cells[0].values["cost"]
    assert compare_pairs(results, "uniform", "psrl", "cost")["make_env"].difference.value == difference.mean()
    assert any(note.startswith("uniform minus psrl, run by run: cost per episode") for note in table.notes)
    assert gw.plot(results).axes[0].get_ylabel() == "cost of the episode"
    assert results.folder is None


def test_an_edit_of_an_imported_file_makes_new_runs(own: Path, run_python) -> None:
    code = f"""
import os, goalward as gw
os.chdir({str(own)!r})
results = gw.compare({{"uniform": "uniform"}}, "own_env.py:make_env", episodes=20, runs=2, workers=1, folder="kept")
print(*results.runs()["cost"])
"""
    first = [float(cost) for cost in run_python(code).split()]
    (own / "own_cost.py").write_text("COST = 3.0\n")
    assert [float(cost) for cost in run_python(code).split()] == pytest.approx([3.0 * cost for cost in first])
    (own / "own_cost.py").write_text("COST = 1.0\n")
    assert [float(cost) for cost in run_python(code).split()] == first
    assert len(list(own.glob("kept/runs/*/*.parquet"))) == 4


def test_what_only_this_process_knows_runs_here(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = gw.worlds.grid_world(2, 2)
    agents = {"psrl": gw.agents.PSRL(gw.Dirichlet(0.5)), "uniform": gw.agents.Uniform()}
    results = gw.compare(agents, lambda: world, episodes=40, runs=3, folder=own / "results")
    assert len([line for line in capsys.readouterr().err.splitlines() if "runs in this process" in line]) == 1
    assert not (own / "results").exists()
    again = gw.compare(agents, lambda: world, episodes=40, runs=3)
    assert results.runs()["cost"] == again.runs()["cost"]
    for cell, agent in zip(results.cells, agents.values(), strict=True):
        for run, spec in enumerate(results.design.specs(cell.cell)):
            assert cell.values["regret"][run] == gw.learn(agent, world, 40, spec.seed).regret[-1]


def test_a_model_is_compared_like_the_world_it_comes_from(own: Path) -> None:
    world = gw.worlds.grid_world(2, 2)
    results = gw.compare({"a": gw.agents.PSRL(), "b": gw.agents.PSRL()}, world, episodes=30, runs=3, workers=1)
    row, other = results.summary().rows
    assert row["regret"] == other["regret"]
    assert not math.isnan(row["regret"].value)
    assert results.summary().notes[0] == "b minus a, run by run: gap regret 0, p = 1"


@pytest.mark.parametrize(
    ("agents", "world", "message"),
    [
        ({}, "grid-world", "agents is {}; it must be a dict of agents, such as"),
        (
            {"a": gw.agents.PSRL(gw.FinitePrior([gw.worlds.grid_world()]))},
            "grid-world",
            "the settings of a contain models, which a study file cannot hold",
        ),
        ({"a": gw.agents.PSRL}, "grid-world", "a is .*PSRL.*; it must be an agent"),
        ({"a": "psrl"}, gw.Environment(gw.to_gymnasium(gw.worlds.grid_world())), "pass a function that returns"),
        ({"a": "psrl"}, gw.to_gymnasium(gw.worlds.grid_world()), "pass a function that returns a new world"),
        ({"a": "psrl"}, "Taxi-v9", "did you mean 'Taxi-v4'"),
    ],
)
def test_what_cannot_be_compared(agents: object, world: object, message: str) -> None:
    with pytest.raises(GoalwardError, match=message):
        gw.compare(agents, world, episodes=2, runs=1, workers=1)  # type: ignore[arg-type]
