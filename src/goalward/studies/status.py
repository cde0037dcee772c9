"""The state of a results folder: stored and failed runs, damaged files, and files that belong to no study.

The functions of this module change no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalward.studies.design import Design
from goalward.studies.store import Failure, Store, listed
from goalward.table import Cell as TableCell


@dataclass(frozen=True, eq=False)
class Status:
    """The progress of a study. A run that several cells share counts once in `stored` and `planned`."""

    design: Design
    rows: list[dict[str, Any]]
    """A row for each cell: how many runs are stored, how many were cut off, which failed, which are missing."""
    stored: int
    planned: int
    failures: list[Failure]
    damaged: list[tuple[Path, str]]
    """The files that do not hold the run they are named after, with reasons."""
    read: bool = True
    """Whether every file was read; otherwise only names and sizes were checked, and no run shows as cut off."""

    @property
    def sound(self) -> bool:
        """True if no run failed and no file is damaged; runs may still be missing."""
        return not self.failures and not self.damaged


def check_studies(store: Store, name: str | None = None, *, read: bool = True) -> list[Status]:
    """Check the files of a study, or of all studies of a folder. `Store.states` explains `read`."""
    return [check_study(store, design, read=read) for design in store.chosen(name)]


def check_study(store: Store, design: Design, *, read: bool = True) -> Status:
    """Check the files of a study, and return its status."""
    states = store.states((key for cell in design.cells for key in design.keys(cell)), read=read)
    rows: list[dict[str, Any]] = []
    failures: list[Failure] = []
    for cell in design.cells:
        runs = [(number, key, *states[key]) for number, key in enumerate(design.keys(cell))]
        world, agent = cell.world.label, cell.agent.label
        failed = [
            Failure(world, agent, number, reason, store.failure_path(key))
            for number, key, state, reason in runs
            if state == "failed"
        ]
        missing = [number for number, _, state, _ in runs if state in ("missing", "damaged")]
        rows.append(
            {
                "study": TableCell(design.name, f"study {design.name}"),
                "world": world,
                "agent": agent,
                "episodes": cell.episodes,
                "stored": len(runs) - len(failed) - len(missing),
                "truncated": sum(state == "cut off" for _, _, state, _ in runs) if read else None,
                "failed": len(failed),
                "failed_runs": [failure.run for failure in failed],
                "missing": len(missing),
                "missing_runs": missing,
            }
        )
        failures += failed
    total = sum(run.stored for run in states.values())
    damaged = [(store.path(key), reason) for key, (state, reason) in states.items() if state == "damaged"]
    return Status(design, rows, total, len(states), failures, damaged, read)


def unused_files(store: Store) -> dict[str, list[Path]]:
    """Return the run, failure and attachment files that no stored design needs.

    Raises FileError if a design cannot be read, because the unreadable design might need any of the files.
    """
    keys: set[str] = set()
    needed: set[str] = set()
    for design in store.all_designs():
        for cell in design.cells:
            keys.update(design.keys(cell))
            run = design.spec(cell, 0)
            needed |= {f"{run.model_digest}.npz", *(f"{digest}.py" for digest in run.sources)}
    failures, attachments = (
        [Path(entry.path) for entry in listed(store.folder / name)] for name in ("failed", "attachments")
    )
    return {
        "runs": [store.path(key) for key in store.sizes() if key not in keys],
        "failures": [path for path in failures if path.suffix == ".json" and path.stem not in keys],
        "attachments": [path for path in attachments if path.suffix in (".npz", ".py") and path.name not in needed],
    }
