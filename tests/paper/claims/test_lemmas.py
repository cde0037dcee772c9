"""The lemmas on real runs, and on numbers for which they would be false."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import GivenSource, SmallSource

from goalward.beliefs.dirichlet import Dirichlet
from goalward.formatting import with_range
from goalward.paper.claims import lemmas
from goalward.paper.claims.claims import Finding, Verdict
from goalward.paper.claims.lemmas import Measured, examine
from goalward.statistics import mean_interval

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN


@pytest.fixture(scope="module")
def runs() -> Measured:
    """Eight runs in drawn worlds, and one in each of the paper's worlds."""
    examined = [examine(None, 60, seed) for seed in range(8)]
    examined += [examine(name, 60, 0) for name in ("GridWorld", "RandomMDP")]
    return {name: np.array([run[name] for run in examined]) for name in examined[0]}


def findings(runs: Measured) -> dict[str, Finding]:
    found = [*lemmas.on_every_run(runs, ""), *lemmas.on_worlds_of_the_prior(runs, ""), lemmas.bernstein(runs, 8, "")]
    return {finding.key: finding for finding in found}


# Each lemma, and a change of the measured runs that makes it false.
CHANGES: dict[str, Callable[[Measured], Measured]] = {
    "decomposition": lambda runs: {"error": runs["error"] + 1e-3},
    "first-term": lambda runs: {"R1": 1.01 * runs["BL"]},
    "second-term": lambda runs: {"R2": runs["BL"] + abs(runs["R2"]) + 1.0},
    "third-term": lambda runs: {"R3": 0.0 * runs["R3"] + 2.0},
    "epochs": lambda runs: {"epochs_hold": runs["epochs_hold"] & (np.arange(10) != 3)},
    "bernstein": lambda runs: {"true_misses": runs["checks"]},
    "intervals": lambda runs: {"M": runs["M"] + 1.0},
}


@pytest.mark.parametrize("key", CHANGES)
def test_lemmas_hold_on_real_runs_and_could_fail(key: str, runs: Measured) -> None:
    assert findings(runs)[key].verdict is HOLDS
    assert findings(runs | CHANGES[key](runs))[key].verdict is FAILS


def test_too_large_variances_are_noticed(runs: Measured) -> None:
    changed = runs | {"loose_variance": np.full(10, 1.2)}
    assert findings(changed)["intervals"].verdict is FAILS


def test_figures_are_those_of_the_runs(runs: Measured) -> None:
    worst = (runs["R1"] / runs["BL"]).max()
    assert findings(runs)["first-term"].figure == f"largest R1 / (B L) is {worst:.3g}"
    assert f"mean R2 {with_range(mean_interval(runs['R2']))}" in findings(runs)["second-term"].figure


def test_two_worlds_do_not_decide_about_a_mean(runs: Measured) -> None:
    wide = {name: column[:2] for name, column in runs.items()} | {"R2": runs["BL"][:2] * [0.0, 1.5]}
    assert next(lemmas.on_worlds_of_the_prior(wide, "")).verdict is OPEN


def test_one_finding_for_each_lemma(tmp_path: Path) -> None:
    found = {finding.key: finding for finding in lemmas.lemmas(SmallSource(tmp_path, 2, 60))}
    assert found.keys() == CHANGES.keys()
    assert found["second-term"].ran == "2 worlds drawn from the prior, K=60"
    everywhere = "2 worlds drawn from the prior, K=60; GridWorld and RandomMDP, 2 runs each, K=60"
    assert found["decomposition"].ran == everywhere


class TestPosterior:
    def test_worlds_of_the_prior(self, tmp_path: Path) -> None:
        (found,) = lemmas.posterior(SmallSource(tmp_path, 60, 0))
        assert found.verdict is HOLDS
        assert found.ran.startswith("60 worlds drawn from the prior, epoch 15 of each; exact tests of 7 quantities")

    def test_worlds_of_another_prior_are_noticed(self) -> None:
        class Elsewhere(GivenSource):
            """Draws the worlds from a prior that the agent does not have."""

            def map(self, function: Callable[..., Any], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Any]:
                return [function(agent, Dirichlet(10.0), *rest) for agent, _, *rest in tasks]

            def size(self, number: int) -> int:
                return 150

        (found,) = lemmas.posterior(Elsewhere())
        assert found.verdict is FAILS
