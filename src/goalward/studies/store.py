"""A folder of results.

::

    results/
      goalward-results.json         the version of this layout
      studies/NAME/DIGEST.toml      each study that was run here, complete: goalward run takes it
      runs/ab/ab12...parquet        one file for each run, named by its key (see `run_file` and `run_spec`)
      attachments/                  models and Python files that runs need, named by their SHA-256
      failed/ab12...json            what went wrong in runs that failed
      damaged/                      files that cannot be used as the run of their name, set aside

Every file is written under another name and renamed into place, so a file that is there is whole, even after a kill.
Two processes that write the same run write the same data; the last file stays. Reading executes nothing.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from goalward import files
from goalward.errors import FileError, GoalwardError, UnknownNameError
from goalward.progress import counted
from goalward.studies.attachments import Attachments
from goalward.studies.design import Cell, Design, design_of, world_name
from goalward.studies.run_file import StoredRun, decode
from goalward.studies.spec import parse_spec

__all__ = ["LAYOUT_VERSION", "CellStatus", "Failure", "NoRun", "Status", "Store", "UnusedFiles", "check_studies"]

LAYOUT_VERSION = 3
MARKER = "goalward-results.json"
SUBFOLDERS = ("studies", "runs", "attachments", "failed", "damaged")
LAST_RUN = re.compile(r'^last_run = "(.*)"$', re.MULTILINE)
MOST_NAMED = 5
STALE_SECONDS = 3600.0  # no process still writes a temporary file as old as this


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
            state = "not a results folder" if os.path.isdir(self.folder) else "No such folder"
            raise FileError(f"{self.folder}: {state}; create one with goalward run")
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

    def sweep(self) -> None:
        """Remove the temporary files of processes that were killed."""
        for path in self.folder.rglob(f"*{files.TEMPORARY}"):
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

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
        run = self.find(key)
        if isinstance(run, NoRun):
            raise FileError(f"{self.path(key)}: {run.reason or 'no such run'}; goalward run makes it again")
        return run

    def states(self, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Check the files of some runs: return the state of each (`StoredRun.state`, `NoRun.state`) and the reason.

        Only these are kept in memory: a stored run takes a hundred kilobytes.
        """

        def state(key: str) -> tuple[str, str]:
            run = self.find(key)
            return run.state, run.reason if isinstance(run, NoRun) else ""

        # Threads help, because hashing and decompression release the interpreter.
        with ThreadPoolExecutor() as threads:
            yield from counted("checking files", "runs", threads.map(state, keys), len(keys))

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
                    for path in (self.path(key), aside):
                        files.check_inside(path, self.folder)
                    os.replace(self.path(key), aside)
                except (OSError, FileError) as error:
                    why = error if isinstance(error, FileError) else files.reason(error)
                    aside, reason = self.path(key), f"{reason}; cannot be set aside: {why}"
                damaged.append((aside, reason))
        return damaged

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
        """The models and Python files that the runs here need, read and verified when they are asked for."""
        return Attachments(folder=self.folder / "attachments")

    def save_study(self, reference: str, text: str, attachments: Attachments) -> None:
        """Store a study and the files that its runs need; other designs of the same name stay."""
        for name, content in attachments.missing_in(self.attachments):
            self.write(self.folder / "attachments" / name, content)
        self.write(self.study_path(reference), text.encode())

    def study_path(self, reference: str) -> Path:
        """Return where a study is stored; `reference` is ``NAME/DIGEST``."""
        return self.folder / "studies" / f"{reference}.toml"

    def study_text(self, reference: str) -> str:
        """Return a stored study; raises FileError if it cannot be read."""
        return files.read_text(self.study_path(reference), "a study is written in TOML", inside=self.folder)

    def studies(self) -> Iterator[str]:
        """Return the names of the studies that were run here."""
        yield from sorted({path.parent.name for path in self.folder.glob("studies/*/*.toml")})

    def designs(self, name: str) -> list[str]:
        """Return the designs of a study as ``NAME/DIGEST``, the one that was run last at the end."""
        references = []
        for path in (self.folder / "studies" / name).glob("*.toml"):
            reference = f"{name}/{path.stem}"
            try:
                last_run = LAST_RUN.search(self.study_text(reference))
            except FileError:
                last_run = None
            references.append((last_run[1] if last_run else "", reference))
        return [reference for _, reference in sorted(references)]

    def all_designs(self) -> list[Design]:
        """Return every design of the folder; raises FileError if one cannot be read."""
        return [self.read_design(reference) for name in self.studies() for reference in self.designs(name)]

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
        path = self.study_path(reference)
        try:
            design = design_of(parse_spec(self.study_text(reference), path)[0])
        except GoalwardError as error:
            raise FileError(f"the stored study is damaged ({error}); run the study again") from None
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


