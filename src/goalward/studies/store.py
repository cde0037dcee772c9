"""Read and write results folders, which have this layout.

::

    results/
      goalward-results.json         the version of this layout
      studies/NAME/DIGEST.toml      each study that was run here, with all defaults; goalward run accepts these files
      runs/ab/ab12...parquet        one file for each run, named by its key (see `run_file` and `run_spec`)
      attachments/                  models and Python files that runs need, named by their SHA-256
      failed/ab12...json            the errors of runs that failed
      damaged/                      damaged run files that were set aside
      active/                       one file for each process that is making runs, with the keys of these runs

Every file is written under a temporary name and then renamed, so stored files are complete even after a kill. If two
processes store the same run, the second file replaces the first, and both files have the same episodes. Reading a
folder executes no code and follows no symbolic link.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from goalward import files
from goalward.errors import FileError, GoalwardError, UnknownNameError
from goalward.progress import counted
from goalward.studies.attachments import Attachments
from goalward.studies.design import Design, design_of
from goalward.studies.run_file import StoredRun, decode
from goalward.studies.spec import Stored, parse_spec

LAYOUT_VERSION = 3
MARKER = "goalward-results.json"
SUBFOLDERS = ("studies", "runs", "attachments", "failed", "damaged", "active")
LAST_RUN = re.compile(r'^last_run = "(.*)"$', re.MULTILINE)
MOST_NAMED = 5
STALE_SECONDS = 3600.0  # older temporary files were left by processes that were killed


class NoRun(NamedTuple):
    """Why a run cannot be read: the `state` (``missing``, ``failed`` or ``damaged``) and the `reason`."""

    state: str
    reason: str = ""

    @property
    def stored(self) -> bool:
        return self.state in ("stored", "cut off")


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the file that records the failure."""

    world: str
    agent: str
    run: int
    error: str
    path: Path


