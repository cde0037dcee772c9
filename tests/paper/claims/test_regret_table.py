"""Regrets beside the bound of Theorem 1, on a small study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goalward import hardness, worlds
from goalward.errors import TheoryError
from goalward.paper.claims.runs import RunSource
from goalward.paper.claims.theorems import regret_rows, regret_table, stored_regret_rows
from goalward.statistics import Interval
from goalward.studies.executors import ThisProcess
from goalward.studies.store import Store
from goalward.theory.regret_bounds import theorem_1

STUDY = """
name = "small"
max_steps = 1_000_000
[[worlds]]
world = "random-mdp-v1"
settings = { cost_min = 0.5 }
sweep = { states = [2, 6] }
draw = "seed"
[[agents]]
agent = "psrl"
"""


def test_rows_hold_regret_and_both_terms(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    source = RunSource(Store.open(tmp_path / "results", create=True), ThisProcess(), quick=True)
    results = source.results(str(tmp_path / "small.toml"), runs=3, episodes=60)
    rows = regret_rows(results, [20, 60, 600])
    assert [(row["S"], row["A"], row["K"]) for row in rows] == [(2, 2, 20), (2, 2, 60), (6, 2, 20), (6, 2, 60)]
    specs = results.design.specs(results.cells[0].cell)
    hard = [hardness(worlds.make(spec.world["id"], **spec.world["settings"])) for spec in specs]
    assert rows[1]["mean_B_star"] == pytest.approx(np.mean([each.B_star for each in hard]))
    expected = [theorem_1(2, 2, 60, each.B_star, each.c_min) for each in hard]
    assert rows[1]["main_term"] == pytest.approx(np.mean([bound.main for bound in expected]))
    assert rows[1]["lower_order"] == pytest.approx(np.mean([bound.lower_order for bound in expected]))
    assert rows[1]["regret"].value == pytest.approx(results.cells[0].finals["gap_regret"].mean())
    # Seventy-two episodes would be needed for six states.
    assert rows[3]["main_term"] is rows[3]["ratio"] is None
    text = regret_table(rows).markdown().splitlines()
    assert text[5].startswith("| 6 | 2 | 60 |")
    assert text[-1] == "* rows with K &lt; S² A have no bound"


def test_the_longest_runs_of_a_folder(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "results", create=True)
    with pytest.raises(TheoryError, match="no runs of Theorem 1; goalward claims --only theorem-1 makes them"):
        stored_regret_rows(store)
    source = RunSource(store, ThisProcess(), quick=True)
    for episodes in (20, 60):
        (tmp_path / "small.toml").write_text(STUDY.replace("small", "claims-theorem"))
        results = source.results(str(tmp_path / "small.toml"), runs=2, episodes=episodes)
    assert stored_regret_rows(store) == regret_rows(results, [3, 15, 60])


def test_k_is_the_episode_at_which_the_regret_is_read(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY.replace("[2, 6]", "[2]"))
    source = RunSource(Store.open(tmp_path / "results", create=True), ThisProcess(), quick=True)
    results = source.results(str(tmp_path / "small.toml"), runs=2, episodes=60)
    (cell,) = results.cells
    regrets = cell.curves["gap_regret"].copy()
    # Episodes 20 and 21 are no points of the curve.
    kept = ~np.isin(cell.points, (20, 21))
    thin = replace(cell, points=cell.points[kept], curves={"gap_regret": regrets[:, kept]})
    rows = regret_rows(replace(results, cells=[thin]), [19, 20, 22])
    assert [row["K"] for row in rows] == [19, 19, 22]
    assert rows[1]["main_term"] == rows[0]["main_term"]
    assert [row["regret"].value for row in rows] == pytest.approx(regrets[:, [18, 18, 21]].mean(axis=0))


def test_regrets_beside_the_bound() -> None:
    size = {"S": 2, "A": 3, "K": 1000, "mean_B_star": 4.5678, "regret": Interval(12.34, 10.0, 15.0, 5)}
    row = size | {"main_term": 1234.5, "lower_order": 100.0, "ratio": 12.34 / 1334.5}
    text = regret_table([row]).markdown().splitlines()
    assert text[2] == "| 2 | 3 | 1,000 | 4.57 | 12.3 [10, 15] | 1.2e+03 | 1e+02 | 9.2e-03 |"
