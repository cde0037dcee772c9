"""The examples run, small."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import goalward as gw
from goalward import agents

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_learner_of_others_learns_in_a_world_of_ours() -> None:
    """NEAT: the evolved policy costs less than half as much as the uniformly random policy, which costs 42.09."""
    found = re.search(r"evolved policy: (\S+); of an optimal policy: 6\.036", run("evolve.py", "--generations", "4"))
    assert found is not None
    assert float(found[1]) < 21.0


def test_an_agent_and_a_study_of_ones_own(tmp_path: Path) -> None:
    study = gw.Study.load(EXAMPLES / "my_study.toml")
    assert "EpsilonGreedy" in {cell.agent.label for cell in study.design.cells}
    results = gw.run(study.replace(runs=1, episodes=10), tmp_path / "results", workers=1)
    assert results.count() == (len(study.design.cells),) * 2


def test_the_examples_come_with_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goalward.examples"]
    subprocess.run(command, check=True, cwd=tmp_path)
    for path in EXAMPLES.glob("*.*"):
        assert (tmp_path / "examples" / path.name).read_bytes() == path.read_bytes()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    message = "goalward: the folder examples already exists; run this command in another folder\n"
    assert (again.returncode, again.stderr) == (1, message)


def test_an_environment_in_a_policy_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's first block, word for word: its policy is within 5 % of the optimum of the hidden model."""
    monkeypatch.chdir(tmp_path)
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"^```python\n(import.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)[0], names)
    model = names["Warehouse"].model(give_up_cost=20.0)
    loaded = gw.load_policy("warehouse.policy")
    assert isinstance(loaded, gw.LearntPolicy)
    assert loaded.act(names["observation"]) == names["action"]
    cost = gw.evaluate(model, loaded.table).costs[model.initial_state]
    assert cost <= 1.05 * gw.solve(model).values[model.initial_state]
    trial = loaded.evaluate(names["env"], episodes=200, seed=1)
    assert trial.cost.low <= cost <= trial.cost.high
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import goalward as gw\n"
        "print(gw.load_policy('warehouse.policy').act({'position': [0, 0], 'boxes': [0, 0]}))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(answer) == names["action"], "another process, without Gymnasium"
    agents.save(names["run"].agent, "warehouse.agent")
    env = gw.Environment(names["Warehouse"](), goal=lambda step: step.info["is_success"], give_up_cost=20.0)
    resumed = gw.learn(agents.load("warehouse.agent"), env, episodes=30, seed=1, resume=True)
    assert resumed.costs.mean() < 1.5 * cost, "an agent that starts from scratch pays hundreds"


def test_the_plain_version_is_the_same_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same world, and two samples of regret from one distribution (Kolmogorov-Smirnov at level 0.001)."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    plain = importlib.import_module("psrl_in_numpy")
    world = gw.worlds.grid_world()
    P, costs = plain.grid_world()
    np.testing.assert_allclose(P, world.to_dense(), atol=1e-15)
    np.testing.assert_array_equal(costs, world.costs)
    theirs = [plain.psrl_ssp(P, costs, 0, 60, seed).sum() for seed in range(100)]
    ours = [gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, 60, seed).costs.sum() for seed in range(100)]
    assert ks_2samp(ours, theirs).pvalue > 0.001
    assert "regret" in run("psrl_in_numpy.py", "--episodes", "20", "--runs", "1")


def test_every_example_is_tried() -> None:
    """Models are solved on the pages, whose sessions are run; all else is run here."""
    files = [EXAMPLES.parent / "README.md", *(EXAMPLES.parent / "docs").rglob("*.md")]
    pages = "".join(path.read_text(encoding="utf-8") for path in files)
    shown = {path.name for path in EXAMPLES.iterdir() if f"$ goalward solve examples/{path.name}" in pages}
    run_here = {
        "evolve.py",
        "neat.ini",
        "dqn.py",
        "my_agent.py",
        "my_study.toml",
        "maze.txt",
        "warehouse.py",
        "psrl_in_numpy.py",
    }
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == shown | run_here


@pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="stable-baselines3 is not installed")
def test_dqn() -> None:
    assert "the optimum is 6.036" in run("dqn.py", "--steps", "1000")