# Status: which runs are stored, which failed, and which files are damaged. Looking changes nothing.


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the file that records how."""

    world: str
    agent: str
    run: int
    error: str
    path: Path


@dataclass(frozen=True)
class CellStatus:
    """The progress of a cell: how many runs are stored, how many of them cut off, and the numbers of the other runs."""

    cell: Cell
    stored: int
    truncated: int
    failed: list[int]
    missing: list[int]


@dataclass(frozen=True, eq=False)
class Status:
    """The progress of a study. A run that several cells share counts once in `stored` and `planned`.

    `damaged` lists the files that cannot be used as the run of their name, with reasons.
    """

    design: Design
    cells: list[CellStatus]
    stored: int
    planned: int
    failures: list[Failure]
    damaged: list[tuple[Path, str]]

    @property
    def sound(self) -> bool:
        """Whether no run failed and no file was damaged; runs may still be missing."""
        return not self.failures and not self.damaged


def check_studies(store: Store, name: str | None = None) -> list[Status]:
    """Check every file of a study, or of all studies of a folder."""
    # Asking for the only study of a folder that has none raises an error that says so.
    names: list[str | None] = [name] if name is not None else [*store.studies()] or [None]
    return [check_study(store, store.design(study)) for study in names]


def check_study(store: Store, design: Design) -> Status:
    """Check every file of a study."""
    keys = [design.keys(cell) for cell in design.cells]
    different = list(dict.fromkeys(key for cell_keys in keys for key in cell_keys))
    states = dict(zip(different, store.states(different), strict=True))
    cells, failures = [], []
    for cell, cell_keys in zip(design.cells, keys, strict=True):
        runs = [(number, key, *states[key]) for number, key in enumerate(cell_keys)]
        failed = [(number, key, reason) for number, key, state, reason in runs if state == "failed"]
        missing = [number for number, _, state, _ in runs if state in ("missing", "damaged")]
        truncated = sum(state == "cut off" for _, _, state, _ in runs)
        stored = len(runs) - len(failed) - len(missing)
        cells.append(CellStatus(cell, stored, truncated, [number for number, _, _ in failed], missing))
        failures += [
            Failure(world_name(design, cell), cell.agent.label, number, reason, store.failure_path(key))
            for number, key, reason in failed
        ]
    total = sum(state in ("stored", "cut off") for state, _ in states.values())
    damaged = [(store.path(key), reason) for key, (state, reason) in states.items() if state == "damaged"]
    return Status(design, cells, total, len(states), failures, damaged)


@dataclass(frozen=True)
class UnusedFiles:
    """Files that no stored design names: of runs, of failures, and attachments."""

    runs: list[Path]
    failures: list[Path]
    attachments: list[Path]

    @classmethod
    def of(cls, store: Store) -> UnusedFiles:
        """Look for them; raises FileError if a design cannot be read, because it might name any of the runs.

        Symbolic links that lead out of the folder are not followed.
        """
        keys: set[str] = set()
        needed: set[str] = set()
        for design in store.all_designs():
            for cell in design.cells:
                specs = design.specs(cell)
                keys.update(spec.key for spec in specs)
                needed |= {f"{specs[0].model_digest}.npz", *(f"{digest}.py" for digest in specs[0].sources)}
        runs, failures, attachments = (
            sorted(path for path in store.folder.glob(pattern) if files.is_inside(path, store.folder))
            for pattern in ("runs/*/*.parquet", "failed/*.json", "attachments/*.*")
        )
        return cls(
            [path for path in runs if path.stem not in keys or path != store.path(path.stem)],
            [path for path in failures if path.stem not in keys],
            [path for path in attachments if path.suffix in (".npz", ".py") and path.name not in needed],
        )

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [*self.runs, *self.failures, *self.attachments]

    @property
    def size(self) -> int:
        """How many bytes the files take."""
        return sum(path.lstat().st_size for path in self.paths)

    def remove(self) -> None:
        """Remove the files; raises FileError if one cannot be removed."""
        for path in self.paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"{path}: cannot be removed ({error.strerror or error})") from None
