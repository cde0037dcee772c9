"""Export tables from a results folder: a table of runs, and a table of visits of state-action pairs.

The table of runs has one row for each run. `COLUMNS` declares each column with its type. Swept settings have columns,
too, such as ``world.rows``. For a run that was cut off, the numbers cover only the part before the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from goalward.errors import FileError
from goalward.formatting import number
from goalward.progress import counted
from goalward.results.measures import MEASURES, values_of
from goalward.ssp.model import SSP
from goalward.studies.design import Cell, Design
from goalward.studies.rerun import rerun
from goalward.studies.run_file import StoredRun
from goalward.studies.run_spec import RunSpec
from goalward.studies.spec import Stored, canonical
from goalward.studies.store import Store
from goalward.table import Column, Columns, Table


class ListedRun(NamedTuple):
    """One run of a study, with the data that the results folder stores about this run.

    `document` is the document of the run file, `values` has the measures, and `stored` has facts about the study.
    """

    design: Design
    cell: Cell
    number: int
    spec: RunSpec
    stored: Stored | None
    state: str
    document: dict[str, Any]
    values: dict[str, Any]


def value_of(measure: str) -> Callable[[ListedRun], Any]:
    return lambda run: run.values.get(measure)


def fact(section: str, name: str) -> Callable[[ListedRun], Any]:
    def of(run: ListedRun) -> Any:
        part = run.document.get(section)
        return part.get(name) if isinstance(part, dict) else None

    return of


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
    "episodes_done": ("int64", fact("outcome", "episodes_done")),
    "truncated": ("bool", fact("outcome", "truncated")),
    "ended": ("string", fact("outcome", "ended")),
    "total_epochs": ("int64", fact("outcome", "total_epochs")),
    "optimal_value": ("double", fact("outcome", "optimal_value")),  # V* of the start
    "world_digest": ("string", fact("world", "digest")),
    "states": ("int64", fact("world", "states")),
    "actions": ("int64", fact("world", "actions")),
    "B_star": ("double", fact("world", "B_star")),
    "T_star": ("double", fact("world", "T_star")),
    "D": ("double", fact("world", "D")),
    "c_min": ("double", fact("world", "c_min")),
    **{measure.name: (measure.kind, value_of(measure.name)) for measure in MEASURES},
    "started": ("string", fact("timing", "started")),
    "ended_at": ("string", fact("timing", "ended")),
    "host": ("string", fact("host", "name")),
    "goalward": ("string", fact("versions", "goalward")),
    "commit": ("string", lambda run: run.stored.commit if run.stored else None),  # of the study's folder, last run
    "tags": ("string", lambda run: ",".join(run.stored.tags) if run.stored else None),
    "key": ("string", lambda run: run.spec.key),
    "file": ("string", lambda run: f"runs/{run.spec.key[:2]}/{run.spec.key}.parquet"),  # below the results folder
}
TYPES = {name: kind for name, (kind, _) in COLUMNS.items()}
"""The types of the columns in Parquet files, because a column without values shows no type."""


def export_table(store: Store, study: str | None = None, absent: bool = False) -> Table:
    """Return a table of the stored runs of a study, or of all studies of a folder.

    With `absent`, the table also has rows for missing, failed and damaged runs.
    """
    swept: dict[str, str] = {}
    for design in store.chosen(study):
        for cell in design.cells:
            for name, value in swept_settings(cell).items():
                kind = "double" if type(value) in (int, float) else "string"
                swept[name] = kind if swept.get(name, kind) == kind else "string"
    rows = []
    for run in list_runs(store, study):
        if absent or run.document:
            settings = swept_settings(run.cell)
            rows.append({name: value(run) for name, (_, value) in COLUMNS.items()})
            for name, kind in swept.items():
                value = settings.get(name)
                rows[-1][name] = value if value is None or kind == "double" or type(value) is str else canonical(value)
    shown: Columns = [
        Column("key", write=lambda key: str(key[:12])),  # enough to tell the runs of any folder apart
        "study", "world", "agent", "episodes", "run", "state",
        Column("regret", write=lambda value: number(value, 6)),
    ]  # fmt: skip
    return Table(rows, shown, "runs", types=TYPES | swept)


def visits_table(store: Store, study: str | None = None) -> Table:
    """Return how often each state-action pair was visited in each stored run; pairs without a visit are left out.

    Run files do not contain visits, so the runs are repeated. This executes the users' files that the runs need. Worlds
    without a model are left out.
    """
    rows: list[dict[str, Any]] = []
    runs = [run for run in list_runs(store, study) if run.document]
    for listed_run in counted("carrying out runs again", "runs", runs, len(runs)):
        world, run = rerun(listed_run.spec, store.attachments)
        if isinstance(world, SSP):
            pairs = run.trajectory.states * world.actions + run.trajectory.actions
            same = {name: COLUMNS[name][1](listed_run) for name in ("study", "world", "agent", "run", "key")}
            for pair, visits in zip(*(part.tolist() for part in np.unique(pairs, return_counts=True)), strict=True):
                state, action = divmod(pair, world.actions)
                names = {"state_name": world.state_name(state), "action_name": world.action_name(action)}
                rows.append(same | {"state": state, "action": action, **names, "visits": visits})
    return Table(rows, name="visits")


def swept_settings(cell: Cell) -> dict[str, Any]:
    """Return the swept settings of a cell: the keys are the names of columns."""
    world = {f"world.{name}": value for name, value in cell.world.swept.items()}
    return world | {f"agent.{name}": value for name, value in cell.agent.swept.items()}


def list_runs(store: Store, study: str | None = None) -> Iterator[ListedRun]:
    """Yield every run of a study, or of all studies of a folder. Each run file is checked."""
    for design in store.chosen(study):
        stored = store.stored(design.reference)
        for cell in design.cells:
            for index, spec in enumerate(design.specs(cell)):
                place = design, cell, index, spec, stored
                run = store.find(spec.key)
                values: dict[str, Any] = {}
                state, document = run.state, run.document if isinstance(run, StoredRun) else {}
                try:
                    values = values_of(run) if isinstance(run, StoredRun) else {}
                except FileError:
                    state, document = "damaged", {}
                yield ListedRun(*place, state, document, values)
