"""Which runs of a study are stored, which failed, and which files are damaged or belong to no study.

Looking changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalward import files
from goalward.errors import FileError
from goalward.studies.design import Cell, Design, world_name
from goalward.studies.store import Failure, Store
from goalward.table import Cell as TableCell

__all__ = ["CellStatus", "Status", "UnusedFiles", "check_studies", "check_study"]


@dataclass(frozen=True)
class CellStatus:
    """The progress of a cell: how many runs are stored, how many of them cut off, and the numbers of the other runs.

    Whether a run was cut off is in its file; `truncated` is None if no file was read.
    """

    cell: Cell
    stored: int
    truncated: int | None
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
    read: bool = True
    """Whether every file was read; otherwise names and sizes were looked at."""

    @property
    def sound(self) -> bool:
        """Whether no run failed and no file was damaged; runs may still be missing."""
        return not self.failures and not self.damaged

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each cell."""
        return [
            {
                "study": TableCell(self.design.name, f"study {self.design.name}"),
                "world": world_name(self.design, status.cell),
                "agent": status.cell.agent.label,
                "episodes": status.cell.episodes,
                "stored": status.stored,
                "truncated": status.truncated,
                "failed": len(status.failed),
                "failed_runs": status.failed,
                "missing": len(status.missing),
                "missing_runs": status.missing,
            }
            for status in self.cells
        ]


def check_studies(store: Store, name: str | None = None, *, read: bool = True) -> list[Status]:
    """Check the files of a study, or of all studies of a folder; see `Store.states` for `read`."""
    # Asking for the only study of a folder that has none raises an error that says so.
    names: list[str | None] = [name] if name is not None else [*store.studies()] or [None]
    return [check_study(store, store.design(study), read=read) for study in names]


def check_study(store: Store, design: Design, *, read: bool = True) -> Status:
    """Check the files of a study."""
    keys = [design.keys(cell) for cell in design.cells]
    different = list(dict.fromkeys(key for cell_keys in keys for key in cell_keys))
    states = dict(zip(different, store.states(different, read=read), strict=True))
    cells, failures = [], []
    for cell, cell_keys in zip(design.cells, keys, strict=True):
        runs = [(number, key, *states[key]) for number, key in enumerate(cell_keys)]
        failed = [(number, key, reason) for number, key, state, reason in runs if state == "failed"]
        missing = [number for number, _, state, _ in runs if state in ("missing", "damaged")]
        truncated = sum(state == "cut off" for _, _, state, _ in runs) if read else None
        stored = len(runs) - len(failed) - len(missing)
        cells.append(CellStatus(cell, stored, truncated, [number for number, _, _ in failed], missing))
        failures += [
            Failure(world_name(design, cell), cell.agent.label, number, reason, store.failure_path(key))
            for number, key, reason in failed
        ]
    total = sum(state in ("stored", "cut off") for state, _ in states.values())
    damaged = [(store.path(key), reason) for key, (state, reason) in states.items() if state == "damaged"]
    return Status(design, cells, total, len(states), failures, damaged, read)


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
