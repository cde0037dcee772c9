"""The recipes for PRISM, Storm and planning domains do what they say; some need another tool."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import goalward as gw

HERE = Path(__file__).parent
PEER = HERE.parents[1] / ".venv-peers" / "bin" / "python"
needs_storm = pytest.mark.skipif(not PEER.exists(), reason="stormpy is not there: make .venv-peers/.installed")
PAGE = (HERE.parents[1] / "docs" / "how-to" / "read-prism-and-storm-models.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
BUILD, SOLVE, CHECK, SUCCESSORS, STORMVOGEL = BLOCKS


@needs_storm
def test_a_prism_program_through_stormpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = re.search(r":caption: slope.prism\n\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    (tmp_path / "slope.prism").write_text(program[1])
    subprocess.run([PEER, "-c", BUILD], check=True, capture_output=True)
    recipe: dict[str, Any] = {}
    exec(SOLVE, recipe)
    solution = recipe["solution"]
    done = subprocess.run([PEER, "-c", f"import stormpy\n{CHECK}"], check=True, capture_output=True, text=True)
    assert float(done.stdout.splitlines()[-1]) == pytest.approx(solution.values[0], rel=1e-6)
    again = gw.SSP.load("policy.umb")
    assert np.allclose(gw.solve(again).values, solution.values)
    assert len((tmp_path / "slope.csv").read_text().splitlines()) == recipe["ssp"].states + 1


class Corridor:
    """A domain with the methods of scikit-decide that the recipe calls: cells 0 to 4; a run may slip and stay."""

    def reset(self) -> int:
        return 4

    def is_goal(self, cell: int) -> bool:
        return cell == 0

    def get_applicable_actions(self, cell: int) -> Any:
        return SimpleNamespace(get_elements=lambda: ["walk", "run"] if cell > 1 else ["walk"])

    def get_next_state_distribution(self, cell: int, action: str) -> Any:
        outcomes = [(cell - 1, 1.0)] if action == "walk" else [(cell - 2, 0.5), (cell, 0.5)]
        return SimpleNamespace(get_values=lambda: outcomes)

    def get_transition_value(self, cell: int, action: str, after: int) -> Any:
        return SimpleNamespace(cost=1.0 if action == "walk" else 0.5)


def test_a_domain_through_its_successors() -> None:
    recipe: dict[str, Any] = {"domain": Corridor()}
    exec(SUCCESSORS, recipe)
    # Running takes two attempts of 0.5 for two cells, walking costs 1 a cell.
    assert recipe["solution"].values[0] == pytest.approx(2.0)
    assert recipe["policy"]["4"] == "run"
    assert recipe["policy"]["1"] == "walk"


@pytest.mark.skipif(importlib.util.find_spec("skdecide") is None, reason="scikit-decide is not installed")
def test_a_domain_of_scikit_decide() -> None:
    from skdecide.hub.domain.maze import Maze

    domain = Maze()
    recipe: dict[str, Any] = {"domain": domain}
    exec(SUCCESSORS, recipe)
    state, paid = domain.reset(), 0.0
    while not domain.is_goal(state):
        names = {str(action): action for action in domain.get_applicable_actions(state).get_elements()}
        outcome = domain.step(names[recipe["policy"][str(state)]])
        state, paid = outcome.observation, paid + outcome.value.cost
    assert paid == recipe["solution"].values[0]  # nothing is left to chance in a maze


@pytest.mark.skipif(importlib.util.find_spec("stormvogel") is None, reason="stormvogel is not installed")
def test_stormvogel_through_umb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import stormvogel
    from stormpy import build_model_from_umb
    from stormvogel.stormpy_utils.mapping import stormpy_to_stormvogel

    monkeypatch.chdir(tmp_path)
    model = stormvogel.new_mdp()
    goal, start = model.new_state("goal"), model.initial_state
    start.set_choices(
        {model.action("walk"): [(0.5, goal), (0.5, start)], model.action("crawl"): [(0.25, goal), (0.75, start)]}
    )
    model.add_self_loops()
    model.new_reward_model("cost").set_unset_rewards(1)
    recipe: dict[str, Any] = {"gw": gw, "model": model}
    exec(STORMVOGEL, recipe)
    solution = gw.solve(recipe["ssp"])
    assert solution.values.tolist() == [2.0]
    assert recipe["ssp"].action_names[solution.policy[0]] == "walk"
    chain = stormpy_to_stormvogel(build_model_from_umb("policy.umb"))
    assert (chain.nr_states, chain.nr_choices) == (2, 2)
