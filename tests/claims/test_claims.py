"""The claims: verdicts on made-up results, real tests on a small scale, the table and the verb."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from goalward.claims import catalogue, experiments, lemmas, theorems
from goalward.claims.run_source import RunSource, cell_of
from goalward.claims.verdicts import Finding, Verdict, above, all_of, at_most, below, share, within
from goalward.cli import main
from goalward.errors import TheoryError, UnknownNameError
from goalward.execution.pools import InProcess
from goalward.report.claims_text import claims_document, claims_markdown, claims_text
from goalward.results.statistics import Interval
from goalward.results.store import Store
from goalward.theory.bounds import theorem_1

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
RIVALS = experiments.RIVALS


def cell(world: str, agent: str, finals: Sequence[float], curves: Any = None, points: Any = None) -> Any:
    """Make up the results of one agent in one world."""
    ends = np.array(finals, dtype=float)
    return SimpleNamespace(
        cell=SimpleNamespace(world=SimpleNamespace(label=world), agent=SimpleNamespace(label=agent)),
        finals={"gap_regret": ends},
        truncated=np.isnan(ends),
        complete=~np.isnan(ends),
        curves={"gap_regret": curves},
        points=points,
    )


class MadeUp:
    """A source whose studies have the results that a test gives it."""

    def __init__(self, *cells: Any, quick: bool = False):
        self.found = SimpleNamespace(cells=list(cells), design=SimpleNamespace(name="made-up"))
        self.quick = quick

    def choose(self, quick: int, full: int) -> int:
        return quick if self.quick else full

    def results(self, name: str, *, runs: int, episodes: int) -> Any:
        return self.found

    def map(self, function: Callable[..., Any], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Any]:
        return [function(*task) for task in tasks]


def comparison(ours: Sequence[float], **others: Sequence[float]) -> list[Any]:
    """Make up a comparison; a rival that is not given pays 100 times as much, and twice that on GridWorld."""
    cells = []
    for world, factor in (("GridWorld", 400.0), ("RandomMDP", 100.0)):
        cells.append(cell(world, "PSRL-SSP", ours))
        for rival in RIVALS:
            given = others.get(rival.partition("-")[0], factor * np.array(ours))
            cells.append(cell(world, rival, given))
    return cells


OURS = [9.0, 10.0, 11.0, 10.0]


@pytest.mark.parametrize(
    ("bernstein", "verdict"),
    [([900.0, 1000.0, 1100.0, 1000.0], HOLDS), ([5.0, 6.0, 6.5, 6.0], FAILS), ([1.0, 200.0, 5.0, 10.0], OPEN)],
)
def test_rivals(bernstein: list[float], verdict: Verdict) -> None:
    beats, gap = experiments.rival_findings(MadeUp(*comparison(OURS, Bernstein=bernstein)))  # type: ignore[arg-type]
    assert beats.verdict is verdict
    assert "nearest, Bernstein-SSP" in beats.figure
    if verdict is HOLDS:
        # Bernstein pays the same on both worlds, and GridWorld's optimal cost is the larger one.
        assert gap.verdict is FAILS


def test_a_larger_gap_on_gridworld() -> None:
    _, gap = experiments.rival_findings(MadeUp(*comparison(OURS)))  # type: ignore[arg-type]
    assert gap.verdict is HOLDS


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, FAILS), (1.0, HOLDS), (0.5, HOLDS)])
def test_tuned(factor: float, verdict: Verdict) -> None:
    tuned = {rival.partition("-")[0]: np.array(OURS) / factor for rival in RIVALS}
    found = experiments.tuned_finding(MadeUp(*comparison(OURS, **tuned)))  # type: ignore[arg-type]
    assert found.verdict is verdict


@pytest.mark.parametrize(("power", "verdict"), [(1.0, HOLDS), (0.5, FAILS)])
def test_ulcvi(power: float, verdict: Verdict) -> None:
    points = np.arange(1, 80_001, 50)
    points = np.append(points, 80_000)
    curves = np.array([[slope * k**power for k in points.tolist()] for slope in (36.0, 36.1, 35.9)])
    cells = [cell(world, "ULCVI", [1.0] * 3, curves, points) for world in ("GridWorld", "RandomMDP")]
    assert experiments.ulcvi_finding(MadeUp(*cells)).verdict is verdict  # type: ignore[arg-type]


def test_ulcvi_needs_all_its_episodes() -> None:
    points = np.arange(1, 3001)
    cells = [cell(world, "ULCVI", [1.0], np.array([points * 36.0]), points) for world in ("GridWorld", "RandomMDP")]
    found = experiments.ulcvi_finding(MadeUp(*cells, quick=True))  # type: ignore[arg-type]
    assert found.verdict is OPEN
    assert "80,000" in found.note


@pytest.mark.parametrize(
    ("informed", "verdict"), [([50.0, 51.0, 52.0], HOLDS), ([150.0, 151.0, 152.0], FAILS), ([10.0, 300.0, 90.0], OPEN)]
)
def test_priors(informed: list[float], verdict: Verdict) -> None:
    agents = {
        "nothing known": [100.0, 101.0, 102.0],
        "neighbours known": [50.0, 52.0, 51.0],
        "one slip for all cells": informed,
    }
    cells = [cell("GridWorld", name, finals) for name, finals in agents.items()]
    assert experiments.prior_finding(MadeUp(*cells)).verdict is verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"), [(0, 12, HOLDS), (0, 0, OPEN), (1, 12, FAILS)], ids=["stuck", "neither", "both"]
)
def test_resampling(ours: int, theirs: int, verdict: Verdict) -> None:
    world = "GridWorld without slips"
    cells = [
        cell(world, agent, [np.nan] * stuck + [1.0] * (20 - stuck))
        for agent, stuck in (("PSRL-SSP", ours), ("at episode starts", theirs))
    ]
    assert experiments.resampling_finding(MadeUp(*cells)).verdict is verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(("factor", "verdict"), [(1.5, HOLDS), (0.5, FAILS)])
def test_tsde_and_the_conjecture(factor: float, verdict: Verdict) -> None:
    points = np.arange(1, 1001)
    cells = []
    for world in theorems.EPOCH_WORLDS:
        for agent, times in (("PSRL-SSP", 1.0), ("TSDE", factor)):
            finals = times * np.array([99.0, 100.0, 101.0])
            cells.append(cell(world, agent, finals, finals[:, None] * points**0.4 / 1000**0.4, points))
    results: Any = SimpleNamespace(cells=cells, design=None)
    assert theorems.tsde_finding(results, "").verdict is verdict
    assert theorems.fixed_finding(results, "").verdict is HOLDS
    for each in cells:
        each.curves["gap_regret"] = each.curves["gap_regret"] ** 2
    assert theorems.fixed_finding(results, "").verdict is FAILS


@pytest.mark.parametrize(
    ("broken", "said", "verdict"), [(0, "; all runs within", HOLDS), (2, "; 2 of 9 runs not within", FAILS)]
)
def test_runs_beyond_the_lemma_are_counted(
    broken: int, said: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.arange(1, 1001)
    cells = [cell(world, "PSRL-SSP", [1.0] * 3, None, points) for world in theorems.EPOCH_WORLDS]
    for each in cells:
        each.cell.world.identity = {"id": "grid-world-v0", "settings": {}}
    holds = iter([False] * broken + [True] * 9)
    monkeypatch.setattr(theorems, "epoch_curves", lambda *_: np.outer([1.0, 1.1, 0.9], points**0.4))
    monkeypatch.setattr(theorems, "count_epochs", lambda *_: SimpleNamespace(holds=next(holds)))
    design = SimpleNamespace(keys=lambda _: ["a", "b", "c"])
    store = SimpleNamespace(read=lambda _: SimpleNamespace(epochs=lambda: None))
    source: Any = SimpleNamespace(store=store)
    results: Any = SimpleNamespace(cells=cells, design=design)
    found = theorems.number_finding(source, results, "")
    assert found.verdict is verdict
    assert f"{said} the lemma's bound" in found.figure


def test_what_a_study_does_not_have_is_said() -> None:
    with pytest.raises(TheoryError, match="the study made-up has no PSRL-SSP in GridWorld"):
        cell_of(MadeUp().found, "GridWorld", "PSRL-SSP")


def test_growth_of_means() -> None:
    sizes = np.array([2.0, 4.0, 8.0])
    exact = theorems.growth_of_means(sizes, np.outer(sizes**0.7, [1.0, 2.0, 3.0]))
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.7, 0.7, 0.7))
    ratio = theorems.growth_of_means(sizes, np.outer(sizes**0.7, [1.0, 2.0]), np.outer(sizes, [5.0, 5.0]))
    assert ratio.value == pytest.approx(-0.3)
    assert np.isnan(theorems.growth_of_means(sizes, np.array([[1.0, 2.0], [np.nan, 1.0], [1.0, 1.0]])).value)


@pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (1.5, FAILS)])
def test_sizes(power: float, verdict: Verdict) -> None:
    """A regret that grows like A^1.5 is too much for a bound whose terms grow like sqrt(A) and A."""
    sizes = np.array([2.0, 4.0, 8.0, 16.0])
    bounds = np.array([theorem_1(8, int(A), 10_000, 5.0, 0.2).total for A in sizes])
    sweep = theorems.Sweep(sizes, np.outer(sizes**power, [1.0, 1.1, 0.9]), bounds, np.outer(bounds, np.ones(3)))
    found = theorems.sizes_finding({"A": sweep}, "")
    assert found.verdict is verdict
    assert f"regret {power:g}" in found.figure


def test_theorem_1_on_a_small_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S² A = 2,048 episodes are the fewest that the sweep allows."""
    monkeypatch.setattr(RunSource, "choose", lambda self, quick, full: 2 if quick < 100 else 2048)
    source = RunSource(Store.open(tmp_path, create=True), InProcess(), quick=True)
    in_K, sizes = theorems.theorem_1_findings(source)
    assert in_K.verdict in (HOLDS, OPEN)
    assert sizes.verdict is not FAILS
    assert "the largest of 8 settings" in in_K.figure


