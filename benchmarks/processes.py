"""Shared functions of the benchmarks: processes with CPU limits, tables, growth exponents, details of the machine.

Benchmarks measure CPU time, because other processes hardly affect it, and because it counts the work of all threads.
The parent process enforces CPU limits: it reads the CPU time of the measured process. Limits inside that process
(`setitimer(ITIMER_PROF)`, `RLIMIT_CPU`) would arm a timer in the kernel, and while a timer is armed, Linux advances the
process's CPU clock in steps of 4 ms.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "CutShortError",
    "duration",
    "exponent",
    "machine",
    "one_core",
    "one_core_environment",
    "records",
    "say",
    "table",
]

HERE = Path(__file__).resolve().parent
LOOK_EVERY = 0.1


class CutShortError(Exception):
    """A process reached its CPU limit; `records` has the records that it had printed."""

    def __init__(self, found: list[dict[str, Any]]):
        super().__init__("limit reached")
        self.records = found


def one_core() -> None:
    """Keep this process and its children on one core, if the operating system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def one_core_environment() -> dict[str, str]:
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return os.environ | dict.fromkeys(threads, "1")


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU seconds of a process so far, to a hundredth of a second; None on systems without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def records(command: list[str], limit: float, environment: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Run a process that prints JSON lines, and return all of them except ``{"begin": true}``.

    The clock starts at ``{"begin": true}`` and stops at the next line. If it exceeds `limit` CPU seconds (wall-clock
    seconds on systems without /proc), the process is killed and `CutShortError` raised. Any other failure ends the
    benchmark.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment or one_core_environment())
    began: list[float] = []
    found: list[dict[str, Any]] = []
    done = threading.Event()
    killed = False

    def spent() -> float:
        seconds = cpu_seconds(process.pid)
        return time.monotonic() if seconds is None else seconds

    def watch() -> None:
        nonlocal killed
        while not done.wait(LOOK_EVERY):
            since = began[-1:]  # a copy, because the other thread may clear the list
            if since and spent() - since[0] > limit:
                killed = True
                process.kill()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert process.stdout is not None
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        record = json.loads(line)
        if record.get("begin"):
            began.append(spent())
        else:
            began.clear()
            found.append(record)
    process.wait()
    done.set()
    watcher.join()
    if killed:
        raise CutShortError(found)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}; see its message above")
    return found


def machine(python: Path | None = None, others: tuple[str, ...] = ()) -> str:
    """Return the processor, the load and versions, also of the packages `others` in the environment of `python`."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    versions = {name: metadata.version(name) for name in ("goalward", "numpy", "scipy", "numba")}
    if python is not None:
        script = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
        printed = subprocess.run([str(python), "-c", script, *others], stdout=subprocess.PIPE, text=True, check=True)
        versions |= dict(zip(others, printed.stdout.split(), strict=True))
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = f"load {os.getloadavg()[1]:.1f}"
    return f"{processor}, {os.cpu_count()} cores, {load}; Python {platform.python_version()}, {shown}."


def table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


def exponent(sizes: Sequence[float], figures: Sequence[float]) -> float | None:
    """Return the exponent b of the power law figure = a size^b, fitted in logarithms; None for a single size."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])


def say(line: str) -> None:
    """Print a line of progress to standard error."""
    print(line, file=sys.stderr, flush=True)
