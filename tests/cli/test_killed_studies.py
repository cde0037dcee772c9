"""Studies that are really killed or interrupted, at a known moment, and go on."""

import os
import signal
import subprocess
import sys

import pytest

from goalward.studies.store import Store
from goalward.studies.study import Study
from processes import alive, descendants, listed_processes, start_goalward, wait_until

RUN = ("run", "held.toml", "--out", "results", "--workers")


def test_killed_at_two_moments_a_study_goes_on_and_ends_the_same(held, run_here, digests):
    # The first time right after a file was stored, the second time in the middle of a run.
    for come in (held.stored, held.waiting):
        held.forget_waiting()
        process = start_goalward(held.folder, *RUN, "2")
        wait_until(come, process)
        workers = descendants(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        # Nobody is left behind.
        wait_until(lambda workers=workers: not alive(workers))
        assert 1 <= held.stored() <= 6
    held.release()
    process = start_goalward(held.folder, *RUN, "2")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "12 of 12 runs are stored" in out
    _, whole = run_here(Study.load(held.folder / "held.toml"), "whole")
    assert digests(Store.open(held.folder / "results")) == digests(whole)


@pytest.mark.parametrize(
    ("workers", "sent", "code"),
    [("1", signal.SIGTERM, 143), ("2", signal.SIGINT, 130)],
)
def test_interrupted_a_study_leaves_in_order_and_keeps_what_it_has(held, workers, sent, code):
    process = start_goalward(held.folder, *RUN, workers)
    wait_until(lambda: held.stored() and held.waiting(), process)
    below = descendants(process.pid)
    process.send_signal(sent)
    _, err = process.communicate()
    assert process.returncode == code
    why = "interrupted" if sent == signal.SIGINT else "terminated"
    assert f"{why} ({sent.name}); finished runs are stored in results; run the same command again to continue" in err
    assert "Traceback" not in err
    wait_until(lambda: not alive(below))
    store = Store.open(held.folder / "results")
    keys = [key for cell in store.design().cells for key in store.design().keys(cell)]
    assert "damaged" not in {run.state for run in store.states(keys).values()}


def server_and_workers(pid):
    """Return the fork server that a process has started, and the workers below it."""
    rows = [(int(own), int(parent), " ".join(rest)) for own, parent, *rest in listed_processes("pid=,ppid=,args=")]
    servers = [own for own, parent, command in rows if parent == pid and "forkserver" in command]
    return servers, [own for own, parent, _ in rows if parent in servers]


@pytest.mark.parametrize("killed", ["server", "worker"])
def test_killed_before_the_first_run_a_worker_is_replaced(folder, run_here, digests, killed):
    process = start_goalward(folder, "run", "small.toml", "--out", "results", "--workers", "2")
    wait_until(lambda: server_and_workers(process.pid)[killed == "worker"], process)
    os.kill(server_and_workers(process.pid)[killed == "worker"][0], signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "12 of 12 runs are stored" in out
    _, alone = run_here(Study.load(folder / "small.toml"), "alone")
    assert digests(Store.open(folder / "results")) == digests(alone)


RUN_WITH_SMALL_FILES = """
import resource
from goalward.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
main(["run", "large.toml", "--workers", "1"])
"""


def test_a_full_disk_is_recorded_and_harms_nothing(folder):
    # No file may grow beyond 8,000 bytes: the design of the study fits, the files of its runs do not.
    study = (folder / "small.toml").read_text()
    (folder / "large.toml").write_text(study.replace("episodes = 30", "episodes = 2000"))
    done = subprocess.run(
        [sys.executable, "-c", RUN_WITH_SMALL_FILES], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "cannot be written (File too large)" in done.stdout
    assert not list(folder.glob("results/**/*.part"))
