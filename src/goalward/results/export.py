"""The runs of a results folder as one table, one row for each run.

Only sound files count: what is missing, failed, damaged or left over from studies that are no longer there has no row.
The columns are those of `SCHEMA`::

    study                                         the study that names the run; a run of two studies has two rows
    world, agent, run, episodes                   labels of the study, the number of the run, how long it was to be
    algorithm, world_id                           the name of the algorithm; the id of the world, or a model's digest
    world_settings, agent_settings                all settings, as JSON
    give_up_cost, max_steps, seed                 null where there is none
    episodes_done, truncated, ended               how many episodes reached the goal; was it cut off; what ended it
    total_steps, total_epochs, cpu_seconds        over the whole run
    optimal_value                                 V*(start) of the world
    final_regret, final_gap_regret                after the last episode that was done
    key, file                                     the key of the run, and its file below the results folder
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from goalward.errors import FileError
from goalward.files import write_bytes
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import StoredRun, identity_of
from goalward.studies.store import NoRun, Store

__all__ = ["SCHEMA", "ListedRun", "csv_bytes", "export_table", "list_runs", "parquet_bytes", "write_export"]

TEXT, NUMBER, COUNT = pa.string(), pa.float64(), pa.int64()
SCHEMA = pa.schema(
    [
        ("study", TEXT), ("world", TEXT), ("agent", TEXT), ("run", COUNT), ("episodes", COUNT),
        ("algorithm", TEXT), ("world_id", TEXT), ("world_settings", TEXT), ("agent_settings", TEXT),
        ("give_up_cost", NUMBER), ("max_steps", COUNT), ("seed", COUNT),
        ("episodes_done", COUNT), ("truncated", pa.bool_()), ("ended", TEXT), ("total_steps", COUNT),
        ("total_epochs", COUNT), ("cpu_seconds", NUMBER), ("optimal_value", NUMBER), ("final_regret", NUMBER),
        ("final_gap_regret", NUMBER), ("key", TEXT), ("file", TEXT),
    ]
)  # fmt: skip
BLOCK = 64
"""How many runs are read at once."""


class ListedRun(NamedTuple):
    """One run of a study, and what the folder has of it."""

    design: Design
    cell: Cell
    run: int
    key: str
    found: StoredRun | NoRun

    @property
    def state(self) -> str:
        """What there is: ``stored``, ``cut off`` (stored, but truncated), ``missing``, ``failed`` or ``damaged``."""
        return self.found.state


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
                    for run, (key, found) in enumerate(zip(block, threads.map(store.find, block), strict=True), start):
                        yield ListedRun(design, cell, run, key, found)


def export_table(store: Store, study: str | None = None) -> pa.Table:
    """Return the stored runs of a study, or of all studies of a folder, as a table."""
    rows = [row_of(store, each, each.found) for each in list_runs(store, study) if isinstance(each.found, StoredRun)]
    return pa.Table.from_pylist(rows, SCHEMA)


def row_of(store: Store, listed: ListedRun, stored: StoredRun) -> dict[str, Any]:
    spec, outcome = stored.spec, stored.outcome
    told = {name: value for name, (value, _) in identity_of(spec).items()}
    return {
        "study": listed.design.name,
        "run": listed.run,
        "seed": spec.seed,
        "cpu_seconds": stored.document["timing"]["cpu_seconds"],
        "key": listed.key,
        "file": store.path(listed.key).relative_to(store.folder).as_posix(),
        **{name: outcome.get(name) for name in SCHEMA.names if name in outcome},
        **{name: told[name] for name in ("world_settings", "agent_settings", "give_up_cost", "max_steps")},
        "world_id": told["world"],
        "algorithm": told["agent"],
        "world": listed.cell.world.label,
        "agent": listed.cell.agent.label,
        "episodes": listed.cell.episodes,
    }


def csv_bytes(table: pa.Table) -> bytes:
    """Return a table as CSV; null is an empty field."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return bytes(sink.getvalue().to_pybytes())


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def write_export(table: pa.Table, path: Path) -> None:
    """Write a table to a file whose ending, .csv or .parquet, names the format."""
    kinds = {".csv": csv_bytes, ".parquet": parquet_bytes}
    if path.suffix not in kinds:
        raise FileError(f"{path}: runs are exported to .csv or .parquet; the ending is {path.suffix!r}")
    write_bytes(path, kinds[path.suffix](table))
