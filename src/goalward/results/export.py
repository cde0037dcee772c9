"""The runs of a results folder as one table, one row for each run.

The columns::

    study                                         the study that names the run; a run of two studies has two rows
    world, agent, run, episodes                   labels of the study, the number of the run, its planned length
    state                                         stored, cut off (stored, but truncated), missing, failed or damaged
    algorithm, world_id                           the name of the algorithm; the id of the world, or a model's digest
    world_settings, agent_settings                all settings, as JSON
    give_up_cost, max_steps, seed                 null where there is none
    episodes_done, truncated, ended               how many episodes reached the goal; was it cut off; what ended it
    total_epochs, optimal_value                   over the whole run; V*(start) of the world
    regret, gap_regret, steps, seconds            every measure; of a run that was cut off, what it had paid by then
    key, file                                     the key of the run, and its file below the results folder
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from goalward.errors import FileError
from goalward.formatting import number
from goalward.results.measures import MEASURES, measured
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import StoredRun
from goalward.studies.run_spec import canonical
from goalward.studies.store import NoRun, Store
from goalward.table import Column, Columns, Table

__all__ = ["TYPES", "ListedRun", "export_table", "list_runs"]

TYPES = {
    **dict.fromkeys(
        ("study", "world", "agent", "state", "algorithm", "world_id", "world_settings", "agent_settings", "ended",
         "key", "file"), "string",
    ),
    **dict.fromkeys(("run", "episodes", "max_steps", "seed", "episodes_done", "total_epochs"), "int64"),
    **dict.fromkeys(("give_up_cost", "optimal_value"), "double"),
    "truncated": "bool",
    **{measure.name: measure.kind for measure in MEASURES},
}  # fmt: skip
"""The types of the columns in Parquet files, where a column may have no value at all."""
BLOCK = 64
"""How many runs are read at once."""


class ListedRun(NamedTuple):
    """One run of a study, and what the folder has of it."""

    design: Design
    cell: Cell
    number: int
    key: str
    run_or_reason: StoredRun | NoRun


def list_runs(store: Store, study: str | None = None) -> Iterator[ListedRun]:
    """Return every run of a study, or of all studies of a folder, each file checked."""
    names: list[str | None] = [study] if study is not None else [*store.studies()] or [None]
    with ThreadPoolExecutor() as threads:
        for name in names:
            design = store.design(name)
            for cell in design.cells:
                keys = design.keys(cell)
                # Blocks, because a stored run takes a hundred kilobytes of memory.
                for start in range(0, len(keys), BLOCK):
                    block = keys[start : start + BLOCK]
                    runs = zip(block, threads.map(store.find, block), strict=True)
                    for number, (key, run_or_reason) in enumerate(runs, start):
                        yield ListedRun(design, cell, number, key, run_or_reason)


def export_table(store: Store, study: str | None = None, absent: bool = False) -> Table:
    """Return the stored runs of a study, or of all studies of a folder.

    With `absent`, runs that are missing, failed or damaged have a row too.
    """
    rows = list(export_rows(store, list_runs(store, study), absent))
    shown: Columns = [
        Column("key", write=lambda key: str(key[:12])),  # enough to tell the runs of any folder apart
        "study", "world", "agent", "episodes", "run", "state",
        Column("regret", write=lambda value: number(value, 6)),
    ]  # fmt: skip
    return Table(rows, shown, "runs", types=TYPES)


def export_rows(store: Store, runs: Iterable[ListedRun], absent: bool) -> Iterator[dict[str, Any]]:
    nothing = dict.fromkeys(measure.name for measure in MEASURES)
    for listed in runs:
        run = listed.run_or_reason
        stored = run if isinstance(run, StoredRun) else None
        try:
            values = nothing if stored is None else measured(stored)[1]
        except FileError as error:
            run, stored, values = NoRun("damaged", str(error)), None, nothing
        if stored is None and not absent:
            continue
        spec = listed.design.spec(listed.cell, listed.number) if stored is None else stored.spec
        outcome: dict[str, Any] = {} if stored is None else stored.outcome
        facts = ("episodes_done", "truncated", "ended", "total_epochs", "optimal_value")
        yield {
            "study": listed.design.name,
            "world": listed.cell.world.label,
            "agent": listed.cell.agent.label,
            "run": listed.number,
            "episodes": listed.cell.episodes,
            "state": run.state,
            "algorithm": spec.agent["name"],
            "world_id": spec.world.get("id") or spec.world.get("digest"),
            "world_settings": canonical(spec.world.get("settings", {})),
            "agent_settings": canonical(spec.agent["settings"]),
            "give_up_cost": spec.world.get("give_up_cost"),
            "max_steps": spec.max_steps,
            "seed": spec.seed,
            **{name: outcome.get(name) for name in facts},
            **values,
            "key": listed.key,
            "file": store.path(listed.key).relative_to(store.folder).as_posix(),
        }
