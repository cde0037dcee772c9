"""The figure and the table of the mountain-car experiment."""

from __future__ import annotations

from pathlib import Path

from goalward.figures.mountain_car import car_figure, car_table, publish_car
from goalward.paper.mountain_car_runs import CarRun

RUNS = [
    CarRun("PSRL-SSP", "psrl", "psrl", 0, 4, 900, 900, 1.0, "max_steps ended the run", [300.0, 100.0]),
    CarRun("ULCVI", "ulcvi", "ulcvi", 0, 4, 900, 400, 2.0, "", [100.0, 50.0, 150.0, 100.0]),
    CarRun("UC-SSP", "uc-ssp", "uc-ssp", 0, 4, 900, 900, 3.0, "max_steps ended the run", []),
]


def test_the_figure_shows_the_averages_and_where_runs_were_ended() -> None:
    (axes,) = car_figure(RUNS).axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["PSRL-SSP"].get_ydata().tolist() == [300.0, 200.0]
    assert lines["ULCVI"].get_ydata().tolist() == [100.0, 75.0, 100.0, 100.0]
    assert "UC-SSP" not in lines
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [2]


def test_the_table_says_what_is_missing(tmp_path: Path) -> None:
    text = car_table(RUNS)
    assert "2 of 4" in text
    assert "PSRL-SSP, run 0: max_steps ended the run" in text
    assert "UC-SSP, run 0: max_steps ended the run" in text
    assert "published for PSRL-SSP: from about 3,000 to about 250" in text
    shown = publish_car(RUNS, tmp_path)
    for name in ("mountain-car.png", "mountain-car.svg", "mountain-car.md"):
        assert (tmp_path / name).stat().st_size > 0
        assert name in shown
