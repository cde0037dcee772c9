"""The state of a study as tables."""

import json
import os
import time
from pathlib import Path

import pytest

from goalward.cli.study import status_tables, working_notes
from goalward.studies.presence import active
from goalward.studies.status import Status, check_studies
from goalward.studies.store import Failure
from goalward.table import render
from made_up_results import cell_results, study


def test_failed_runs_are_named(write_study, run_here):
    _, store = run_here(write_study("agents.py:Raises", "uniform"))
    (status,) = check_studies(store)
    tables = status_tables([status])
    lines = render(tables).splitlines()
    assert f"2 runs failed; output and errors are in {store.folder / 'failed'}" in lines
    for failure in status.failures:
        row = ["grid", "Raises", str(failure.run), "ValueError:", "no", "idea", failure.path.name]
        assert row in [line.split() for line in lines]
    assert tables[2].data()[1]["record"] == str(status.failures[1].path)


def test_long_lists_and_long_errors_are_cut():
    failures = [Failure("one", "a", run, "word " * 100, Path(f"failed/{run}.json")) for run in range(500)]
    damaged = [(Path(f"damaged/{run}.parquet"), "cut short") for run in range(500)]
    design = study(cell_results("one", "a", 2.0)).design
    status = Status(design, [{"study": "made-up", "failed": 0}], 4, 4, failures, damaged)
    tables = status_tables([status])
    text = render(tables)
    assert len(text.splitlines()) < 70
    assert max(map(len, text.splitlines())) < 200
    assert text.count("and 480 more; --format json lists all") == 2
    assert len(tables[2].data()) == 500


@pytest.mark.parametrize(
    ("age", "notes"),
    [
        (5, ["processes now at work in this folder: 1 on far; 2 workers, 1 run in flight"]),
        (40, ["a process on far last reported 40 s ago; it may have been killed"]),
        (100, []),
    ],
)
def test_a_process_that_is_late_is_not_counted_as_at_work(tmp_path, age, notes):
    path = tmp_path / "active" / "x.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"host": "far", "pid": 1, "workers": 2, "keys": ["a"]}))
    os.utime(path, (time.time() - age, time.time() - age))
    assert working_notes(active(tmp_path)) == notes
