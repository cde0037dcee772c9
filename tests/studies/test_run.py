"""The door for Python: a study in, tables and a figure out."""

import csv
import math
import subprocess
import sys

import pytest

import goalward as gw
from goalward.errors import FileError, SettingError, UnknownNameError

STUDY = {
    "name": "small",
    "runs": 2,
    "episodes": 20,
    "worlds": [{"world": "grid-world", "label": "grid", "settings": {"rows": 2, "columns": 2}}],
    "agents": [{"agent": "psrl"}, {"agent": "uniform"}],
}


@pytest.fixture
def results(tmp_path):
    return gw.run(STUDY, tmp_path / "results", workers=1)


def test_a_study_becomes_tables(results, tmp_path):
    assert repr(results) == "Results('small': 4 of 4 runs)"
    runs = results.runs()
    assert [(row["world"], row["agent"], row["run"]) for row in runs] == [
        ("grid", agent, run) for agent in ("psrl", "uniform") for run in (0, 1)
    ]
    assert runs["regret"] == [float(each) for cell in results.cells for each in cell.finals["regret"]]
    summary = results.summary()
    assert summary["agent"] == ["psrl", "uniform"]
    assert summary["regret"][0] == pytest.approx(sum(runs["regret"][:2]) / 2)
    assert summary["regret_low"][0] < summary["regret"][0] < summary["regret_high"][0]
    assert results.summary(level=0.5)["regret_low"][0] > summary["regret_low"][0]
    runs.save(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert [float(row["regret"]) for row in csv.DictReader(file)] == runs["regret"]
    assert runs.arrow().column("gap_regret").to_pylist() == runs["gap_regret"]
    assert repr(runs).startswith("Table(4 rows: world, agent, episodes, run, truncated")
    assert runs.names == list(runs.rows[0])
    with pytest.raises(UnknownNameError, match="no column is called 'regrte'; did you mean 'regret'"):
        runs["regrte"]
    with pytest.raises(FileError, match=r"x\.csv: cannot be written"):
        runs.save(tmp_path / "runs.csv" / "x.csv")


def test_a_table_is_written_whole_or_not_at_all(results, tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    results.runs().save(path)
    before = path.read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(FileError, match="No space left on device"):
        results.summary().save(path)
    assert path.read_bytes() == before


def test_runs_that_were_cut_off_have_no_regret(tmp_path):
    found = gw.run(STUDY | {"max_steps": 5}, tmp_path, workers=1)
    assert all(found.runs()["truncated"])
    assert all(math.isnan(regret) for regret in found.runs()["regret"])
    assert found.runs().csv().splitlines()[1].split(",")[6:8] == ["", ""]


def test_a_figure_of_a_study(results):
    figure = gw.plot(results)
    assert figure.axes[0].get_title() == "grid"
    assert {"psrl", "uniform"} <= {text.get_text() for text in figure.axes[0].texts}, "names at the ends of lines"


def test_ways_to_name_a_study_and_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = gw.Study.from_dict(STUDY)
    (tmp_path / "small.toml").write_text(study.text)
    first = gw.run(study, workers=1)
    assert (tmp_path / "results" / "small" / "runs").is_dir()
    seen = []
    again = gw.run("small.toml", workers=1, watch=seen.append)
    assert not seen, "what is stored is not run again"
    assert again.runs().rows == first.runs().rows == gw.open_results("results/small").runs().rows


def test_missing_runs_are_a_warning(folder, write_study):
    study = write_study("agents.py:Raises", "uniform")
    with pytest.warns(UserWarning, match=r"2 of 4 runs are missing: Raises in grid: ValueError: no idea; see .*out"):
        found = gw.run(study, folder / "out", workers=1)
    assert found.runs()["agent"] == ["uniform"] * 2


def test_an_unguarded_script_is_told_what_to_do(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import goalward as gw\ngw.run({STUDY!r}, {str(tmp_path / 'out')!r}, workers=2)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = (
        "SettingError: the worker processes ended as soon as they had started; in a script, call goalward.run below if"
    )
    assert said in done.stderr


def test_what_is_no_study(tmp_path):
    with pytest.raises(SettingError, match="name: name is missing"):
        gw.run({}, tmp_path)
    with pytest.raises(UnknownNameError, match="no study is called 'growht'; did you mean 'growth'"):
        gw.run("growht", tmp_path)
