"""A real Dask cluster on loopback, whose workers, scheduler and connections come and go."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import Future

import pytest

from goalward.cli.study import report_tables
from goalward.errors import SettingError
from goalward.studies import runner, worker
from goalward.studies import workers as pools
from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.workers import Dask, ThisProcess
from processes import Proxy, start_goalward, start_python, wait_until

pytest.importorskip("distributed")


class Cluster:
    """A scheduler and its workers; what they print goes to a file each."""

    def __init__(self, folder):
        self.folder, self.processes, self.kept = folder, [], None
        self.scheduler = self.start_scheduler(0)
        self.address = self.wait_for("scheduler", r"Scheduler at:\s+(tcp://\S+)")
        self.port = int(self.address.rpartition(":")[2])

    def start_scheduler(self, port):
        return self.start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")

    def start(self, name, *arguments, module=("-m", "dask")):
        with (self.folder / f"{name}.log").open("w") as log:
            command = [sys.executable, *module, *arguments]
            # Not the folder of the study: the workers get all they need sent.
            self.processes.append(subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log))
        return self.processes[-1]

    def worker(self, name):
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        return self.start(name, "worker", self.address, "--name", name, *options)

    def end(self, process):
        process.kill()
        process.wait()

    def ready_worker(self):
        """Return a worker that is there, the same for one test after the other."""
        if self.kept is None or self.kept.poll() is not None:
            self.kept = self.worker("kept")
            self.wait_for("kept", "(Registered to)")
        return self.kept

    def wait_for(self, name, pattern):
        log = self.folder / f"{name}.log"
        wait_until(lambda: re.search(pattern, log.read_text()))
        return re.search(pattern, log.read_text())[1]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return a cluster that the tests of this module share; each asks for the workers it needs."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


def test_a_cluster_without_workers_is_refused(cluster):
    if cluster.kept is not None:
        pytest.skip("another test has started workers already")
    with pytest.raises(SettingError, match=f"cluster at {cluster.address} has no workers; start one with: dask"):
        Dask(cluster.address)


def test_a_killed_worker_changes_no_bit(held, cluster, run_here, digests):
    cluster.ready_worker()
    killed = cluster.worker("killed")
    cluster.wait_for("killed", "(Registered to)")
    run = start_goalward(held.folder, "run", "held.toml", "--dask", cluster.address, "--out", "results")
    wait_until(lambda: held.stored() >= 3 and killed.pid in held.waiting(), run)
    os.kill(killed.pid, signal.SIGKILL)
    held.release()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert "12 of 12 runs are stored in results" in out
    _, alone = run_here(Study.load(held.folder / "held.toml"), "alone")
    assert digests(Store.open(held.folder / "results")) == digests(alone)


def test_a_signal_ends_the_study_and_leaves_the_cluster_alone(held, cluster):
    worker = cluster.ready_worker()
    run = start_goalward(held.folder, "run", "held.toml", "--dask", cluster.address, "--out", "results")
    wait_until(lambda: held.stored() and held.waiting(), run)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGINT, err
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if "goalward: " in line]) == 1, err
    assert worker.poll() is None
    assert cluster.processes[0].poll() is None


RUN_IMPATIENTLY = """
from unittest.mock import patch
from goalward.cli import main
from goalward.studies import runner
from goalward.studies import workers as pools

patches = {{"CONNECT_SECONDS": 3, "EMPTY_SECONDS": {patience}}}
with patch.multiple(pools, **patches), patch.multiple(runner, CHECK_SECONDS=0.1, OVERDUE_SECONDS=2.0):
    main(["run", "held.toml", "--dask", {address!r}, "--out", "results"])
"""


FIVE_WORKERS = """
import asyncio
from distributed import Worker

async def main():
    workers = [Worker({address!r}, nthreads=1, memory_limit=0, dashboard=False) for _ in range(5)]
    await asyncio.gather(*workers)
    await asyncio.gather(*(worker.finished() for worker in workers))