def test_worlds_of_the_theorems() -> None:
    far, near = (theorems.goal_run(near, 200, 0) for near in (1, 8))
    assert far[1] > 2 * near[1]
    assert all(regret > 0.0 and 0.2 <= c_min < 1.0 for regret, _, c_min in (far, near))
    perturbed, plain, bound = theorems.perturbed_run(200, 0)
    assert 0.0 <= plain < bound
    assert 0.0 <= perturbed < bound


def test_lemmas_on_real_runs() -> None:
    """The smallest scale on which all of them can be looked at."""
    found = [lemmas.examine(name, 60, seed) for name in (None, "GridWorld") for seed in (0, 1)]
    made = [
        lemmas.decomposition_finding(found, ""),
        lemmas.first_term_finding(found, ""),
        lemmas.third_term_finding(found[:2], ""),
        lemmas.epochs_finding(found, ""),
        lemmas.coverage_finding(found, found[:2], ""),
        lemmas.intervals_finding(found, ""),
    ]
    assert [each.verdict for each in made] == [HOLDS] * 6
    # Two worlds are too few to decide about a mean, unless they agree very well.
    assert lemmas.second_term_finding(found[:2], "").verdict is not FAILS


def test_claims_are_tested_and_runs_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunSource, "choose", lambda self, quick, full: 4 if quick <= 20 else min(quick, 100))
    names: list[str] = []
    made = catalogue.check_claims(
        tmp_path / "results", quick=True, only=["resampling", "withheld"], workers=1, watch=names.append
    )
    assert names == ["resampling", "withheld"]
    assert [each.verdict for each in made] == [HOLDS, HOLDS]
    stored = sorted((tmp_path / "results").rglob("*.parquet"))
    assert len(stored) == 8
    times = [path.stat().st_mtime_ns for path in stored]
    again = catalogue.check_claims(tmp_path / "results", quick=True, only=["resampling"], workers=1)
    assert again == made[:1]
    assert [path.stat().st_mtime_ns for path in stored] == times


