"""How far a study is: its results, the runs that failed and the files that are damaged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goalward.results.leftovers import find_leftovers
from goalward.results.store import Store
from goalward.results.study_results import Results, load_results, world_name

__all__ = ["Failure", "Status", "check_leftovers", "check_studies"]


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the file that records how."""

    world: str
    agent: str
    run: int
    error: str
    path: Path


@dataclass(frozen=True, eq=False)
class Status:
    """What was found in a results folder about one study; `damaged` lists files that were set aside, with reasons."""

    results: Results
    failures: list[Failure]
    damaged: list[tuple[Path, str]]

    @property
    def sound(self) -> bool:
        """Whether no run failed and no file was damaged; runs may still be missing."""
        return not self.failures and not self.damaged


def check_studies(store: Store, name: str | None = None) -> list[Status]:
    """Check every file of a study, or of all studies of a folder; damaged files are set aside."""
    # Asking for the only study of a folder that has none raises an error that says so.
    names: list[str | None] = [name] if name is not None else [*store.studies()] or [None]
    found = []
    for each in names:
        design = store.design(each)
        damaged = store.set_damaged_aside(key for cell in design.cells for key in design.keys(cell))
        results = load_results(store, design)
        found.append(Status(results, stored_failures(store, results), damaged))
    return found


def check_leftovers(store: Store) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Check the files of runs that no study names: return those that are sound, and the damaged ones, set aside."""
    runs = find_leftovers(store).runs
    damaged = store.set_damaged_aside(path.stem for path in runs)
    return [path for path in runs if path.exists()], damaged


def stored_failures(store: Store, results: Results) -> list[Failure]:
    """Return the failed runs of a study, as the folder records them."""
    found = []
    for cell in results.cells:
        keys, world = results.design.keys(cell.cell), world_name(results.design, cell.cell)
        for run in cell.failed:
            error = (store.failure(keys[run]) or {}).get("error", "unknown")
            found.append(Failure(world, cell.cell.agent.label, run, error, store.failure_path(keys[run])))
    return found
