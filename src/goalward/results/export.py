"""The runs of a results folder as one table, one row for each run.

`COLUMNS` declares each column with its type. The numbers of a run that was cut off are what it had paid by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from goalward.errors import FileError
from goalward.formatting import number
from goalward.results.measures import MEASURES, measured
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import StoredRun
from goalward.studies.run_spec import RunSpec
from goalward.studies.spec import Stored, canonical
from goalward.studies.store import NoRun, Store
from goalward.table import Column, Columns, Table

__all__ = ["TYPES", "export_table"]


class ListedRun(NamedTuple):
    """One run of a study, and what the folder has of it.

    `document` is that of its file, `values` are its measures, and `stored` tells how the study was run.
    """

    design: Design
    cell: Cell
    number: int
    spec: RunSpec
    stored: Stored | None
    state: str
    document: dict[str, Any]
    values: dict[str, Any]

    @property
    def outcome(self) -> dict[str, Any]:
        """How the run ended; empty if it is not stored."""
        outcome: dict[str, Any] = self.document.get("outcome", {})
        return outcome

    def fact(self, section: str, name: str) -> str | None:
        """Return a text of the document, if it has it."""
        value = self.document.get(section)
        return str(value[name]) if isinstance(value, dict) and name in value else None


def value_of(measure: str) -> Callable[[ListedRun], Any]:
    return lambda run: run.values.get(measure)


COLUMNS: dict[str, tuple[str, Callable[[ListedRun], Any]]] = {
    "study": ("string", lambda run: run.design.name),  # a run of two studies has two rows
    "world": ("string", lambda run: run.cell.world.label),
    "agent": ("string", lambda run: run.cell.agent.label),
    "run": ("int64", lambda run: run.number),
    "episodes": ("int64", lambda run: run.cell.episodes),
    "state": ("string", lambda run: run.state),  # stored, cut off (stored, but truncated), missing, failed or damaged
    "algorithm": ("string", lambda run: run.spec.agent["name"].rpartition(":")[2]),
    "world_id": ("string", lambda run: run.spec.world.get("id") or run.spec.world.get("digest")),
    "world_settings": ("string", lambda run: canonical(run.spec.world.get("settings", {}))),
    "agent_settings": ("string", lambda run: canonical(run.spec.agent["settings"])),
    "give_up_cost": ("double", lambda run: run.spec.world.get("give_up_cost")),
    "max_steps": ("int64", lambda run: run.spec.max_steps),
    "seed": ("int64", lambda run: run.spec.seed),
    "episodes_done": ("int64", lambda run: run.outcome.get("episodes_done")),
    "truncated": ("bool", lambda run: run.outcome.get("truncated")),
    "ended": ("string", lambda run: run.outcome.get("ended")),
    "total_epochs": ("int64", lambda run: run.outcome.get("total_epochs")),
    "optimal_value": ("double", lambda run: run.outcome.get("optimal_value")),  # V* of the start
    **{measure.name: (measure.kind, value_of(measure.name)) for measure in MEASURES},
    "started": ("string", lambda run: run.fact("timing", "started")),
    "ended_at": ("string", lambda run: run.fact("timing", "ended")),
    "host": ("string", lambda run: run.fact("host", "name")),
    "goalward": ("string", lambda run: run.fact("versions", "goalward")),
    "commit": ("string", lambda run: run.stored.commit if run.stored else None),  # of the study's folder, last run
    "tags": ("string", lambda run: ",".join(run.stored.tags) if run.stored else None),
    "key": ("string", lambda run: run.spec.key),
    "file": ("string", lambda run: f"runs/{run.spec.key[:2]}/{run.spec.key}.parquet"),  # below the results folder
}
TYPES = {name: kind for name, (kind, _) in COLUMNS.items()}
"""The types of the columns in Parquet files, where a column may have no value at all."""


def export_table(store: Store, study: str | None = None, absent: bool = False) -> Table:
    """Return the stored runs of a study, or of all studies of a folder.

    With `absent`, runs that are missing, failed or damaged have a row too.
    """
    rows = [
        {name: value(run) for name, (_, value) in COLUMNS.items()}
        for run in list_runs(store, study)
        if absent or run.outcome
    ]
    shown: Columns = [
        Column("key", write=lambda key: str(key[:12])),  # enough to tell the runs of any folder apart
        "study", "world", "agent", "episodes", "run", "state",
        Column("regret", write=lambda value: number(value, 6)),
    ]  # fmt: skip
    return Table(rows, shown, "runs", types=TYPES)


def list_runs(store: Store, study: str | None = None) -> Iterator[ListedRun]:
    """Return every run of a study, or of all studies of a folder, each file checked."""
    names: list[str | None] = [study] if study is not None else [*store.studies()] or [None]
    for name in names:
        design = store.design(name)
        stored = store.stored(design.reference)
        for cell in design.cells:
            for index, spec in enumerate(design.specs(cell)):
                yield listed(design, cell, index, spec, stored, store.find(spec.key))


def listed(
    design: Design, cell: Cell, index: int, spec: RunSpec, stored: Stored | None, run: StoredRun | NoRun
) -> ListedRun:
    place = design, cell, index, spec, stored
    if isinstance(run, NoRun):
        return ListedRun(*place, run.state, {}, {})
    try:
        return ListedRun(*place, run.state, run.document, measured(run)[1])
    except FileError:
        return ListedRun(*place, "damaged", {}, {})
