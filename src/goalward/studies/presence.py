"""Files in ``active/`` of a results folder that show which processes are making which runs.

Before each batch, a process writes the keys of the batch's runs into its own file, so that other processes choose other
runs. A thread touches the file every few seconds. The age of a file is measured with the clock of the file system, so
the clocks of the machines may differ. A lock file keeps two processes from claiming runs at the same moment.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from goalward import files
from goalward.errors import FileError

TOUCH_SECONDS = 10.0  # how often a process that makes runs touches its file
LATE_SECONDS = 25.0  # after this time without a touch, the process may have been killed
GONE_SECONDS = 60.0  # after this time without a touch, the process counts as gone
LOCK_SECONDS = 1.0  # a lock that is held for longer was left by a process that was killed


class Presence:
    """The file that shows which runs this process is making.

    `name` combines the digest of the study and the shard. Only processes with the same name have runs in common.
    """

    def __init__(self, results: Path, name: str):
        self.folder, self.name, self.others = results / "active", name, 0
        self.path = self.folder / f"{name}-{platform.node()}-{os.getpid()}.json"
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.touch, name="goalward-presence", daemon=True)

    def claim(self, wanted: Iterable[str], making: Iterable[str] = (), workers: int = 0) -> set[str]:
        """Claim the `wanted` runs that no other process is making; return the runs that other processes are making.

        `making` has the runs that this process is making already. Errors of the file system are ignored.
        """
        temporary = self.path.with_name(f".{self.path.stem}{files.TEMPORARY}")
        taken: set[str] = set()
        with suppress(OSError), self.locked():
            self.path.touch()  # the clock of the file system
            taken = self.taken()
            keys = [*making, *(key for key in wanted if key not in taken)]
            facts = {"host": platform.node(), "pid": os.getpid(), "workers": workers, "keys": keys}
            temporary.write_text(json.dumps(facts))
            os.replace(temporary, self.path)
        if not self.thread.is_alive():
            self.thread.start()
        return taken

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While the block runs, keep other processes from claiming runs."""
        self.folder.mkdir(exist_ok=True)
        lock, seen, since = self.folder / "lock", 0, time.monotonic()
        while True:
            with suppress(FileExistsError):
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
                break
            with suppress(FileNotFoundError):
                made, now = lock.stat().st_mtime_ns, time.monotonic()
                if made != seen:
                    seen, since = made, now
                elif now - since > LOCK_SECONDS:
                    lock.unlink()
            time.sleep(0.005)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def touch(self) -> None:
        """Show that the process is alive: touch the file every few seconds until `leave` is called."""
        while not self.over.wait(TOUCH_SECONDS):
            with suppress(OSError):
                os.utime(self.path)

    def taken(self) -> set[str]:
        """Return the keys of the runs that other processes are making now."""
        found = present(self.folder, self.path.stat().st_mtime, f"{self.name}-")
        others = [facts for facts in found if (facts.get("host"), facts.get("pid")) != (platform.node(), os.getpid())]
        self.others = len(others)
        return {key for facts in others for key in facts["keys"]}

    def leave(self) -> None:
        """Stop touching the file and remove it."""
        self.over.set()
        with suppress(OSError):
            self.path.unlink()


def active(results: Path) -> list[dict[str, Any]]:
    """Return the host, pid, workers, run keys and age of each process that is making runs in a results folder."""
    return present(results / "active", time.time())


def present(folder: Path, now: float, name: str = "") -> list[dict[str, Any]]:
    """Return the facts about live processes. Only files whose names begin with `name` are read.

    The fact "age" is the number of seconds since the file was last touched.
    """
    found = []
    for path in folder.glob(f"{name}*.json"):
        with suppress(OSError, FileError, ValueError):
            age = now - path.stat().st_mtime
            facts = json.loads(files.read_bytes(path, follow=False))
            sound = isinstance(facts, dict) and isinstance(facts.get("keys"), list)
            if sound and age < GONE_SECONDS and not has_died(facts):
                found.append(facts | {"age": age})
    return found


def has_died(facts: dict[str, Any]) -> bool:
    """Return whether a process on this machine has ended. For processes on other machines, return False."""
    pid = facts.get("pid")
    if facts.get("host") != platform.node() or type(pid) is not int or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)  # checks whether the process exists; sends no signal
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False