def test_runs_that_fail_leave_nothing_to_say(tmp_path: Path) -> None:
    source = RunSource(Store.open(tmp_path, create=True), InProcess(), quick=True)
    broken = tmp_path / "broken.toml"
    broken.write_text(
        'name = "broken"\n[[worlds]]\nworld = "grid-world-v0"\n[[agents]]\nagent = "psrl"\n'
        "settings = { value_limit = 1e-9, max_rejections = 1 }\n"
    )
    with pytest.raises(
        TheoryError, match=r"2 runs of .*broken.toml failed, so nothing can be said: psrl in grid-world"
    ):
        source.results(str(broken), runs=2, episodes=3)


def test_unknown_tests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no test of claims is called 'rivalz'; did you mean 'rivals'"):
        catalogue.check_claims(tmp_path, only=["rivalz"])


def test_verdicts_follow_the_interval() -> None:
    low, middle, high = Interval(0.3, 0.2, 0.4, 9), Interval(0.5, 0.4, 0.6, 9), Interval(0.7, 0.6, 0.8, 9)
    nothing = Interval(0.3, np.nan, np.nan, 1)
    assert [below(each, 0.5) for each in (low, middle, high, nothing)] == [HOLDS, OPEN, FAILS, OPEN]
    assert [above(each, 0.5) for each in (low, middle, high, nothing)] == [FAILS, OPEN, HOLDS, OPEN]
    assert [at_most(each, 0.5) for each in (low, middle, high, nothing)] == [HOLDS, HOLDS, FAILS, OPEN]
    assert [within(each, 0.35, 0.65) for each in (low, middle, high)] == [OPEN, HOLDS, OPEN]
    assert all_of(HOLDS, OPEN, FAILS) is FAILS
    assert all_of(HOLDS, OPEN) is OPEN
    assert all_of() is HOLDS


