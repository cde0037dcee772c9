"""A Dask cluster of two real worker processes on loopback, one of them killed half-way."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from goalward.errors import SettingError
from goalward.execution.pools import Dask
from goalward.results.store import Store

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
        """Wait for a line that must come; the limit only keeps a broken test from hanging."""
        for _ in range(1200):
            found = re.search(pattern, (self.folder / f"{name}.log").read_text())
            if found:
                return found[1] if found.groups() else found[0]
            time.sleep(0.1)
        pytest.fail((self.folder / f"{name}.log").read_text())

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


def goalward(folder, *arguments):
    command = [sys.executable, "-m", "goalward", "run", "slow.toml", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_worker_changes_no_bit(slow, cluster, digests):
    workers = [cluster.worker(name) for name in ("one", "two")]
    for name in ("one", "two"):
        cluster.wait_for(name, "Registered to")
    run = goalward(slow, "--dask", cluster.address, "--out", "cluster")
    for _ in range(1200):
        if len(list(slow.glob("cluster/runs/*/*.parquet"))) >= 3 or run.poll() is not None:
            break
        time.sleep(0.1)
    assert run.poll() is None, run.communicate()
    os.kill(workers[0].pid, signal.SIGKILL)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert "12 of 12 runs are stored in cluster" in out
    alone = goalward(slow, "--workers", "1", "--out", "alone")
    out, err = alone.communicate()
    assert alone.returncode == 0, err
    assert digests(Store.open(slow / "cluster")) == digests(Store.open(slow / "alone"))


def test_a_lost_scheduler_ends_the_study(slow, cluster):
    cluster.worker("one")
    cluster.wait_for("one", "Registered to")
    run = goalward(slow, "--dask", cluster.address, "--out", "cluster")
    for _ in range(1200):
        if list(slow.glob("cluster/runs/*/*.parquet")) or run.poll() is not None:
            break
        time.sleep(0.1)
    cluster.processes[0].kill()
    out, err = run.communicate(timeout=120)
    assert (run.returncode, "stopped: the scheduler cannot be reached any more" in out + err) == (1, True), out + err
    assert "Traceback" not in err


def test_a_cluster_without_workers_is_refused(cluster):
    code = f"from goalward.cli import main; main(['run', 'growth', '--dask', {cluster.address!r}])"
    done = subprocess.run([sys.executable, "-c", code], cwd=cluster.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"the Dask cluster at {cluster.address} has no workers; start some: dask worker" in done.stderr


def test_nobody_at_the_address():
    done = subprocess.run(
        [sys.executable, "-c", "from goalward.execution.pools import Dask; Dask('tcp://127.0.0.1:1')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in done.stderr


def test_dask_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingError, match=r"Dask is not installed; pip install 'goalward\[dask\]'"):
        Dask("tcp://127.0.0.1:1")
