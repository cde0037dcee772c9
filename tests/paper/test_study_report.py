"""Stored runs under the analysis: carried out again, checked against what is stored, also for an agent in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalward import Study, run
from goalward.agents import PSRL, TSDE, UCSSP
from goalward.paper.study_report import bounds_table, proved, publish_theory, study_reports
from goalward.results.results import Results
from goalward.studies import rerun
from goalward.studies.store import Store

OWN = '''
import goalward as gw
from goalward.agents import Agent, Plan

class Own(Agent):
    """Samples its posterior at the start of every episode and after every tenth step."""

    samples_posterior = True

    def begin(self, task, rng):
        super().begin(task, rng)
        self.belief = gw.Dirichlet(1.0).belief(task)

    def plan(self, state):
        theta = self.belief.sample(self.rng)
        solution = gw.solve(theta)
        return Plan(solution.policy, stop_after_goals=1, stop_after_steps=10, model=theta)

    def observe(self, steps):
        self.belief.update(steps)
'''
STUDY = {
    "name": "theory",
    "runs": 3,
    "episodes": 60,
    "worlds": [
        {"world": "grid-world", "label": "GridWorld"},
        {"world": "random-mdp", "label": "drawn", "settings": {"states": 3}, "draw": "seed"},
    ],
    "agents": [{"agent": "psrl"}, {"agent": "own.py:Own", "label": "mine"}, {"agent": "uc-ssp"}],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("theory")
    (folder / "own.py").write_text(OWN)
    return run(Study.from_dict(STUDY, folder), folder / "results", workers=1)


def test_runs_are_carried_out_again(results: Results) -> None:
    assert results.folder is not None
    reports, refusals = study_reports(Store.open(results.folder), results, 2)
    assert list(reports) == ["psrl in GridWorld", "mine in GridWorld", "psrl in drawn", "mine in drawn"]
    assert [len(cell) for cell in reports.values()] == [2, 2, 2, 2]
    (refusal,) = refusals
    assert refusal.startswith("uc-ssp in GridWorld, uc-ssp in drawn: uc-ssp has no posterior")
    stored = results.cells[0].values["gap_regret"]
    again = [report.run.gap_regret[-1] for report in reports["psrl in GridWorld"]]
    assert np.array_equal(again, stored[:2])
    worlds = [report.run.world.digest for report in reports["psrl in drawn"]]  # type: ignore[union-attr]
    assert len(set(worlds)) == 2


def test_tables_and_pictures(results: Results, tmp_path: Path) -> None:
    assert results.folder is not None
    (_, table), files = publish_theory(Store.open(results.folder), results, 1, tmp_path)
    assert [path.name for path in files] == [
        "theory-psrl-in-GridWorld.png", "theory-mine-in-GridWorld.png", "theory-psrl-in-drawn.png",
        "theory-mine-in-drawn.png",
    ]  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)
    assert len({row["cell"] for row in table}) == 4
    assert len(table.notes) == 1


def test_bounds_are_those_of_the_agents(results: Results) -> None:
    assert results.folder is not None
    table = bounds_table(Store.open(results.folder), results)
    assert table["agent"] == ["psrl", "mine", "uc-ssp"]
    assert table["proved"] == [PSRL.bound, "nothing", UCSSP.bound]
    assert table["must_be_told"] == ["a prior", "nothing", "nothing"]
    exponents = {row["agent"]: row["exponent_in_K"] for row in table}
    summary = [row["exponent"] for row in results.summary() if row["agent"] == "uc-ssp"]
    assert exponents["uc-ssp"] == max(summary)


def test_settings_that_no_proof_covers() -> None:
    assert proved(PSRL()) == (PSRL.bound, PSRL.assumes)
    assert proved(PSRL(sharpness=2.0)) == ("nothing", "sharpness is 2, and no proof covers it")
    assert proved(UCSSP(scale=0.1))[0] == "nothing"
    assert proved(TSDE())[0] == "nothing"  # the bound of PSRL-SSP is not inherited


def test_runs_that_come_out_differently_are_refused(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    assert results.folder is not None
    monkeypatch.setattr(rerun, "recorded", lambda count: np.arange(count - 1))  # one episode less than is stored
    reports, refusals = study_reports(Store.open(results.folder), results, 1)
    assert not reports
    assert "differs from the stored run" in refusals[0]


def test_studies_without_a_posterior_have_bounds_only(tmp_path: Path) -> None:
    study = STUDY | {"agents": [{"agent": "uniform"}], "worlds": [{"world": "grid-world"}], "runs": 1, "episodes": 2}
    results = run(study, tmp_path, workers=1)
    (bounds,), files = publish_theory(Store.open(tmp_path), results, 1, tmp_path)
    assert not files
    assert "uniform has no posterior" in bounds.notes[-1]
