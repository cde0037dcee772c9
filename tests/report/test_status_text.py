"""How far a study is, and which of its runs failed."""

import json
from pathlib import Path

import pytest

from goalward.execution.runner import Failure
from goalward.report.documents import json_text
from goalward.report.status_text import status_document, status_text, stored_failures
from goalward.results.results import load_results
from made_up_results import cell_results, study


@pytest.fixture
def failed(write_study, run_here):
    """Return the store and the results of a study in which two of four runs fail."""
    _, store = run_here(write_study("agents.py:Raises", "uniform"))
    return store, load_results(store, store.design())


def test_failed_runs_are_named(failed):
    store, results = failed
    failures = stored_failures(store, results)
    assert [(each.world, each.agent, each.run, each.error) for each in failures] == [
        ("grid", "Raises", 0, "ValueError: no idea"),
        ("grid", "Raises", 1, "ValueError: no idea"),
    ]
    lines = status_text(results, failures).splitlines()
    assert f"2 runs failed; their tracebacks are in {store.folder / 'failed'}" in lines
    for failure in failures:
        row = ["grid", "Raises", str(failure.run), "ValueError:", "no", "idea", failure.path.name]
        assert row in [line.split() for line in lines]
        assert json.loads(failure.path.read_text())["error"] == failure.error
    document = json.loads(json_text(status_document(results, failures)))
    assert document["failures"][1]["record"] == str(failures[1].path)


def test_long_lists_and_long_errors_are_cut():
    results = study(cell_results("one", "a", 2.0))
    failures = [Failure("one", "a", run, "word " * 100, Path(f"failed/{run}.json")) for run in range(500)]
    damaged = [(Path(f"damaged/{run}.parquet"), "cut short") for run in range(500)]
    text = status_text(results, failures, damaged)
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) < 200
    assert "and 480 more; goalward status --json lists all" in text
    assert "and 480 more files" in text
    assert len(status_document(results, failures, damaged)["failures"]) == 500
