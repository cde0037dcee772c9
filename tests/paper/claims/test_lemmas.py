"""The lemmas on real runs, and on numbers for which they would be false."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import GivenSource, SmallSource

from goalward.beliefs.dirichlet import Dirichlet
from goalward.formatting import with_range
from goalward.paper.claims import lemmas
from goalward.paper.claims.findings import Finding, Verdict
from goalward.paper.claims.lemmas import Examination, examine
from goalward.statistics import mean_interval

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN


@pytest.fixture(scope="module")
def drawn() -> list[Examination]:
    return [examine(None, 60, seed) for seed in range(8)]


@pytest.fixture(scope="module")
def fixed() -> list[Examination]:
    return [examine(name, 60, 0) for name in ("GridWorld", "RandomMDP")]


def with_terms(each: Examination, **terms: Any) -> Examination:
    return replace(each, terms=replace(each.terms, **terms))


Test = Callable[[list[Examination]], Finding]
Change = Callable[[Examination], Examination]


def coverage(found: list[Examination]) -> Finding:
    return lemmas.coverage_finding(found, found, "")


# Each lemma, and a change of the measured runs that makes it false.
LEMMAS: dict[str, tuple[Test, Change]] = {
    "decomposition": (
        lambda found: lemmas.decomposition_finding(found, ""),
        lambda each: with_terms(each, R1=each.terms.R1 + 1e-3 * each.terms.total_cost),
    ),
    "first term": (
        lambda found: lemmas.first_term_finding(found, ""),
        lambda each: with_terms(each, R1=1.01 * each.terms.bound),
    ),
    "second term": (
        lambda found: lemmas.second_term_finding(found, ""),
        lambda each: with_terms(each, R2=each.terms.bound + abs(each.terms.R2) + 1.0),
    ),
    "third term": (
        lambda found: lemmas.third_term_finding(found, ""),
        lambda each: with_terms(each, R3=2.0 * each.third),
    ),
    "number of epochs": (
        lambda found: lemmas.epochs_finding(found, ""),
        lambda each: replace(each, count=replace(each.count, L=int(each.count.bound) + 1)),
    ),
    "doubling": (
        lambda found: lemmas.epochs_finding(found, ""),
        lambda each: replace(each, invariants=replace(each.invariants, doubling=False)),
    ),
    "coverage": (coverage, lambda each: replace(each, cover=replace(each.cover, true_misses=each.cover.checks))),
    "number of intervals": (
        lambda found: lemmas.intervals_finding(found, ""),
        lambda each: replace(each, intervals=replace(each.intervals, bound=each.intervals.M - 1.0)),
    ),
    "variance": (
        lambda found: lemmas.intervals_finding(found, ""),
        lambda each: replace(each, loose=replace(each.loose, variances=np.full(each.loose.M, 50.0 * each.loose.B**2))),
    ),
}


@pytest.mark.parametrize("name", LEMMAS)
def test_lemmas_hold_on_real_runs_and_could_fail(name: str, drawn: list[Examination], fixed: list[Examination]) -> None:
    test, change = LEMMAS[name]
    found = drawn if name in ("second term", "third term") else [*drawn, *fixed]
    assert test(found).verdict is HOLDS
    assert test([change(each) for each in found]).verdict is FAILS


def test_figures_are_those_of_the_runs(drawn: list[Examination]) -> None:
    worst = max(each.terms.R1 / (each.terms.B * each.terms.L) for each in drawn)
    assert lemmas.first_term_finding(drawn, "").figure == f"largest R1 / (B L) is {worst:.3g}"
    R2 = mean_interval(np.array([each.terms.R2 for each in drawn]))
    assert f"mean R2 {with_range(R2)}" in lemmas.second_term_finding(drawn, "").figure


def test_two_worlds_do_not_decide_about_a_mean(drawn: list[Examination]) -> None:
    wide = [with_terms(each, R2=each.terms.bound * factor) for each, factor in zip(drawn, (0.0, 1.5), strict=False)]
    assert lemmas.second_term_finding(wide, "").verdict is OPEN


def test_one_finding_for_each_lemma(tmp_path: Path) -> None:
    found = lemmas.lemma_findings(SmallSource(tmp_path, 2, 60))
    keys = ["decomposition", "first-term", "second-term", "third-term", "epochs", "bernstein", "intervals"]
    assert [each.key for each in found] == keys
    assert found[2].ran == "2 worlds drawn from the prior, K=60"
    assert found[0].ran == "2 worlds drawn from the prior, K=60; GridWorld and RandomMDP, 2 runs each, K=60"


class TestPosterior:
    def test_worlds_of_the_prior(self, tmp_path: Path) -> None:
        found = lemmas.posterior_finding(SmallSource(tmp_path, 60, 0))
        assert found.verdict is HOLDS
        assert found.ran.startswith("60 worlds drawn from the prior, epoch 15 of each; exact tests of 7 quantities")

    def test_worlds_of_another_prior_are_noticed(self) -> None:
        class Elsewhere(GivenSource):
            """Draws the worlds from a prior that the agent does not have."""

            def map(self, function: Callable[..., Any], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Any]:
                return [partial(function, prior=Dirichlet(10.0))(*task) for task in tasks]

        assert lemmas.posterior_finding(Elsewhere(quick=True)).verdict is FAILS
