"""A run measured against the lemmas: the report says what its parts say, for every agent that samples its posterior."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import WORLDS, recorded
from test_trace import Own

from goalward import hardness, learn, theory, worlds
from goalward.agents import PSRL
from goalward.beliefs import FinitePrior
from goalward.figures.theory import theory_figure
from goalward.theory.confidence import Coverage
from goalward.theory.limit import regret_limit
from goalward.theory.run_report import statements_table


def test_the_statements_are_those_of_the_parts() -> None:
    run = recorded("grid", episodes=1000)
    report = theory.report(run)
    trace = theory.trace_of(run)
    measured = {statement.name: (statement.measured, statement.bound) for statement in report.statements}
    terms = theory.decompose(trace)
    assert measured["R1 <= B L"] == (terms.R1, terms.B * terms.L)
    bound = theory.theorem_1(11, 4, 1000, terms.B, 1.0)
    assert measured["regret <= O(Theorem 1)"] == pytest.approx((run.regret[-1], bound))
    L, epoch_bound = measured["epochs L <= sqrt(2 S A K log T) + S A log T"]
    assert (L, epoch_bound) == (len(run.epochs), theory.epoch_bound(11, 4, 1000, run.total_steps))
    covered = sum(theory.coverage(trace), Coverage())
    assert measured["theta* outside its set"] == (covered.true_misses, covered.promised)
    limit = regret_limit(WORLDS["grid"])
    assert measured["gap regret, reference(K)"] == pytest.approx((run.gap_regret[-1], limit.reference(1000)))
    assert measured["slope of gap regret in log K >= C"][1] == limit.constant
    assert measured["share of C that K episodes resolve"][0] == limit.resolved(1000)
    (label,) = [
        text.get_text() for text in theory_figure([report], "").axes[3].get_legend().texts if "C" in text.get_text()
    ]
    assert label.endswith(f"{100 * limit.resolved(1000):.2g} % of C resolved")
    assert measured["regret - (R1 + R2 + R3)"][0] == pytest.approx(0.0, abs=1e-9)


def test_curves_are_the_numbers_after_k_episodes() -> None:
    run = recorded("random", episodes=400)
    report = theory.report(run)
    k = report.points
    assert (k[0], k[-1]) == (1, 400)
    assert np.array_equal(report.curves["regret"], run.regret[k - 1])
    sums = report.curves["R1"] + report.curves["R2"] + report.curves["R3"]
    assert sums == pytest.approx(report.curves["regret"], abs=1e-6)
    begun = [np.count_nonzero(run.epochs.start_episode < count) for count in k.tolist()]
    assert np.array_equal(report.curves["epochs"], begun)
    assert (report.curves["epochs"] <= report.curves["epoch_bound"]).all()
    assert np.isnan(report.curves["theorem"][k < 8 * 8 * 2]).all()
    assert np.isfinite(report.curves["theorem"][k >= 8 * 8 * 2]).all()


def test_concentration_by_hand() -> None:
    """In the last epoch, from the dense kernels; and samples come nearer to the truth."""
    run = recorded("grid", episodes=1000)
    report = theory.report(run)
    assert run.plans is not None
    distance = np.abs(run.plans[-1].model.to_dense() - WORLDS["grid"].to_dense()).sum(axis=2)
    assert report.curves["all_pairs"][-1] == pytest.approx(distance.mean())
    played = distance[run.trajectory.states, run.trajectory.actions][-int(run.epochs.steps[-1]) :]
    assert report.curves["played_pairs"][-1] == pytest.approx(played.mean())
    assert report.curves["played_pairs"][-1] < 0.3 * report.curves["played_pairs"][0]


def test_an_agent_of_the_user() -> None:
    run = learn(Own(), WORLDS["grid"], 100, 1, keep_plans=True, keep_steps=True)
    report = theory.report(run)
    assert {statement.name: statement.note for statement in report.statements}["regret <= O(Theorem 1)"].startswith(
        "K=100 episodes are too few"
    )
    assert report.terms.error < 1e-6
    assert "Own: one run" in report.table.text()
    assert report._repr_html_().startswith("<div>")


def test_the_second_theorem_covers_raised_costs() -> None:
    world = WORLDS["sticky"].with_costs(WORLDS["sticky"].costs * [0.0, 1.0])
    run = learn(PSRL(perturb_costs=True), world, 100, 1, keep_plans=True, keep_steps=True)
    report = theory.report(run)
    assert report.theorem == "Theorem 2"
    expected = theory.theorem_2(2, 2, 100, report.terms.B, hardness(world).T_star)
    assert report.curves["theorem"][-1] == pytest.approx(expected)
    notes = {statement.name: statement.note for statement in report.statements}
    assert "needs positive costs" in notes["slope of gap regret in log K >= C"]


def test_a_regret_that_stopped_growing_has_the_slope_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    world = worlds.grid_world()
    run = learn(PSRL(FinitePrior([world])), world, 100, 1, keep_plans=True, keep_steps=True)
    monkeypatch.setattr(type(run), "gap_regret", property(lambda self: np.full(100, 0.1 + 0.2)))
    measured = {statement.name: statement.measured for statement in theory.report(run).statements}
    assert measured["slope of gap regret in log K >= C"] == 0.0


def test_several_runs_are_averaged() -> None:
    reports = [theory.report(recorded("random", seed=seed)) for seed in range(3)]
    table = statements_table({"cell": reports})
    row = next(row for row in table if row["statement"] == "R1 <= B L")
    assert row["measured"] == pytest.approx(np.mean([report.terms.R1 for report in reports]))
    assert row["bound"] == pytest.approx(np.mean([report.terms.bound for report in reports]))
    assert row["measured_low"] < row["measured"] < row["measured_high"]
    assert "mean of 3 runs" in table.title
