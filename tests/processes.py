"""Starting goalward in processes of its own, and looking after them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest


def start_python(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_goalward(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return start_python(folder, "-m", "goalward", *arguments)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait for something that must come, or fail if the process ends before.

    The limit only keeps a broken test from hanging.
    """
    for _ in range(6000):
        if condition():
            return
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)
    pytest.fail("it did not come in two minutes")


def listed_processes(columns: str) -> list[list[str]]:
    text = subprocess.run(["ps", "-ww", "-eo", columns], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in text.splitlines()]


def descendants(pid: int) -> set[int]:
    """Return the processes below one."""
    rows = [(int(own), int(parent)) for own, parent in listed_processes("pid=,ppid=")]
    below, grown = {pid}, True
    while grown:
        more = {own for own, parent in rows if parent in below} - below
        below |= more
        grown = bool(more)
    return below - {pid}


def alive(pids: Iterable[int]) -> list[int]:
    """Return those of some processes that have not ended."""
    states = {int(pid): state for pid, state in listed_processes("pid=,stat=")}
    return [pid for pid in pids if not states.get(pid, "Z").startswith("Z")]