asyncio.run(main())
"""


def test_workers_that_join_later_are_all_busy(held, cluster):
    cluster.ready_worker()
    run = start_goalward(held.folder, "run", "held.toml", "--dask", cluster.address, "--out", "results")
    wait_until(held.waiting, run)
    joined = cluster.start("five", FIVE_WORKERS.format(address=cluster.address), module=("-c",))
    wait_until(lambda: held.waiting_threads() == 6, run)
    held.release()
    out, err = run.communicate(timeout=120)
    cluster.end(joined)
    assert (run.returncode, "12 of 12 runs are stored" in out) == (0, True), out + err


def test_the_runs_of_a_frozen_worker_are_made_elsewhere(held, cluster, run_here, digests):
    """After OVERDUE_SECONDS, two seconds here. The scheduler itself gives a frozen worker up after five minutes."""
    cluster.ready_worker()
    frozen = cluster.worker("frozen")
    cluster.wait_for("frozen", "(Registered to)")
    run = start_python(held.folder, "-c", RUN_IMPATIENTLY.format(address=cluster.address, patience=60))
    wait_until(lambda: frozen.pid in held.waiting(), run)
    os.kill(frozen.pid, signal.SIGSTOP)
    held.release()
    out, err = run.communicate(timeout=120)
    cluster.end(frozen)
    assert (run.returncode, "12 of 12 runs are stored" in out) == (0, True), out + err
    assert "Traceback" not in err
    _, alone = run_here(Study.load(held.folder / "held.toml"), "alone")
    assert digests(Store.open(held.folder / "results")) == digests(alone)


def test_a_connection_that_is_cut_twice_loses_no_run(held, cluster, run_here, digests):
    cluster.ready_worker()
    proxy = Proxy(cluster.port)
    proxy.start()
    run = start_goalward(held.folder, "run", "held.toml", "--dask", proxy.address, "--out", "results")
    for _ in range(2):
        wait_until(lambda: held.waiting() and len(proxy.pairs) > 1, run)
        proxy.cut()
    held.release()
    out, err = run.communicate(timeout=120)
    proxy.server.close()
    assert (run.returncode, "12 of 12 runs are stored" in out) == (0, True), out + err
    assert "Traceback" not in err
    assert "handed out again" in out
    _, alone = run_here(Study.load(held.folder / "held.toml"), "alone")
    assert digests(Store.open(held.folder / "results")) == digests(alone)


def test_a_scheduler_that_is_restarted_and_one_that_is_lost(held, cluster):
    """It comes last, because the others need the scheduler."""
    cluster.ready_worker()
    run = start_python(held.folder, "-c", RUN_IMPATIENTLY.format(address=cluster.address, patience=8))
    wait_until(lambda: held.stored() and held.waiting(), run)
    cluster.end(cluster.scheduler)
    held.forget_waiting()
    cluster.scheduler = cluster.start_scheduler(cluster.port)
    again = cluster.worker("again")
    wait_until(lambda: again.pid in held.waiting(), run)
    cluster.end(cluster.scheduler)
    out, err = run.communicate(timeout=120)
    assert (run.returncode, "the scheduler does not answer; start the scheduler again" in out) == (1, True), out + err
    assert "Traceback" not in err


CONNECT_TO_NOBODY = """
from goalward.studies import workers as pools

pools.CONNECT_SECONDS = 0.5
pools.Dask("tcp://127.0.0.1:1")
"""


def test_nobody_at_the_address(tmp_path):
    done = start_python(tmp_path, "-c", CONNECT_TO_NOBODY)
    errors = done.communicate()[1]
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in errors


@pytest.mark.parametrize("address", ["", "http://host:8786", "tcp://:8786"])
def test_addresses_that_are_none(address, monkeypatch):
    monkeypatch.setattr(pools, "CONNECT_SECONDS", 0.5)
    with pytest.raises(SettingError, match="give its address, such as tcp://host:8786"):
        Dask(address)


STUDY = {
    "name": "late",
    "runs": 3,
    "episodes": 2,
    "worlds": [{"world": "grid-world"}],
    "agents": [{"agent": "uniform"}, {"agent": "psrl"}],
}


class LateWorkers(ThisProcess):
    """Workers like those of a cluster, the second of which has another goalward."""

    calls = 0

    def submit(self, batch):
        if batch.function is worker.carry_out:
            self.calls += 1
            if self.calls > 1:
                batch = batch._replace(shared=(("0.0.1", 1, "other kernels"), *batch.shared[1:]))
        return super().submit(batch)


def test_a_worker_that_joins_later_with_another_goalward_stops_the_study(tmp_path):
    study = Study.from_dict(STUDY)
    store = Store.open(tmp_path / "results", create=True)
    report = run_study(study, store, LateWorkers)
    assert (report.done, report.complete, report.failures) == (1, False, [])
    assert "a worker on " in report.stopped
    assert "the study needs ('0.0.1', 1, 'other kernels')" in report.stopped
    assert run_study(study, store, ThisProcess).complete, "the same study goes on where it was stopped"


class Deserted(ThisProcess):
    """A cluster that takes runs and answers nothing: its workers have left, or its scheduler."""

    state = pools.EMPTY

    def submit(self, batch):
        return Future() if batch.function is worker.carry_out else super().submit(batch)

    def problem(self):
        return self.state


class Gone(Deserted):
    state = pools.GONE


class LostEarly(Deserted):
    """The scheduler ends while the kernels are compiled."""

    state = pools.GONE

    def submit(self, batch):
        return Future()


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        (Deserted, "the cluster has no workers; start workers, and run the study again"),
        (Gone, "the scheduler does not answer; start the scheduler again, and run the study again"),
        (LostEarly, "the scheduler does not answer; start the scheduler again, and run the study again"),
    ],
)
def test_a_cluster_that_is_lost_ends_the_study_after_a_while(tmp_path, monkeypatch, workers, reason):
    monkeypatch.setattr(pools, "EMPTY_SECONDS", 0.05)
    for module in (runner, pools):
        monkeypatch.setattr(module, "CHECK_SECONDS", 0.01)
    study = Study.from_dict(STUDY)
    store = Store.open(tmp_path / "results", create=True)
    notes = []
    report = run_study(study, store, workers, watch=lambda progress: notes.append(progress.waiting))
    assert (report.done, report.complete, report.failures) == (0, False, [])
    assert reason in report.stopped
    assert workers.state in notes
    text = " ".join(report_tables(report, store.folder)[0].text().split())
    assert text.startswith("made no run was made stored 0 of 6")
    assert run_study(study, store, ThisProcess).complete


def test_dask_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingError, match=r"Dask is not installed; run pip install '.\[dask\]' in a checkout"):
        Dask("tcp://127.0.0.1:1")
