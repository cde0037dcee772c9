"""A folder of results.

::

    results/
      goalward-results.json         the version of this layout
      studies/NAME/DIGEST.json      each design of a study that was run here, and when it was run last
      studies/NAME/DIGEST.toml      the study with every setting: goalward run takes it
      runs/ab/ab12...parquet        one file for each run, named by its key (see `record` and `studies.run_spec`)
      attachments/                  models and agent files that runs need, named by their SHA-256
      failed/ab12...json            what went wrong in runs that failed
      damaged/                      files that cannot be used as the run of their name, set aside

Every file is written under another name and renamed into place, so a file that is there is whole, even after a kill.
Two processes that write the same run write the same data; the last file stays.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from goalward import files
from goalward.errors import FileError, UnknownNameError
from goalward.progress import counted
from goalward.studies.attachments import Attachments
from goalward.studies.design import Design
from goalward.studies.run_file import StoredRun, decode

__all__ = ["LAYOUT_VERSION", "NoRun", "Store"]

LAYOUT_VERSION = 2
MARKER = "goalward-results.json"
SUBFOLDERS = ("studies", "runs", "attachments", "failed", "damaged")
LAST_RUN = "last_run"
MOST_NAMED = 5
# No process still writes a temporary file as old as this.
STALE_SECONDS = 3600.0


class NoRun(NamedTuple):
    """Why there is no run to read: it is ``missing``, it ``failed``, or its file is ``damaged``, with the reason."""

    state: str
    reason: str = ""


class Store:
    """A results folder; `Store.open` opens or creates one."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = False) -> Store:
        """Open a results folder; with `create`, make an empty or new folder one."""
        path = Path(folder)
        store = cls(path)
        marker = path / MARKER
        if not os.path.lexists(marker):
            store.begin(create)
            return store
        try:
            version = store.read_json(marker)["version"]
        except (FileError, KeyError, TypeError) as error:
            raise FileError(
                f"{marker}: cannot be read ({error}); if the folder holds results, write"
                f' {{"version": {LAYOUT_VERSION}}} into this file'
            ) from None
        if version != LAYOUT_VERSION:
            raise FileError(
                f"{path}: results of layout version {version}; this goalward reads version {LAYOUT_VERSION}."
                " Use the goalward that wrote them, or choose another folder"
            )
        return store

    def begin(self, create: bool) -> None:
        """Create the folder; raise FileError if it must not be created or holds other files."""
        if not create:
            state = "holds no results of goalward's" if os.path.isdir(self.folder) else "No such folder"
            raise FileError(f"{self.folder}: {state}; goalward run makes some")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            strangers = [entry.name for entry in self.folder.iterdir() if not entry.name.endswith(files.TEMPORARY)]
            # A folder without its marker: it was being removed while a study still wrote to it.
            strangers = [name for name in strangers if name not in SUBFOLDERS]
        except OSError as error:
            raise FileError(f"{self.folder}: {error.strerror or error}; choose a folder that can be written") from None
        # Another shard may have begun the folder a moment ago.
        if strangers and MARKER not in strangers:
            raise FileError(f"{self.folder}: holds other files ({strangers[0]}); choose an empty folder for results")
        marker = json.dumps({"format": "goalward-results", "version": LAYOUT_VERSION}).encode()
        files.write_bytes(self.folder / MARKER, marker, inside=self.folder)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole, or leave what was there untouched."""
        if not os.path.lexists(self.folder / MARKER):
            raise FileError(f"{self.folder}: the results folder was removed or moved while it was in use")
        files.write_bytes(path, content, inside=self.folder)

    def read_json(self, path: Path) -> Any:
        """Return the plain data in a file of this folder; raises FileError with the reason."""
        return files.parse_json(path, files.read_bytes(path, inside=self.folder))

    def check_room(self, needed: int) -> None:
        """Raise FileError if the folder cannot be written or has no room for so many bytes."""
        probe = self.folder / f"probe-{os.getpid()}{files.TEMPORARY}"
        self.write(probe, b"\0" * 65536)
        probe.unlink(missing_ok=True)
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise FileError(
                f"{self.folder}: the runs need about {needed / 1e6:,.0f} MB and {free / 1e6:,.0f} MB are free;"
                " make room, or choose a folder on another disk"
            )

    # Runs

    def path(self, key: str) -> Path:
        """Return where a run is stored."""
        return self.folder / "runs" / key[:2] / f"{key}.parquet"

    def has(self, key: str) -> bool:
        """Return whether a run is stored."""
        return os.path.lexists(self.path(key))

    def add(self, key: str, content: bytes) -> None:
        """Store a run, and forget that it failed before."""
        self.write(self.path(key), content)
        self.failure_path(key).unlink(missing_ok=True)

    def find(self, key: str) -> StoredRun | NoRun:
        """Return a stored run, or why there is none. All readers ask here, so every verb gives the same answer.

        A file counts only if its checksum, its format, its content and its name agree.
        """
        if not self.has(key):
            failure = self.failure(key)
            return NoRun("missing") if failure is None else NoRun("failed", str(failure.get("error")))
        try:
            stored = decode(files.read_bytes(self.path(key), inside=self.folder))
            if stored.key != key:
                raise FileError(f"it holds the run {stored.key} under another name")
        except FileError as error:
            return NoRun("damaged", str(error))
        return stored

    def read(self, key: str) -> StoredRun:
        """Return a stored run; raises FileError with the reason if there is none, or if its file is damaged."""
        found = self.find(key)
        if isinstance(found, NoRun):
            raise FileError(f"{self.path(key)}: {found.reason or 'no such run'}; goalward run makes it again")
        return found

    def set_damaged_aside(self, keys: Iterable[str]) -> list[tuple[Path, str]]:
        """Check some runs and move damaged files to ``damaged/``; these runs are missing from then on.

        Returns where the files are now, and what is wrong with them.
        """
        wanted = list(dict.fromkeys(keys))
        damaged = []
        for key, (state, reason) in zip(wanted, self.states(wanted), strict=True):
            if state == "damaged":
                aside = self.folder / "damaged" / f"{key}-{time.time_ns()}.parquet"
                try:
                    aside.parent.mkdir(exist_ok=True)
                    for place in (self.path(key), aside):
                        files.check_inside(place, self.folder)
                    os.replace(self.path(key), aside)
                except (OSError, FileError) as error:
                    why = error if isinstance(error, FileError) else files.reason(error)
                    aside, reason = self.path(key), f"{reason}; cannot be set aside: {why}"
                damaged.append((aside, reason))
        return damaged

    def states(self, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Check the files of some runs: return the state of each (`StoredRun.state`, `NoRun.state`) and the reason.

        Only these are kept in memory: a stored run takes a hundred kilobytes.
        """

        def state(key: str) -> tuple[str, str]:
            found = self.find(key)
            return found.state, found.reason if isinstance(found, NoRun) else ""

        # Threads help, because hashing and decompression release the interpreter.
        with ThreadPoolExecutor() as threads:
            yield from counted("checking files", "runs", threads.map(state, keys), len(keys))

    def sweep(self) -> None:
        """Remove the temporary files of processes that were killed."""
        for path in self.folder.rglob(f"*{files.TEMPORARY}"):
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

    # Failures

    def failure_path(self, key: str) -> Path:
        """Return where the failure of a run is recorded."""
        return self.folder / "failed" / f"{key}.json"

    def add_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Record that a run failed."""
        self.write(self.failure_path(key), json.dumps(failure, indent=1).encode())

    def failure(self, key: str) -> dict[str, Any] | None:
        """Return what went wrong in a run, if it failed."""
        path = self.failure_path(key)
        if not os.path.lexists(path):
            return None
        try:
            failure = self.read_json(path)
        except FileError as error:
            return {"error": f"its record cannot be read ({error})"}
        return failure if isinstance(failure, dict) else {"error": "its record is damaged"}

    # Studies

    @property
    def attachments(self) -> Attachments:
        """The models and agent files that the runs here need, read and verified when they are asked for."""
        return Attachments(folder=self.folder / "attachments")

    def save_study(self, design: Design, text: str, attachments: Attachments) -> None:
        """Store the design of a study, its text, and the files that its runs need; other designs of it stay."""
        for name, content in attachments.files_beyond(self.attachments):
            self.write(self.folder / "attachments" / name, content)
        document = design.document() | {LAST_RUN: datetime.now(UTC).isoformat()}
        path = self.design_path(design.reference)
        self.write(path.with_suffix(".toml"), text.encode())
        self.write(path, json.dumps(document, indent=1).encode())

    def design_path(self, reference: str) -> Path:
        """Return where a design is stored; `reference` is ``NAME/DIGEST``."""
        return self.folder / "studies" / f"{reference}.json"

    def studies(self) -> Iterator[str]:
        """Return the names of the studies that were run here."""
        yield from sorted({path.parent.name for path in self.folder.glob("studies/*/*.json")})

    def designs(self, name: str) -> list[str]:
        """Return the designs of a study as ``NAME/DIGEST``, the one that was run last at the end."""
        found = []
        for path in (self.folder / "studies" / name).glob("*.json"):
            try:
                document = self.read_json(path)
            except FileError:
                document = None
            last_run = document.get(LAST_RUN) if isinstance(document, dict) else None
            found.append((str(last_run or ""), f"{name}/{path.stem}"))
        return [reference for _, reference in sorted(found)]

    def design(self, study: str | None = None) -> Design:
        """Return a design: the one of ``NAME/DIGEST`` (the beginning of a digest will do), or the last run of ``NAME``.

        Without a name, the study is the only one of the folder.
        """
        known = list(self.studies())
        if study is None:
            if len(known) != 1:
                there = f"holds the studies {', '.join(known)}; choose one with --study" if known else "holds no study"
                raise FileError(f"{self.folder}: {there}")
            study = known[0]
        name, _, digest = study.partition("/")
        if name not in known:
            raise UnknownNameError(f"study in {self.folder}", name, known)
        stored = self.designs(name)
        matching = [reference for reference in stored if reference.startswith(f"{name}/{digest}")]
        if not matching or (digest and len(matching) > 1):
            raise UnknownNameError(f"design in {self.folder}", study, stored)
        return self.read_design(matching[-1])

    def read_design(self, reference: str) -> Design:
        """Return the design that is stored as ``NAME/DIGEST``; raises FileError if it cannot be used."""
        path = self.design_path(reference)
        try:
            design = Design.from_document(self.read_json(path))
        except FileError as error:
            raise FileError(f"{path}: {error}") from None
        if design.reference != reference:
            raise FileError(f"{path}: holds {design.reference} under another name; run the study again")
        return design

    def choice(self, study: str | None = None) -> str:
        """Return a sentence about which design `design` has chosen; empty if there was no choice."""
        name = next(self.studies(), "") if study is None else study
        *others, last = [""] if "/" in name else self.designs(name) or [""]
        if not others:
            return ""
        before = ", ".join(f"--study {reference}" for reference in others[: -MOST_NAMED - 1 : -1])
        return f"{name} was run with {len(others) + 1} designs; this is the last one, {last}. Others: {before}"
