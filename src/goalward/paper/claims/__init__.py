"""Test the claims of the paper.

A test makes the runs that it needs and yields a finding for each claim. Claims that need the same runs share a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from goalward.errors import UnknownNameError
from goalward.paper.claims import experiments, lemmas, theorems
from goalward.paper.claims.claims import CLAIMS, Finding
from goalward.paper.claims.runs import RunSource
from goalward.progress import phase
from goalward.studies.store import Store
from goalward.studies.workers import open_workers

TESTS: dict[str, Callable[[RunSource], Iterator[Finding]]] = {
    "rivals": experiments.rivals,
    "ulcvi": experiments.ulcvi,
    "tuned": experiments.tuned,
    "withheld": experiments.withheld,
    "prior": experiments.priors,
    "resampling": experiments.resampling,
    "epochs": theorems.epochs,
    "theorem-1": theorems.theorem_1_claims,
    "theorem-2": theorems.theorem_2_claim,
    "lemmas": lemmas.lemmas,
    "posterior": lemmas.posterior,
}


def check_claims(folder: str | Path, *, only: Iterable[str] | None = None, workers: int | None = None) -> list[Finding]:
    """Test the claims of the paper.

    Parameters
    ----------
    folder
        A results folder; stored runs are not repeated.
    only
        The names of tests in `TESTS`; by default all tests.
    workers
        The number of processes; by default one for each core.
    """
    names = list(TESTS) if only is None else list(only)
    for name in names:
        if name not in TESTS:
            raise UnknownNameError("test of claims", name, TESTS)
    store, opened = Store.open(folder, create=True), open_workers(workers)
    source = RunSource(store, opened)
    findings: list[Finding] = []
    try:
        for number, name in enumerate(names, start=1):
            # Tests differ too much in length for an estimate of the time that is left.
            with phase(f"testing claims: {name}, test {number} of {len(names)}"):
                findings += TESTS[name](source)
    finally:
        opened.close()
    return sorted(findings, key=lambda finding: list(CLAIMS).index(finding.key))
