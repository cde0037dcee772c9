"""A Dask cluster of two real worker processes on loopback, one of them killed half-way."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import Future

import pytest

from goalward.cli.study import report_tables
from goalward.errors import SettingError
from goalward.studies import session, worker
from goalward.studies.executors import ClusterLostError, Dask, InProcess, check_address
from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from processes import start_goalward, start_python, wait_until

pytest.importorskip("distributed")


class Cluster:
    """A scheduler and its workers; what they print goes to a file each."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self.wait_for("scheduler", r"Scheduler at:\s+(tcp://\S+)")

    def start(self, name, *arguments):
        with (self.folder / f"{name}.log").open("w") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            # Not the folder of the study: the workers get all they need sent.
            self.processes.append(subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log))
        return self.processes[-1]

    def worker(self, name):
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        return self.start(name, "worker", self.address, "--name", name, *options)

    def wait_for(self, name, pattern):
        log = self.folder / f"{name}.log"
        wait_until(lambda: re.search(pattern, log.read_text()))
        return re.search(pattern, log.read_text())[1]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


def test_a_killed_worker_changes_no_bit(held, cluster, run_here, digests):
    workers = [cluster.worker(name) for name in ("one", "two")]
    for name in ("one", "two"):
        cluster.wait_for(name, "(Registered to)")
    run = start_goalward(held.folder, "run", "held.toml", "--dask", cluster.address, "--out", "results")
    wait_until(lambda: held.stored() >= 3 and workers[0].pid in held.waiting(), run)
    os.kill(workers[0].pid, signal.SIGKILL)
    held.release()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert "12 of 12 runs are stored in results" in out
    _, alone = run_here(Study.load(held.folder / "held.toml"), "alone")
    assert digests(Store.open(held.folder / "results")) == digests(alone)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_study_and_leaves_the_cluster_alone(held, cluster, number):
    worker = cluster.worker("one")
    cluster.wait_for("one", "(Registered to)")
    run = start_goalward(held.folder, "run", "held.toml", "--dask", cluster.address, "--out", "results")
    wait_until(lambda: held.stored() and held.waiting(), run)
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 128 + number, err
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if "goalward: " in line]) == 1, err
    assert worker.poll() is None
    assert cluster.processes[0].poll() is None


RUN_IMPATIENTLY = """
from unittest.mock import patch
from goalward.cli import main
from goalward.studies import executors as pools
from goalward.studies import session

with patch.object(pools, "CONNECT_SECONDS", 3), patch.object(session, "CHECK_SECONDS", 0.1):
    main(["run", "held.toml", "--dask", {address!r}, "--out", "results"])
"""


def test_a_lost_scheduler_ends_the_study(held, cluster):
    cluster.worker("one")
    cluster.wait_for("one", "(Registered to)")
    run = start_python(held.folder, "-c", RUN_IMPATIENTLY.format(address=cluster.address))
    wait_until(lambda: held.stored() and held.waiting(), run)
    cluster.processes[0].kill()
    out, err = run.communicate(timeout=120)
    assert (run.returncode, "the scheduler cannot be reached any more" in out) == (1, True), out + err
    assert "Traceback" not in err


def test_a_cluster_without_workers_is_refused(cluster):
    code = f"from goalward.cli import main; main(['run', 'growth', '--dask', {cluster.address!r}])"
    done = subprocess.run([sys.executable, "-c", code], cwd=cluster.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"the Dask cluster at {cluster.address} has no workers; start some: dask worker" in done.stderr


CONNECT_TO_NOBODY = """
from goalward.studies import executors as pools

pools.CONNECT_SECONDS = 0.5
pools.Dask("tcp://127.0.0.1:1")
"""


def test_nobody_at_the_address(tmp_path):
    done = start_python(tmp_path, "-c", CONNECT_TO_NOBODY)
    errors = done.communicate()[1]
    assert "nobody answers at 'tcp://127.0.0.1:1'" in errors
    assert "distributed" not in errors.replace("dask scheduler", ""), "Dask is not asked, so nothing is tried again"


@pytest.mark.parametrize("address", ["", "scheduler", "tcp://host", "http://host:8786", "tcp://:8786", "8786"])
def test_addresses_that_are_none(address):
    with pytest.raises(SettingError, match="it must look like tcp://host:8786"):
        check_address(address)
    with pytest.raises(SettingError, match="nobody answers at 'tcp://localhost:99999'"):
        check_address("tcp://localhost:99999")


class LateWorkers(InProcess):
    """Workers like those of a cluster, the second of which has another goalward."""

    def submit(self, function, *arguments):
        self.calls = getattr(self, "calls", 0) + 1
        expected = worker.identity() if self.calls == 1 else ("0.0.1", 1, "other kernels")
        return super().submit(worker.call_alike, expected, function, *arguments)


def test_a_worker_that_joins_later_with_another_goalward_stops_the_study(tmp_path):
    study = Study.from_dict({"name": "late", "runs": 3, "episodes": 2, "worlds": [{"world": "grid-world"}],
                             "agents": [{"agent": "uniform"}, {"agent": "psrl"}]})  # fmt: skip
    store = Store.open(tmp_path / "results", create=True)
    report = run_study(study, store, LateWorkers)
    assert (report.done, report.complete, report.failures) == (1, False, [])
    assert "that joined later has" in report.stopped
    assert "this process ('0.0.1', 1, 'other kernels')" in report.stopped
    assert run_study(study, store, InProcess).complete, "the same study goes on where it was stopped"


class Vanishing(InProcess):
    """A cluster whose scheduler ends while the kernels are compiled."""

    def warm(self, agents):
        raise ClusterLostError("Stream is closed")


def test_a_scheduler_that_is_lost_before_the_first_run_ends_the_study(tmp_path):
    study = Study.from_dict({"name": "lost", "runs": 1, "episodes": 2, "worlds": [{"world": "grid-world"}],
                             "agents": [{"agent": "uniform"}]})  # fmt: skip
    report = run_study(study, Store.open(tmp_path / "results", create=True), Vanishing)
    assert "the scheduler cannot be reached any more" in report.stopped
    assert report.failures == []


class Deserted(InProcess):
    """A cluster whose workers have all left: it takes runs and answers nothing."""

    empty = True

    def submit(self, function, *arguments):
        return Future()


def test_a_cluster_without_workers_ends_the_study_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "EMPTY_SECONDS", 0.05)
    monkeypatch.setattr(session, "CHECK_SECONDS", 0.01)
    study = Study.from_dict({"name": "left", "runs": 2, "episodes": 2, "worlds": [{"world": "grid-world"}],
                             "agents": [{"agent": "uniform"}]})  # fmt: skip
    store = Store.open(tmp_path / "results", create=True)
    notes = []
    report = run_study(study, store, Deserted, watch=lambda progress: notes.append(progress.note))
    assert (report.done, report.complete, report.failures) == (0, False, [])
    assert "no workers for some time; start some, and the same command goes on" in report.stopped
    assert notes[-1] == "the cluster has no workers; waiting for some"
    assert report_tables(report, store.folder)[0].text().split()[:9] == [
        "made",
        "no",
        "run",
        "was",
        "made",
        "stored",
        "0",
        "of",
        "2",
    ]
    assert run_study(study, store, InProcess).complete


def test_dask_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingError, match=r"Dask is not installed; pip install 'goalward\[dask\]'"):
        Dask("tcp://127.0.0.1:1")
