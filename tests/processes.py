"""Starting goalward in processes of its own, looking after them, and cutting their connections."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
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


class Proxy(threading.Thread):
    """Passes connections on to a port, and can cut all of them."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self.port = port
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.server.getsockname()[1]}"

    def run(self) -> None:
        with suppress(OSError):
            while True:
                pair = self.server.accept()[0], socket.create_connection(("127.0.0.1", self.port))
                self.pairs.append(pair)
                for ends in (pair, pair[::-1]):
                    threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    def pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for pair in self.pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self.pairs.clear()