def test_shares() -> None:
    """With no failure in n runs the upper end solves (1 - p)^n = 0.025."""
    assert share(0, 30).high == pytest.approx(1 - 0.025 ** (1 / 30))
    assert share(30, 30).low == pytest.approx(0.025 ** (1 / 30))
    half = share(15, 30)
    assert half.low == pytest.approx(1 - half.high)


TABLE = [
    Finding("one", "B* and T* | are not needed", "two runs", "0.5 [0.4, 0.6]", HOLDS),
    Finding("two", "theta_* is near", "a very long story " * 12, "1", OPEN, "too little was run"),
]


def test_the_table() -> None:
    text = claims_text(TABLE, 80)
    assert text.startswith("holds          B* and T* | are not needed\n               0.5 [0.4, 0.6]\n")
    assert "not decided    theta_* is near" in text
    assert "note: too little was run" in text
    assert text.endswith("1 holds, 1 not decided")
    assert max(map(len, text.splitlines())) <= 80
    rows = claims_markdown(TABLE).splitlines()
    assert rows[2] == r"| B\* and T\* \| are not needed | **holds** | 0.5 [0.4, 0.6] | two runs |"
    assert r"theta\_\* is near" in rows[3]
    assert claims_document(TABLE)[1]["verdict"] == "not decided"


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given = []

    def check(folder: Path, **settings: Any) -> list[Finding]:
        given.append((folder, settings["quick"], settings["only"]))
        settings["watch"]("rivals")
        return TABLE

    monkeypatch.setattr(catalogue, "check_claims", check)
    monkeypatch.setenv("COLUMNS", "100")
    page = tmp_path / "table.md"
    arguments = ["claims", "--quick", "--only", "rivals", "--out", str(tmp_path), "--markdown", str(page)]
    for extra in ([], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main([*arguments, *extra])
        assert left.value.code == 0
    out, err = capsys.readouterr()
    assert given == [(tmp_path, True, ["rivals"])] * 2
    assert "testing: rivals" in err
    assert out.startswith(claims_text(TABLE, 100))
    assert json.loads(out.splitlines()[-1]) == claims_document(TABLE)
    assert page.read_text() == claims_markdown(TABLE)
