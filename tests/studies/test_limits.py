"""Limits per run: what exceeds them is recorded as failed with its reason, and everything else has the same bits."""

import json
import os

import pytest

from goalward.errors import SettingError
from goalward.studies.runner import Options, run_study
from goalward.studies.store import Store
from goalward.studies.worker_process import Limits
from goalward.studies.workers import ThisProcess, open_workers

GREEDY = '''
import time
from pathlib import Path
import numpy as np
from goalward.agents import PSRL

class Loops(PSRL):
    def plan(self, state):
        while True:
            print("round and round")
            time.sleep(0.001)

class Hoards(PSRL):
    def plan(self, state):
        self.hoard = [np.ones(10_000_000) for _ in range(100)]
        time.sleep(60)

class Counts(PSRL):
    """Counts the runs that reach a plan, by the length of a file."""
    def plan(self, state):
        with open({counter!r}, "a") as counter:
            counter.write("x")

class CountsRaises(Counts):
    def plan(self, state):
        super().plan(state)
        raise OSError("the network is busy")

class CountsLoops(Counts):
    def plan(self, state):
        super().plan(state)
        time.sleep(60)

class CountsHoards(Counts):
    def plan(self, state):
        super().plan(state)
        self.hoard = [np.ones(10_000_000) for _ in range(100)]
        time.sleep(60)

class Kills(PSRL):
    def plan(self, state):
        import os
        os._exit(9)

class Flaky(PSRL):
    """Fails as long as a file is there, which it removes."""
    def plan(self, state):
        if Path({marker!r}).exists():
            Path({marker!r}).unlink()
            raise OSError("the network is busy")
        return super().plan(state)
'''


@pytest.fixture
def greedy(folder, write_study):
    marker = folder / "flaky"
    marker.touch()
    (folder / "greedy.py").write_text(GREEDY.format(marker=str(marker), counter=str(folder / "counter")))

    def write(*names):
        return write_study(*(f"greedy.py:{name}" for name in names), "psrl")

    return write


def test_runs_beyond_their_limits_fail_with_a_reason(greedy, folder, run_here, digests):
    study = greedy("Loops", "Hoards", "Kills").replace(runs=1)
    store = Store.open(folder / "results", create=True)
    quick = Options(only=["agent=Loops", "agent=psrl"], limits=Limits(2.0))
    small = Options(only=["agent=Hoards", "agent=Kills"], limits=Limits(memory=600))
    looped = run_study(study, store, ThisProcess, quick)
    assert [failure.error for failure in looped.failures] == ["the run took longer than the limit of 2 s"]
    record = json.loads(looped.failures[0].path.read_text())
    assert "round and round" in record["output"]
    assert record["host"] == os.uname().nodename
    assert 2.0 <= record["seconds"] < 30.0
    errors = {failure.agent: failure.error for failure in run_study(study, store, ThisProcess, small).failures}
    assert "MB of memory, more than the limit of 600 MB" in errors["Hoards"]
    assert errors["Kills"] == "the process of this run died (exit code 9); out of memory?"
    # The runs that stay within the limits are those without limits.
    _, free = run_here(study, "free", options=Options(only=["agent=psrl"]))
    cell = study.design.cells[-1]
    keys = study.design.keys(cell)
    assert [store.read(key).document["data_sha256"] for key in keys] == [
        free.read(key).document["data_sha256"] for key in keys
    ]


def test_failed_runs_are_tried_again_only_on_request(greedy, folder):
    study = greedy("Flaky")
    store = Store.open(folder / "results", create=True)
    first = run_study(study, store, ThisProcess)
    assert [failure.error for failure in first.failures] == ["OSError: the network is busy"]
    second = run_study(study, store, lambda: pytest.fail("nothing is to be made"))
    assert (second.done, [failure.error for failure in second.failures]) == (0, ["OSError: the network is busy"])
    third = run_study(study, store, ThisProcess, Options(retry_failed=True))
    assert (third.complete, third.failures) == (True, [])
    assert not any((store.folder / "failed").iterdir())


def test_a_run_that_fails_is_tried_again_at_once(greedy, folder):
    store = Store.open(folder / "results", create=True)
    report = run_study(greedy("Flaky"), store, lambda: open_workers(2), Options(retries=1))
    assert report.complete


@pytest.mark.parametrize("retries", [0, 1, 2, 4])
@pytest.mark.parametrize(
    ("agent", "limits", "reason"),
    [
        ("CountsRaises", Limits(60.0), "OSError: the network is busy"),
        ("CountsLoops", Limits(0.5), "the run took longer than the limit of 0.5 s"),
        ("CountsHoards", Limits(memory=500), "MB of memory, more than the limit of 500 MB"),
    ],
)
def test_a_run_beyond_its_limits_is_tried_as_often_as_one_that_raises(greedy, folder, retries, agent, limits, reason):
    study = greedy(agent).replace(runs=1)
    store = Store.open(folder / "results", create=True)
    options = Options(only=[f"agent={agent}"], limits=limits, retries=retries)
    report = run_study(study, store, lambda: open_workers(2), options)
    assert len((folder / "counter").read_text()) == retries + 1
    (failure,) = report.failures
    assert reason in failure.error
    assert report.lost == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_the_time_limit_kills_has_not_died_by_itself(greedy, folder, workers):
    store = Store.open(folder / "results", create=True)
    options = Options(only=["agent=Loops"], limits=Limits(0.005), retries=1)
    report = run_study(greedy("Loops"), store, lambda: open_workers(workers), options)
    assert [failure.error for failure in report.failures] == ["the run took longer than the limit of 0.005 s"] * 2
    assert report.lost == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(limits=Limits(0.0)), "the time limit is 0.0; it must be a positive number"),
        (Options(limits=Limits(None, 0)), "the memory limit is 0; it must be an integer of at least 1"),
        (Options(retries=-1), "retries is -1; it must be an integer of at least 0"),
    ],
)
def test_limits_that_are_none(greedy, run_here, options, message):
    with pytest.raises(SettingError, match=message):
        run_here(greedy("Loops"), options=options)
