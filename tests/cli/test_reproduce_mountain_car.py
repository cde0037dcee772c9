"""`goalward reproduce --figure mountain-car` as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from goalward.paper import mountain_car_runs

Call = Callable[..., tuple[int, str, str]]


def test_the_figure_is_made_and_kept(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [driver for driver in mountain_car_runs.DRIVERS if driver.agent in ("tsde", "uniform")]
    monkeypatch.setattr(mountain_car_runs, "DRIVERS", tuple(chosen))
    arguments = ("reproduce", "--figure", "mountain-car", "--episodes", 2, "--out", tmp_path, "--workers", 1)
    code, out, err = call(*arguments)
    assert code == 0
    assert "uniformly random" in out
    assert "2 of 2" in out
    assert err.count("done: ") == 2
    assert (tmp_path / "mountain-car.png").exists()
    code, again, err = call(*arguments)
    assert (code, again, err) == (0, out, "")


def test_what_is_refused(call: Call) -> None:
    code, _, err = call("reproduce", "--figure", "montain-car")
    assert code == 2
    assert "no figure is called 'montain-car'; did you mean 'mountain-car'" in err
    code, _, err = call("reproduce", "--figure", "mountain-car", "--dask", "here")
    assert code == 2
    assert "leave --dask out" in err
