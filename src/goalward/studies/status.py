"""How far a study is: which runs are stored, which failed, and which files are damaged.

Looking changes nothing in the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goalward.results.results import world_name
from goalward.studies.design import Cell, Design
from goalward.studies.store import Store

__all__ = ["CellStatus", "Failure", "Status", "check_studies"]


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
    """How far a cell is: how many runs are stored, how many of them cut off, and the numbers of the other runs."""

    cell: Cell
    stored: int
    truncated: int
    failed: list[int]
    missing: list[int]


@dataclass(frozen=True, eq=False)
class Status:
    """How far a study is. A run that several cells share counts once in `stored` and `planned`.

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
    return [check_study(store, store.design(each)) for each in names]


def check_study(store: Store, design: Design) -> Status:
    """Check every file of a study."""
    keys = [design.keys(cell) for cell in design.cells]
    different = list(dict.fromkeys(key for of_cell in keys for key in of_cell))
    states = dict(zip(different, store.states(different), strict=True))
    cells, failures = [], []
    for cell, cell_keys in zip(design.cells, keys, strict=True):
        of_cell = [(run, key, *states[key]) for run, key in enumerate(cell_keys)]
        failures += [
            Failure(world_name(design, cell), cell.agent.label, run, reason, store.failure_path(key))
            for run, key, state, reason in of_cell
            if state == "failed"
        ]
        cells.append(
            CellStatus(
                cell,
                stored=sum(state in ("stored", "cut off") for _, _, state, _ in of_cell),
                truncated=sum(state == "cut off" for _, _, state, _ in of_cell),
                failed=[run for run, _, state, _ in of_cell if state == "failed"],
                missing=[run for run, _, state, _ in of_cell if state in ("missing", "damaged")],
            )
        )
    stored = sum(state in ("stored", "cut off") for state, _ in states.values())
    damaged = [(store.path(key), reason) for key, (state, reason) in states.items() if state == "damaged"]
    return Status(design, cells, stored, len(states), failures, damaged)
