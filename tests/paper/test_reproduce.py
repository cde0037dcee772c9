from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goalward import SSP, Study, run, worlds
from goalward.formatting import Interval
from goalward.paper.reproduce import AGENTS, instances_table, is_myopic, published_table
from goalward.results.summary import summary_table
from made_up_results import cell_results, study


def lines(here: Interval) -> list[str]:
    """Return the table of one made-up regret of ULCVI on GridWorld, of which 361,000 is published."""
    cell = cell_results("GridWorld", "ULCVI", 2.0)
    summary = summary_table(study(replace(cell, cell=replace(cell.cell, episodes=10_000))))
    table = published_table(replace(summary, rows=[{**summary.rows[0], "regret": here}]), "theory")
    assert table is not None
    return table.text().splitlines()


def test_only_runs_of_the_published_length_are_compared():
    assert published_table(summary_table(study(cell_results("GridWorld", "ULCVI", 2.0))), "theory") is None


@pytest.mark.parametrize(
    ("value", "half", "row", "count"),
    [
        (451_000.0, 1_000.0, "GridWorld ULCVI 451,000 ± 1,000 361,000 1.25 yes", "1 of 1 within a quarter"),
        (452_000.0, 1_000.0, "GridWorld ULCVI 452,000 ± 1,000 361,000 1.25 no", "0 of 1 within a quarter"),
        (270_000.0, 1_000.0, "GridWorld ULCVI 270,000 ± 1,000 361,000 0.75 no", "0 of 1 within a quarter"),
        (200_000.0, float("nan"), "GridWorld ULCVI 200,000 361,000 0.55 no", "0 of 1 within a quarter"),
    ],
)
def test_the_published_values_stand_beside_ours_with_a_verdict(value, half, row, count):
    found = lines(Interval(value, value - half, value + half, 10))
    assert " ".join(found[2].split()) == row
    assert found[4] == f"* {count} of the published value"
    assert found[-1].startswith("* goalward reproduce --regime tuned compares the tuned regime")


def test_values_that_only_a_wide_interval_meets_are_counted_separately():
    found = lines(Interval(200_000.0, 30_000.0, 370_000.0, 10))
    assert found[2].endswith("0.55   no, but in our interval")
    assert found[4] == "* 0 of 1 within a quarter of the published value, 1 more only by our interval"


def test_the_fitted_instance_is_myopic():
    """Checked by hand on two states: waiting is cheaper now, and more expensive in the end."""
    assert is_myopic(worlds.random_mdp())
    P = np.array([[[0.9, 0.0, 0.1], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    assert not is_myopic(SSP.from_dense(P, [[0.5, 1.0], [1.0, 2.0]]))
    assert is_myopic(SSP.from_dense(P, [[0.05, 1.0], [1.0, 2.0]]))


def test_places_on_drawn_instances(tmp_path: Path):
    study = Study.load("paper-instances").replace(runs=12, episodes=40)
    results = run(study, tmp_path, workers=1)
    table = instances_table(results)
    seeds = [spec.world["settings"]["seed"] for spec in study.design.specs(study.design.cells[0])]
    kept = [number for number, seed in enumerate(seeds) if not is_myopic(worlds.random_mdp(seed=seed))]
    assert 5 < len(kept) < 12
    assert table.notes[0].startswith(f"{len(kept)} of 12 instances")
    assert table["agent"] == list(AGENTS[::-1])
    regrets = {row["agent"]: [] for row in table}
    for row in results.runs():
        if row["run"] in kept:
            regrets[row["agent"]].append(row["gap_regret"])
    lowest = [min(regrets, key=lambda agent: regrets[agent][index]) for index in range(len(kept))]
    assert table["place_1"] == [lowest.count(agent) for agent in AGENTS[::-1]]
    assert table["median_gap_regret"] == pytest.approx([np.median(regrets[agent]) for agent in AGENTS[::-1]])
