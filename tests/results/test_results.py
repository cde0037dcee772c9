"""Stored runs as arrays."""

import re

import numpy as np
import pytest

from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.results.measures import checked_measure
from goalward.results.results import curve_points, load_results, named
from goalward.studies import run_file as record
from goalward.studies.rerun import rerun
from goalward.studies.study import Study


def test_curves_are_those_of_the_runs(folder, run_here):
    study = Study.load(folder / "small.toml")
    _, store = run_here(study)
    found = load_results(store, study.design)
    assert found.agents() == ["uniform", "psrl"]
    assert list(found.worlds()) == ["grid", "drawn"]
    for cell in found.cells:
        assert cell.points.tolist() == list(range(1, 31))
        for run in range(3):
            _, again = rerun(study.design.spec(cell.cell, run))
            assert np.array_equal(cell.curves["regret"][run], again.regret)
            assert np.array_equal(cell.curves["gap_regret"][run], again.gap_regret)
            assert cell.finals["regret"][run] == again.regret[-1]
            assert cell.values["steps"][run] == again.total_steps
        assert cell.ended_by["EPISODES"] == 3


def test_long_runs_are_read_where_they_were_recorded(folder, run_here, monkeypatch):
    monkeypatch.setattr(record, "MOST_EPISODES", 20)
    monkeypatch.setattr(record, "GRID_POINTS", 12)
    study = Study.load(folder / "small.toml")
    _, store = run_here(study)
    cell = load_results(store, study.design).cells[0]
    assert 5 < len(cell.points) <= 12
    _, again = rerun(study.design.spec(cell.cell, 0))
    assert np.array_equal(cell.curves["regret"][0], again.regret[cell.points - 1])


def test_runs_that_were_cut_off_have_no_end(write_study, run_here):
    study = write_study("uniform", extra="max_steps = 10")
    _, store = run_here(study)
    (cell,) = load_results(store, study.design).cells
    assert cell.truncated.all()
    assert not cell.complete.any()
    assert np.isnan(cell.finals["regret"]).all()
    for run in range(2):
        done = cell.episodes_done[run]
        assert done < 5
        assert np.isfinite(cell.curves["regret"][run, :done]).all()
        assert np.isnan(cell.curves["regret"][run, done:]).all()


def test_what_is_not_there_is_named(write_study, run_here):
    study = write_study("uniform", "agents.py:Raises", "psrl")
    _, store = run_here(study)
    uniform, _, psrl = (study.design.keys(cell) for cell in study.design.cells)
    store.path(uniform[1]).unlink()
    store.path(psrl[0]).write_bytes(b"rubbish")
    cells = load_results(store, study.design).cells
    assert [(cell.missing, cell.failed, cell.damaged) for cell in cells] == [
        ([1], [], []),
        ([], [0, 1], []),
        ([], [], [0]),
    ]
    assert [cell.runs.tolist() for cell in cells] == [[0], [], [1]]
    assert cells[1].curves["regret"].shape == (0, 5)


@pytest.mark.parametrize("episodes", [1, 2, 400, 10_000, 10**6])
def test_points_of_curves(episodes):
    points = curve_points(episodes)
    assert points[0] == 1
    assert points[-1] == episodes
    assert (np.diff(points) > 0).all()
    assert len(points) <= 800


def test_names_that_are_none(folder, run_here):
    study = Study.load(folder / "small.toml")
    _, store = run_here(study)
    found = load_results(store, study.design)
    assert named(found, "psrl") == "psrl"
    with pytest.raises(UnknownNameError, match="no agent in small is called 'prsl'; did you mean 'psrl'"):
        named(found, "prsl")
    with pytest.raises(SettingError, match="measure is 'coast'; it must be one of regret, gap_regret, cost"):
        checked_measure("coast")


@pytest.mark.parametrize(
    ("extra", "agent_extra", "message"),
    [
        ("", "worlds = []", "line 11: worlds is []; it must have at least 1 item"),
        ("episodes = [5, 7]", "", "line 3: episodes is [5, 7]; it must be a valid integer"),
    ],
)
def test_studies_without_results_or_with_the_same_twice_are_refused(tmp_path, extra, agent_extra, message):
    lines = ['name = "none"', "runs = 2", extra, "", "[[worlds]]", 'world = "grid-world"', 'label = "grid"', ""]
    lines += ["[[agents]]", 'agent = "uniform"', agent_extra]
    (tmp_path / "none.toml").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=re.escape(message)):
        Study.load(tmp_path / "none.toml")
