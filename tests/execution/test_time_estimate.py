"""What a study costs, and how it is divided into jobs."""

import pytest

from goalward.errors import SettingError
from goalward.execution.pools import InProcess
from goalward.execution.runner import jobs_of, run_study
from goalward.execution.time_estimate import Estimate, estimate_time
from goalward.results.store import Store
from goalward.studies.study import Study

CELL = {"world": "grid-world", "settings": {"rows": 2, "columns": 2}}


def study(runs=4, **more):
    given = {"name": "small", "runs": runs, "episodes": 30, "worlds": [CELL], "agents": [{"agent": "psrl"}]}
    return Study.from_dict(given | more)


@pytest.mark.parametrize(
    ("runs", "seconds", "shards"),
    [(10, 0.0, 1), (10, 599.0, 1), (10_000, 1_200.0, 2), (10_000, 6e5, 1_000), (10_000, 6e9, 1_000), (50, 6e9, 50)],
)
def test_jobs_are_few_and_long(runs, seconds, shards):
    estimate = Estimate(runs, runs, seconds, 1.0, 0, 1)
    assert estimate.shards() == shards
    assert shards == 1 or estimate.shard_seconds(shards) >= 600.0


def test_the_number_of_jobs_can_be_given():
    estimate = Estimate(10, 10, 5.0, 3.0, 0, 1)
    assert (estimate.shards(4), estimate.shard_seconds(4)) == (4, 3.0), "no shard is shorter than its longest run"
    for wrong in (0, 1_001):
        with pytest.raises(SettingError, match=f"shards is {wrong}; it must be from 1 to 1,000"):
            estimate.shards(wrong)


def test_stored_runs_are_measured_and_not_counted(tmp_path):
    asked = []
    before = estimate_time(study(), tmp_path / "results", asked.append)
    assert (before.runs, before.missing, before.measured, before.cells) == (4, 4, 0, 1)
    assert asked == ["psrl in grid-world"]
    assert before.seconds == pytest.approx(4 * before.longest)
    assert before.longest > 0.0
    run_study(study(runs=3), Store.open(tmp_path / "results", create=True), InProcess)
    after = estimate_time(study(), tmp_path / "results", asked.append)
    assert (after.runs, after.missing, after.measured) == (4, 1, 1)
    assert len(asked) == 1


def test_shards_share_all_runs_between_them():
    twice = study(runs=5, agents=[{"agent": "psrl"}, {"agent": "uniform"}, {"agent": "psrl", "label": "again"}])
    whole = [job.key for job in jobs_of(twice.design)]
    assert len(whole) == len(set(whole)) == 10, "cells with the same content share their runs"
    parts = [[job.key for job in jobs_of(twice.design, (number, 3))] for number in (1, 2, 3)]
    assert sorted(key for part in parts for key in part) == sorted(whole)
    assert [len(part) for part in parts] == [4, 3, 3]
