"""SIGINT and SIGTERM at any moment of a study: to the process, to its workers, or to all of them.

The study leaves with one line and the exit code of the signal, or finishes if only workers were ended or the signal
came too late. No process is left behind, nothing stored is damaged, and the same command goes on.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from processes import alive, descendants

STUDY = """\
name = "long"
runs = 30
episodes = 3000

[[worlds]]
world = "grid-world"

[[agents]]
agent = "psrl"
"""
LIMIT = 300.0
"""How many seconds the leaving may take; much, because the machine may be busy with other work."""


def start(folder: Path, workers: int) -> subprocess.Popen[str]:
    """Start the study in a session of its own, so that its group can be signalled."""
    command = [sys.executable, "-m", "goalward", "run", "long.toml", "--out", "results", "--workers", str(workers)]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def catches_signals(pid: int) -> bool:
    """Return whether a process handles SIGTERM; before, it is the interpreter that starts, not goalward."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def attack(rng: random.Random, folder: Path) -> str:
    """Signal a study and see how it leaves."""
    (folder / "long.toml").write_text(STUDY)
    process = start(folder, rng.choice([1, 2]))
    try:
        while not catches_signals(process.pid):
            time.sleep(0.002)
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.5), rng.uniform(0.0, 4.0)]))
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        target = rng.choice(["process", "group", "workers"])
        below = descendants(process.pid)
        if target == "process":
            process.send_signal(number)
        elif target == "group":
            os.killpg(process.pid, number)
        else:
            for pid in below:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        _out, err = process.communicate(timeout=LIMIT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert "Traceback" not in err, err
    assert "leaked" not in err, err
    assert process.returncode in ((0, 1) if target == "workers" else (0, 128 + number)), (process.returncode, err)
    if process.returncode > 1:
        said = [line for line in err.splitlines() if "goalward: " in line]
        assert len(said) == 1, err
    began = time.monotonic()
    while alive(below):
        assert time.monotonic() - began < LIMIT, "processes are left behind"
        time.sleep(0.05)
    return "refused" if process.returncode > 1 else "used"
