"""The mountain-car experiment, small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import goalward as gw
from goalward.errors import UnknownNameError
from goalward.paper.mountain_car_runs import DRIVERS, Board, CarRun, drive, drive_all
from goalward.seeds import run_seed


def test_runs_are_those_of_learn_and_are_kept(tmp_path: Path) -> None:
    done: list[CarRun] = []
    settings = {"only": ["bernstein-ssp", "uniform"], "workers": 1, "watch": done.append, "max_steps": 40_000}
    runs = drive_all(tmp_path, 3, 2, **settings)
    assert [(run.agent, run.number) for run in runs] == [
        ("bernstein-ssp", 0), ("bernstein-ssp", 1), ("uniform", 0), ("uniform", 1),
    ]  # fmt: skip
    assert len(done) == 4
    expected = gw.learn(
        gw.agents.make("bernstein-ssp"), gw.worlds.SSPMountainCar(), 3, run_seed(0, "mountain-car", 0), max_steps=40_000
    )
    assert runs[0].costs
    assert runs[0].costs == expected.costs[expected.reached].tolist()
    assert runs[0].averages.tolist() == pytest.approx(
        [sum(runs[0].costs[:k]) / k for k in range(1, len(runs[0].costs) + 1)]
    )
    again = drive_all(tmp_path, 3, 2, **settings)
    assert len(done) == 4
    assert [run.costs for run in again] == [run.costs for run in runs]


def test_a_file_that_asks_for_something_else_is_carried_out_again(tmp_path: Path) -> None:
    done: list[CarRun] = []
    settings = {"only": ["uniform"], "workers": 1, "watch": done.append}
    drive_all(tmp_path, 1, max_steps=200, **settings)
    assert done[-1].truncation == "max_steps ended the run"
    assert done[-1].costs == []
    drive_all(tmp_path, 1, max_steps=300, **settings)
    (tmp_path / "uniform-0.json").write_text("no JSON")
    drive_all(tmp_path, 1, max_steps=300, **settings)
    (tmp_path / "uniform-0.json").write_text(json.dumps({"version": 0}))
    drive_all(tmp_path, 1, max_steps=300, **settings)
    assert len(done) == 4


def test_agents_of_the_figure(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no agent of this figure is called 'ulcv'; did you mean 'ulcvi'"):
        drive_all(tmp_path, 1, only=["ulcv"])


def test_a_run_notes_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "board"
    path.write_bytes(bytes(2 * 2 * 8))
    run = drive(DRIVERS[-1], 0, 3, 5_000, (str(path), 2), 1)
    counts = Board(str(path), 2).counts
    assert counts[0].tolist() == [0, 0]
    assert counts[1].tolist() == [len(run.costs), run.steps]