class Store:
    """A results folder; `Store.open` opens or creates one."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.known_designs: dict[str, Design] = {}
        """The designs that were read, by the text of the study, so that their keys are computed only once."""

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = False) -> Store:
        """Open a results folder; `create` allows an empty or new folder."""
        store = cls(Path(folder))
        marker = store.folder / MARKER
        if not os.path.lexists(marker):
            store.begin(create)
        try:
            version = store.read_json(marker)["version"]
        except (FileError, KeyError, TypeError) as error:
            raise FileError(
                f"{marker}: the file cannot be read ({error}); if the folder holds results, write"
                f' {{"version": {LAYOUT_VERSION}}} into this file'
            ) from None
        if version != LAYOUT_VERSION:
            raise FileError(
                f"{folder}: the results have layout version {version}; this goalward reads version {LAYOUT_VERSION}."
                " Use the goalward that wrote the results, or choose another folder"
            )
        folders = [store.folder / name for name in SUBFOLDERS]
        for path in (*folders, *(Path(entry.path) for above in folders[:2] for entry in listed(above))):
            if path.is_symlink():
                raise FileError(f"{path}: this folder is a symbolic link; replace the link with a folder")
        return store

    def begin(self, create: bool) -> None:
        """Create the results folder; raise FileError without `create`, or if the folder holds other files."""
        if not create:
            state = "not a results folder" if os.path.exists(self.folder) else "No such folder"
            raise FileError(f"{self.folder}: {state}; create a results folder with goalward run")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            strangers = [entry.name for entry in self.folder.iterdir() if not entry.name.endswith(files.TEMPORARY)]
            # Subfolders without a marker: the folder was removed while a study was writing to it.
            strangers = [name for name in strangers if name not in SUBFOLDERS]
        except OSError as error:
            raise FileError(f"{self.folder}: {error.strerror or error}; choose a writable folder") from None
        # Another shard may have begun the folder a moment ago.
        if strangers and MARKER not in strangers:
            raise FileError(f"{self.folder}: the folder holds other files ({strangers[0]}); choose an empty folder")
        marker = json.dumps({"format": "goalward-results", "version": LAYOUT_VERSION}).encode()
        files.write_bytes(self.folder / MARKER, marker)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file atomically; a power cut may lose the most recent files."""
        if not os.path.lexists(f"{self.folder}/{MARKER}"):
            raise FileError(f"{self.folder}: the results folder was removed or moved while it was in use")
        files.write_bytes(path, content, sync_name=False)

    def read_json(self, path: Path) -> Any:
        """Return the data of a JSON file in this folder; raises FileError if the file cannot be read."""
        return files.parse_json(path, files.read_bytes(path, follow=False))

    def sweep(self) -> None:
        """Remove the temporary files of processes that were killed."""
        for path in [*self.folder.rglob(f"*{files.TEMPORARY}"), *self.folder.glob("active/*.json")]:
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

    # Runs

    def path(self, key: str) -> Path:
        """Return the path of a run's file."""
        return Path(self.file(key))

    def file(self, key: str) -> str:
        """Return the path of a run's file as a string, which is faster to build than a `Path`."""
        return f"{self.folder}/runs/{key[:2]}/{key}.parquet"

    def has(self, key: str) -> bool:
        """Return whether a run is stored."""
        return os.path.lexists(self.file(key))

    def sizes(self) -> dict[str, int]:
        """Return the size of each run file, by the key of the run. No file is opened."""
        sizes: dict[str, int] = {}
        for part in listed(self.folder / "runs"):
            for entry in listed(Path(part.path)):
                key, ending = entry.name[:-8], entry.name[-8:]
                if ending == ".parquet" and key[:2] == part.name and entry.is_file(follow_symlinks=False):
                    sizes[key] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def add(self, key: str, content: bytes) -> None:
        """Store a run, and delete the record of an earlier failure."""
        self.write(self.path(key), content)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.failure_path(key))

    def find(self, key: str) -> StoredRun | NoRun:
        """Return a stored run, or a `NoRun` that says why the run cannot be read. All commands use this method.

        A file is accepted only if its checksum, format and content are valid and its name is the key of the run.
        """
        try:
            stored = decode(files.read_bytes(self.file(key), follow=False))
            if stored.key != key:
                raise FileError(f"the file name does not match the run {stored.key} in the file")
        except FileError as error:
            if self.has(key):
                return NoRun("damaged", str(error))
            failure = self.failure(key)
            return NoRun("missing") if failure is None else NoRun("failed", str(failure.get("error")))
        return stored

    def read(self, key: str) -> StoredRun:
        """Return a stored run; raises FileError with the reason if the run cannot be read."""
        run = self.find(key)
        if isinstance(run, NoRun):
            raise FileError(f"{self.path(key)}: {run.reason or 'no such run'}; goalward run makes the run again")
        return run

    def states(self, keys: Iterable[str], *, read: bool = True) -> dict[str, NoRun]:
        """Return the state of each run (`StoredRun.state` or `NoRun.state`), with the reason why a run is not stored.

        Without `read`, only names and sizes are checked: a file that exists and is not empty counts as stored.
        """
        wanted, sizes = dict.fromkeys(keys), {} if read else self.sizes()
        states: dict[str, NoRun] = {}
        for key in counted("checking files", "runs", wanted, len(wanted)) if read else wanted:
            run = NoRun("stored") if sizes.get(key) else self.find(key)
            states[key] = run if isinstance(run, NoRun) else NoRun(run.state)
        return states

    def set_aside(self, key: str, reason: str) -> Path:
        """Move a damaged file to ``damaged/`` and return the new path. The run then counts as missing."""
        aside = self.folder / "damaged" / f"{key}-{time.time_ns()}.parquet"
        try:
            aside.parent.mkdir(exist_ok=True)
            os.replace(self.file(key), aside)
        except OSError as error:
            why = f"{reason}; the file cannot be moved to {aside} ({files.reason(error)})"
            raise FileError(f"{self.file(key)}: {why}") from None
        return aside

    # Failures

    def failure_path(self, key: str) -> Path:
        """Return the path of the file that records the failure of a run."""
        return self.folder / "failed" / f"{key}.json"

    def add_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Record that a run failed."""
        self.write(self.failure_path(key), json.dumps(failure, indent=1).encode())

    def failure(self, key: str) -> dict[str, Any] | None:
        """Return the record of a failed run; None if the run did not fail."""
        path = self.failure_path(key)
        if not os.path.lexists(path):
            return None
        try:
            failure = self.read_json(path)
        except FileError as error:
            return {"error": f"the record of the failure cannot be read ({error})"}
        return failure if isinstance(failure, dict) else {"error": "the record is damaged"}

    # Studies

    @property
    def attachments(self) -> Attachments:
        """The models and Python files that the runs of this folder need. Files are read and verified on first use."""
        return Attachments(folder=self.folder / "attachments")

    def save_study(self, reference: str, text: str, attachments: Attachments) -> None:
        """Store a study and the files that its runs need. Other designs of the study are kept."""
        for name, content in attachments.missing_in(self.attachments):
            self.write(self.folder / "attachments" / name, content)
        self.write(self.study_path(reference), text.encode())

    def study_path(self, reference: str) -> Path:
        """Return the path of a stored study; `reference` is ``NAME/DIGEST``."""
        return self.folder / "studies" / f"{reference}.toml"

    def study_text(self, reference: str) -> str:
        """Return the TOML text of a stored study; raises FileError if the file cannot be read."""
        return files.read_text(self.study_path(reference), "a study is written in TOML", follow=False)

    def stored(self, reference: str) -> Stored | None:
        """Return the stored facts about the runs of a study; None if the study was not run in this folder."""
        try:
            return parse_spec(self.study_text(reference), self.study_path(reference))[0].stored
        except GoalwardError:
            return None

    def studies(self) -> list[str]:
        """Return the names of the studies that were run in this folder."""
        return sorted({path.parent.name for path in self.folder.glob("studies/*/*.toml")})

    def designs(self, name: str) -> list[str]:
        """Return the designs of a study as ``NAME/DIGEST``. The design that was run last comes last."""

        def last_run(reference: str) -> str:
            try:
                found = LAST_RUN.search(self.study_text(reference))
            except FileError:
                return ""
            return found[1] if found else ""

        references = [f"{name}/{path.stem}" for path in (self.folder / "studies" / name).glob("*.toml")]
        return sorted(references, key=lambda reference: (last_run(reference), reference))

    def all_designs(self) -> list[Design]:
        """Return every design of the folder; raises FileError if a design cannot be read."""
        return [self.read_design(reference) for name in self.studies() for reference in self.designs(name)]

    def design(self, study: str | None = None) -> Design:
        """Return the design ``NAME/DIGEST``, or the design of the study ``NAME`` that was run last.

        A prefix of the digest is enough. Without a name, the folder must hold exactly one study.
        """
        known = self.studies()
        if study is None:
            if len(known) != 1:
                there = f"the studies {', '.join(known)}; choose one of them with --study" if known else "no study"
                raise FileError(f"{self.folder}: the folder holds {there}")
            study = known[0]
        name, _, digest = study.partition("/")
        if name not in known:
            raise UnknownNameError(f"study in {self.folder}", name, known)
        stored = self.designs(name)
        matching = [reference for reference in stored if reference.startswith(f"{name}/{digest}")]
        if not matching or (digest and len(matching) > 1):
            raise UnknownNameError(f"design in {self.folder}", study, stored)
        return self.read_design(matching[-1])

    def chosen(self, study: str | None = None) -> list[Design]:
        """Return the latest design of one study, or of every study; raises FileError if the folder holds no study."""
        return (
            [self.design(name) for name in self.studies()] if study is None and self.studies() else [self.design(study)]
        )

    def read_design(self, reference: str) -> Design:
        """Return the design that is stored as ``NAME/DIGEST``; raises FileError if the stored study is damaged."""
        path, text = self.study_path(reference), self.study_text(reference)
        try:
            design = self.known_designs.get(text) or design_of(parse_spec(text, path)[0])
        except GoalwardError as error:
            raise FileError(f"the stored study is damaged ({error}); run the study again") from None
        if design.reference != reference:
            raise FileError(f"{path}: the file name does not match the study {design.reference}; run the study again")
        self.known_designs[text] = design
        return design

    def choice(self, study: str | None = None) -> str:
        """Return a note that names the design chosen by `design`; empty if the study has only one design."""
        name = study or "".join(self.studies()[:1])
        *others, last = [""] if "/" in name else self.designs(name) or [""]
        if not others:
            return ""
        before = ", ".join(f"--study {reference}" for reference in others[: -MOST_NAMED - 1 : -1])
        return f"{name} was run with {len(others) + 1} designs; this is the latest, {last}. Others: {before}"


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; empty if the folder does not exist."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FileError(f"{folder}: {files.reason(error)}") from None
