"""The claims of the experiments: verdicts on made-up results, and what is measured on real runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sources import GivenSource, SmallSource, cell

from goalward import evaluate, solve
from goalward.arrays import Floats
from goalward.formatting import number
from goalward.paper.claims import experiments
from goalward.paper.claims.claims import Verdict
from goalward.paper.claims.experiments import RIVALS
from goalward.paper.claims.runs import PAPER_WORLDS
from goalward.results.results import CellResults

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
OURS = [9.0, 10.0, 11.0, 10.0]


def comparison(**others: Sequence[float] | Floats) -> GivenSource:
    """Make up a comparison; a rival that is not given pays 100 times as much, and 400 times on GridWorld."""
    cells: list[CellResults] = []
    for world, factor in (("GridWorld", 400.0), ("RandomMDP", 100.0)):
        cells.append(cell(world, "PSRL-SSP", OURS))
        cells += [cell(world, rival, others.get(rival.partition("-")[0], factor * np.array(OURS))) for rival in RIVALS]
    return GivenSource(*cells)


def t_interval(samples: Floats, level: float = 0.95) -> tuple[float, float]:
    found = stats.ttest_1samp(samples, 0.0).confidence_interval(level)
    return float(found.low), float(found.high)


class TestRivals:
    @pytest.mark.parametrize(
        ("bernstein", "verdict"),
        [([900.0, 1000.0, 1100.0, 1000.0], HOLDS), ([5.0, 6.0, 6.5, 6.0], FAILS), ([1.0, 200.0, 5.0, 10.0], OPEN)],
    )
    def test_one_rival_decides(self, bernstein: list[float], verdict: Verdict) -> None:
        beats, _ = experiments.rivals(comparison(Bernstein=bernstein))
        assert beats.verdict is verdict
        assert "GridWorld: 10; Bernstein-SSP is nearest" in beats.figure

    def test_the_gap_is_larger_on_gridworld(self) -> None:
        assert list(experiments.rivals(comparison()))[1].verdict is HOLDS

    def test_the_gap_is_measured_in_optimal_costs(self) -> None:
        """The same excess on both worlds is a smaller one on GridWorld, whose optimal cost is larger."""
        _, gap = experiments.rivals(comparison(Bernstein=[900.0, 1000.0, 1100.0, 1000.0]))
        assert gap.verdict is FAILS

    def test_real_runs(self, tmp_path: Path) -> None:
        source = SmallSource(tmp_path, 4, 100)
        beats, gap = experiments.rivals(source)
        level = 1.0 - 0.05 / 8
        lows = []
        for world in PAPER_WORLDS:
            ours = source.stored(world, "PSRL-SSP")[:, -1]
            gaps = {rival: source.stored(world, rival)[:, -1] - ours for rival in RIVALS}
            nearest = min(gaps, key=lambda rival: float(gaps[rival].mean()))
            low, high = t_interval(gaps[nearest], level)
            shown = f"{number(gaps[nearest].mean())} [{number(low)}, {number(high)}]"
            assert f"{world}: {number(ours.mean())}; {nearest} is nearest: {shown} more" in beats.figure
            lows += [t_interval(each, level)[0] for each in gaps.values()]
        assert min(lows) < 0.0
        assert beats.verdict is OPEN
        uc_ssp = [
            (source.stored(world, "UC-SSP") - source.stored(world, "PSRL-SSP"))[:, -1].mean()
            / (100 * solve(build()).values[build().initial_state])
            for world, build in PAPER_WORLDS.items()
        ]
        assert f"UC-SSP {uc_ssp[0]:.2g} / {uc_ssp[1]:.2g}" in gap.figure


class TestTuned:
    @pytest.mark.parametrize(("factor", "verdict"), [(2.0, FAILS), (1.0, HOLDS), (0.5, HOLDS)])
    def test_one_and_a_half_times_is_the_same_quality(self, factor: float, verdict: Verdict) -> None:
        tuned = {rival.partition("-")[0]: np.array(OURS) / factor for rival in RIVALS}
        assert next(experiments.tuned(comparison(**tuned))).verdict is verdict

    def test_real_runs(self, tmp_path: Path) -> None:
        source = SmallSource(tmp_path, 3, 40)
        (found,) = experiments.tuned(source)
        means = {rival: source.stored("GridWorld", rival)[:, -1].mean() for rival in RIVALS}
        best = min(means, key=lambda rival: float(means[rival]))
        times = source.stored("GridWorld", "PSRL-SSP")[:, -1].mean() / means[best]
        assert f"{times:.1f} times {best}, the best" in found.figure.partition("RandomMDP")[0]
        assert all(f"{rival} {number(mean)} [" in found.figure for rival, mean in means.items())


class TestUlcvi:
    @pytest.mark.parametrize(("power", "verdict"), [(1.0, HOLDS), (0.5, FAILS)])
    def test_learning_shows_in_the_curve(self, power: float, verdict: Verdict) -> None:
        points = np.append(np.arange(1, 80_001, 50), 80_000)
        curves = np.outer([36.0, 36.1, 35.9], points.astype(float) ** power)
        cells = [cell(world, "ULCVI", [1.0] * 3, curves, points) for world in PAPER_WORLDS]
        assert next(experiments.ulcvi(GivenSource(*cells))).verdict is verdict

    def test_real_runs(self, tmp_path: Path) -> None:
        source = SmallSource(tmp_path, 2, 100)
        (found,) = experiments.ulcvi(source)
        for world, build in PAPER_WORLDS.items():
            curves, ssp = source.stored(world, "ULCVI"), build()
            last = (curves[:, 99] - curves[:, 89]).mean() / 10
            uniform = np.full(ssp.costs.shape, 1 / ssp.actions)
            lost = evaluate(ssp, uniform).costs[ssp.initial_state] - solve(ssp).values[ssp.initial_state]
            assert f"{world}: {last:.3g} per episode at the end, the uniform policy {lost:.3g};" in found.figure


class TestWithheld:
    def test_agents_that_must_be_told_are_named(self, tmp_path: Path) -> None:
        (found,) = experiments.withheld(SmallSource(tmp_path, 1, 30))
        assert found.verdict is HOLDS
        assert found.figure.startswith("agents must know: psrl nothing")
        assert "ulcvi B_star and T_star" in found.figure


class TestPriors:
    @pytest.mark.parametrize(
        ("informed", "verdict"),
        [([50.0, 51.0, 52.0], HOLDS), ([150.0, 151.0, 152.0], FAILS), ([10.0, 300.0, 90.0], OPEN)],
    )
    def test_the_informed_prior_must_help(self, informed: list[float], verdict: Verdict) -> None:
        finals = {
            "nothing known": [100.0, 101.0, 102.0],
            "neighbours known": informed,
        }
        source = GivenSource(*(cell("GridWorld", name, each) for name, each in finals.items()))
        assert next(experiments.priors(source)).verdict is verdict

    def test_real_runs(self, tmp_path: Path) -> None:
        source = SmallSource(tmp_path, 4, 100)
        (found,) = experiments.priors(source)
        names = ("nothing known", "neighbours known")
        means = [source.stored("GridWorld", name)[:, -1].mean() for name in names]
        assert means[0] > means[1]
        assert all(f"{name} {number(mean)} [" in found.figure for name, mean in zip(names, means, strict=True))
        assert found.verdict is HOLDS


class TestResampling:
    @pytest.mark.parametrize(
        ("ours", "theirs", "verdict"), [(0, 12, HOLDS), (0, 0, OPEN), (1, 12, FAILS)], ids=["theirs", "neither", "both"]
    )
    def test_only_runs_at_episode_starts_may_get_stuck(self, ours: int, theirs: int, verdict: Verdict) -> None:
        stuck = {"PSRL-SSP": ours, "at episode starts": theirs}
        source = GivenSource(
            *(cell("GridWorld without slips", agent, [np.nan] * n + [1.0] * (20 - n)) for agent, n in stuck.items())
        )
        assert next(experiments.resampling(source)).verdict is verdict

    def test_real_runs(self, tmp_path: Path) -> None:
        """Two runs, each stuck for a million steps; the interval of Clopper and Pearson."""
        (found,) = experiments.resampling(SmallSource(tmp_path, 2, 100))
        assert found.verdict is HOLDS
        low, high = stats.binomtest(2, 2).proportion_ci(0.95)
        assert found.figure.startswith(
            f"stuck for good: 1 [{number(low)}, {number(high)}] of the runs at episode starts"
        )
