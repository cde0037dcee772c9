from dataclasses import replace

import pytest

from goalward.paper.reproduce import PUBLISHED, published_table
from goalward.results.summary import summary_table
from goalward.statistics import Interval
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
    assert set(PUBLISHED["theory"]) == set(PUBLISHED["tuned"])
    assert len(PUBLISHED["theory"]) == 10


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
    assert found[-1] == "* goalward reproduce --regime tuned compares the tuned regime"


def test_values_that_only_a_wide_interval_meets_are_counted_separately():
    found = lines(Interval(200_000.0, 30_000.0, 370_000.0, 10))
    assert found[2].endswith("0.55   no, but in our interval")
    assert found[4] == "* 0 of 1 within a quarter of the published value, 1 more only by our interval"
