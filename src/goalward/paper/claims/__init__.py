"""Tests of the paper's claims, by name, and the function that runs them.

A test makes the runs that it needs and returns a finding for each claim; claims that need the same runs share a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from goalward.errors import UnknownNameError
from goalward.paper.claims import experiments, lemmas, theorems
from goalward.paper.claims.findings import Finding, Verdict
from goalward.paper.claims.runs import RunSource
from goalward.progress import phase
from goalward.studies.executors import open_workers
from goalward.studies.store import Store

__all__ = ["TESTS", "check_claims"]

TESTS: dict[str, Callable[[RunSource], Finding | list[Finding]]] = {
    "rivals": experiments.rival_findings,
    "ulcvi": experiments.ulcvi_finding,
    "tuned": experiments.tuned_finding,
    "withheld": experiments.withheld_finding,
    "prior": experiments.prior_finding,
    "resampling": experiments.resampling_finding,
    "epochs": theorems.epoch_findings,
    "theorem-1": theorems.theorem_1_findings,
    "theorem-2": theorems.theorem_2_finding,
    "lemmas": lemmas.lemma_findings,
    "posterior": lemmas.posterior_finding,
}
"""In the order of the table."""
DECIDED_QUICKLY = frozenset(
    {"withheld", "resampling", "decomposition", "first-term", "epochs", "bernstein", "posterior"}
)
"""Claims that a few runs decide: each run must fulfil them, or their test states its own probability of error."""


def check_claims(
    folder: str | Path,
    *,
    quick: bool = False,
    only: Iterable[str] | None = None,
    workers: int | None = None,
) -> list[Finding]:
    """Test the claims of the paper.

    Parameters
    ----------
    folder
        A results folder; runs that it holds are not run again.
    quick
        Take about a minute, with fewer runs and episodes. Claims that depend on their number are not decided then; a
        note gives the tendency.
    only
        The names of tests in `TESTS`; by default all of them.
    workers
        The number of processes; by default one for each core.
    """
    names = list(TESTS) if only is None else list(only)
    for name in names:
        if name not in TESTS:
            raise UnknownNameError("test of claims", name, TESTS)
    store = Store.open(folder, create=True)
    opened = open_workers(workers)
    source = RunSource(store, opened, quick=quick)
    try:
        findings: list[Finding] = []
        for number, name in enumerate(names, start=1):
            # Tests differ too much in length for an estimate of the time that is left.
            with phase(f"testing claims: {name}, test {number} of {len(names)}"):
                tested = TESTS[name](source)
            new = [tested] if isinstance(tested, Finding) else tested
            findings += [undecided(finding) if quick else finding for finding in new]
    except BaseException:
        opened.close(kill=True)
        raise
    opened.close()
    return findings


def undecided(finding: Finding) -> Finding:
    """Return what a quick test may say: a claim that depends on the size of the test is not decided."""
    if finding.key in DECIDED_QUICKLY or finding.verdict is Verdict.OPEN:
        return finding
    tendency = f"these runs point to '{finding.verdict.value}'; run without --quick to decide"
    return replace(finding, verdict=Verdict.OPEN, note=f"{finding.note}; {tendency}" if finding.note else tendency)
