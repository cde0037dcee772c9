"""SIGINT and SIGTERM at any moment of a study on a Dask cluster: to goalward, to workers, to the scheduler, or to all.

The study leaves with one line and a documented exit code, or finishes if it can. No process is left behind, and the
same study goes on here, with the bits that it has without a cluster. The scheduler and two workers are processes that
stay for the next case; what a case has ended is started again. They end by themselves when nobody needs them.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from signals import LIMIT, catches_signals

import goalward as gw
from goalward.studies.store import Store
from processes import alive, descendants, start_goalward

STUDY = {
    "name": "short", "runs": 12, "episodes": 300, "worlds": [{"world": "grid-world"}], "agents": [{"agent": "psrl"}],
}  # fmt: skip
TEXT = """\
name = "short"
runs = 12
episodes = 300

[[worlds]]
world = "grid-world"

[[agents]]
agent = "psrl"
"""
LINE = re.compile(r"goalward: |stopped: ")


class Cluster:
    """A scheduler and two workers."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="goalward-attack-cluster-"))
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("w") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for(self, name: str, pattern: str, process: subprocess.Popen[bytes]) -> str:
        began = time.monotonic()
        while time.monotonic() - began < LIMIT:
            text = (self.folder / f"{name}.log").read_text()
            if found := re.search(pattern, text):
                return found[1]
            assert process.poll() is None, text
            time.sleep(0.05)
        raise TimeoutError(name)

    def mend(self) -> None:
        """Start what does not run."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            self.workers = []
            options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--idle-timeout", "120")
            self.scheduler = self.start("scheduler", "scheduler", *options)
            self.address = self.wait_for("scheduler", r"Scheduler at:\s+(tcp://\S+)", self.scheduler)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            name = f"worker-{time.monotonic_ns()}"
            options = (
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--memory-limit",
                "0",
                "--death-timeout",
                "20",
            )
            worker = self.start(name, "worker", self.address, "--name", name, *options)
            self.wait_for(name, "(Registered to)", worker)
            self.workers.append(worker)


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process of Dask that was signalled; one that does not leave by itself is killed."""
    try:
        process.wait(timeout=20.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@cache
def cluster() -> Cluster:
    """Return the cluster of this process."""
    return Cluster()


@cache
def expected() -> list[str]:
    """Return the hashes of all runs, as they are without a cluster."""
    with tempfile.TemporaryDirectory(prefix="goalward-attack-") as folder:
        return contents(Path(folder))


def contents(folder: Path) -> list[str]:
    """Go on with the study here, and return the hash of the data of every run."""
    design = gw.run(STUDY, folder, workers=1).design
    store = Store.open(folder)
    return [store.read(key).document["data_sha256"] for cell in design.cells for key in design.keys(cell)]


def attack(rng: random.Random, folder: Path) -> str:
    """Signal a study on a cluster and see how it leaves."""
    found = cluster()
    found.mend()
    (folder / "short.toml").write_text(TEXT)
    process = start_goalward(folder, "run", "short.toml", "--out", "results", "--dask", found.address)
    number = rng.choice([signal.SIGINT, signal.SIGTERM])
    target = rng.choice(["process", "process", "all", "workers", "one worker", "scheduler"])
    assert found.scheduler is not None
    hit = {
        "process": [], "all": [found.scheduler, *found.workers], "workers": found.workers,
        "one worker": found.workers[:1], "scheduler": [found.scheduler],
    }[target]  # fmt: skip
    below: set[int] = set()
    try:
        while not catches_signals(process.pid):
            time.sleep(0.002)
        time.sleep(rng.choice([rng.uniform(0.0, 1.0), rng.uniform(0.0, 8.0)]))
        below = descendants(process.pid)
        for each in hit:
            each.send_signal(number)
        if target in ("process", "all"):
            process.send_signal(number)
        elif target == "workers":
            for each in hit:
                end(each)
            found.mend()
        _out, err = process.communicate(timeout=LIMIT)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    said = len(LINE.findall(_out + err))
    report = (target, number, process.returncode, _out, err)
    assert "Traceback" not in err, report
    allowed = {"process": (0, 128 + number), "all": (0, 1, 2, 128 + number)}.get(target, (0, 1, 2))
    assert process.returncode in allowed, report
    assert process.returncode == 0 or said == 1, report
    assert not alive(below), report
    assert contents(folder / "results") == expected(), report
    return "used" if process.returncode == 0 else "refused"
