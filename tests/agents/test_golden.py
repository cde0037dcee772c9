"""Runs whose every step is fixed: a moved step is a bug, or a new version of the results."""

from __future__ import annotations

import json

import pytest
from golden_runs import FILE, RUNS, outcome

from goalward.studies.run_spec import RESULTS_VERSION

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))
TO_DO = (
    "if results are meant to move: raise RESULTS_VERSION in studies/run_spec.py, add a line under Results in"
    " CHANGELOG.md and run python tests/agents/golden_runs.py"
)
RECORD = "to record the runs of a new agent, or drop those of a removed one: python tests/agents/golden_runs.py"


def test_the_golden_runs_are_of_this_version_of_the_results() -> None:
    """So nobody writes them anew without a new version, nor raises the version and keeps old runs."""
    assert GOLDEN["results_version"] == RESULTS_VERSION, TO_DO
    assert GOLDEN["runs"].keys() == RUNS.keys(), RECORD


@pytest.mark.parametrize("run", sorted(RUNS))
def test_golden(run: str) -> None:
    assert run in GOLDEN["runs"], f"the run is not recorded; {RECORD}"
    assert outcome(run) == GOLDEN["runs"][run], f"the run has moved; {TO_DO}"
