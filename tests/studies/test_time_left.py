"""The estimate of the time that is left, where cells differ in cost: it falls as runs end, and ends near the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalward import Study
from goalward.studies.runner import Options, Report, Session, jobs_of
from goalward.studies.store import Store

STUDY = {
    "name": "costs",
    "runs": 6,
    "episodes": 5,
    "worlds": [{"world": "grid-world"}, {"world": "river-swim"}],
    "agents": [{"agent": "psrl"}, {"agent": "uniform"}],
}
SECONDS = [100.0, 1.0, 10.0, 0.1]  # a run of each cell


def test_estimates_fall_although_cells_differ_in_cost(tmp_path: Path) -> None:
    """One worker makes the runs in the order of the runner; time goes by as long as each run takes."""
    study = Study.from_dict(STUDY)
    jobs = jobs_of(study.design)
    report = Report(study.design, len(jobs), 0)
    session = Session(study, Store.open(tmp_path, create=True), jobs, Options(), report, None)
    truth, estimates, known = 6 * sum(SECONDS), [], []
    while session.pending:
        for job in session.next_batch(1):
            session.ended[job.cell] += 1
            session.spent[job.cell] += SECONDS[job.cell]
            truth -= SECONDS[job.cell]
        estimate = session.time_left(1)
        assert estimate is not None
        estimates.append(estimate)
        known.append(len(session.ended) == 4)
    # Every cell has one run among the first four; from then on the estimate is exact, so it falls.
    assert known.index(True) == 3
    later = estimates[3:]
    assert later[0] == pytest.approx(5 * sum(SECONDS))
    assert later == sorted(later, reverse=True)
    assert (later[-1], truth) == pytest.approx((0.0, 0.0), abs=1e-9)
