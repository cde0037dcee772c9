"""One run as one Parquet file.

The file has one row. Its plain columns say what was run and how it ended::

    key, seed, episodes, max_steps                what decides the run, with the next four; see `studies.run_spec`
    world, world_settings                         its id, or the digest of a model; its settings as JSON
    agent, agent_settings                         the name of the algorithm; its settings as JSON
    give_up_cost                                  what giving up costs, null if agents cannot
    world_label, agent_label, run                 what the study that made the file calls them, and which run it was
    episodes_done, truncated, ended               how many episodes reached the goal; was it cut off; what ended it
    total_steps, total_epochs, optimal_value      over the whole run; V*(start) of the world
    final_regret, final_gap_regret                after the last episode

and its list columns hold the run::

    episode, cost, steps, regret, gap_regret      one entry for each episode: its number, what it cost, how long it was,
                                                  and both regrets after it, NaN where V* is not known
    epoch, epoch_start_step, epoch_start_episode, epoch_steps, epoch_goals, epoch_ended
                                                  one entry for each epoch, as in `goalward.learning.run.Epochs`

Of more than 20,000 episodes or epochs about 2,000 are kept, half of them evenly spread on a linear scale and half on a
logarithmic one; `total_epochs` and the document count all. Any tool that reads Parquet reads a folder of runs as a
table of runs.

But for the labels and the number of the run, the columns hold only what the spec of the run decides. Versions, the
machine and times are in the key-value metadata, as a JSON document under ``goalward``. So two files of one run of one
study have the same data bytes; the document has their SHA-256. Where studies share a run under different labels, the
file has those of the study that made it; `results.export` has the labels of each. The entry ``goalward.checksum`` is
the SHA-256 of the whole file, computed with zeros in its own place.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from goalward.acting.stop import Ended
from goalward.agents.base import CAVEAT
from goalward.arrays import Floats, Int64s
from goalward.errors import FileError
from goalward.formatting import finite
from goalward.learning.run import Epochs, Run
from goalward.studies.run_spec import RunSpec, canonical, key_of

__all__ = [
    "FORMAT_VERSION", "GRID_POINTS", "MOST_EPISODES", "RunLabels", "StoredRun", "decode", "encode", "host",
    "identity_of", "recorded", "verify",
]  # fmt: skip

FORMAT_VERSION = 1
MOST_EPISODES = 20_000
GRID_POINTS = 2_000
EPISODE_COLUMNS = ("episode", "cost", "steps", "regret", "gap_regret")
EPOCH_COLUMNS = ("epoch", "epoch_start_step", "epoch_start_episode", "epoch_steps", "epoch_goals", "epoch_ended")
# What every document has; decoding checks it.
FIELDS = {
    "key": str,
    "content": dict,
    "data_sha256": str,
    "timing.cpu_seconds": float,
    "outcome.episodes": int,
    "outcome.episodes_done": int,
    "outcome.truncated": bool,
    "outcome.ended": str,
    "outcome.total_steps": int,
    "outcome.total_epochs": int,
    "outcome.ended_by": dict,
}
MARK = b"sha256:"
BLANK = MARK + b"0" * 64


def recorded(count: int) -> Int64s:
    """Return which of so many episodes a record keeps, counted from 0.

    >>> len(recorded(20_000)), len(recorded(20_001)) <= 2_000, recorded(10**6)[[0, -1]].tolist()
    (20000, True, [0, 999999])
    """
    if count <= MOST_EPISODES:
        return np.arange(count)
    linear = np.linspace(0.0, count - 1.0, GRID_POINTS // 2)
    logarithmic = np.geomspace(1.0, count, GRID_POINTS // 2) - 1.0
    return np.unique(np.rint(np.concatenate([linear, logarithmic])).astype(np.int64))


class RunLabels(NamedTuple):
    """What a study calls the world and the agent of a run, and the number of the run in its cell."""

    world: str
    agent: str
    run: int


def encode(run: Run, spec: RunSpec, timing: dict[str, Any], labels: RunLabels | None = None) -> bytes:
    """Return a run as a Parquet file."""
    outcome = outcome_of(run)
    world_label, agent_label, number = labels or (None, None, None)
    table = pa.table(
        {
            "key": [spec.key],
            **{name: pa.array([value], kind) for name, (value, kind) in identity_of(spec).items()},
            "world_label": pa.array([world_label], pa.string()),
            "agent_label": pa.array([agent_label], pa.string()),
            "run": pa.array([number], pa.int64()),
            "seed": pa.array([run.seed], pa.int64()),
            **{name: [value] for name, value in outcome.items() if name != "ended_by"},
            **{name: as_list(values) for name, values in columns_of(run).items()},
        }
    )
    sink = io.BytesIO()
    # Statistics and a stored Arrow schema would only make small files larger.
    writer = pq.ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False
    )
    writer.write_table(table)
    facts = {
        "format": FORMAT_VERSION,
        "key": spec.key,
        "content": spec.document(),
        "timing": timing,
        "agent_settings": run.agent.settings(),
        "given": sorted(run.agent.given),
        "notes": run.notes,
        "outcome": outcome,
        "data_sha256": hashlib.sha256(sink.getbuffer()).hexdigest(),
        "versions": versions(),
        "host": host(),
    }
    writer.add_key_value_metadata(
        {"goalward": json.dumps(finite(facts), allow_nan=False), "goalward.checksum": BLANK.decode()}
    )
    writer.close()
    content = sink.getvalue()
    return content.replace(BLANK, MARK + hashlib.sha256(content).hexdigest().encode(), 1)


def identity_of(spec: RunSpec) -> dict[str, tuple[Any, pa.DataType]]:
    """Return what was run, as values of columns with their types."""
    return {
        "world": (spec.world.get("id") or spec.world.get("digest"), pa.string()),
        "world_settings": (canonical(spec.world.get("settings", {})), pa.string()),
        "give_up_cost": (spec.world.get("give_up_cost"), pa.float64()),
        "agent": (spec.agent["name"], pa.string()),
        "agent_settings": (canonical(spec.agent["settings"]), pa.string()),
        "max_steps": (spec.max_steps, pa.int64()),
    }


def outcome_of(run: Run) -> dict[str, Any]:
    known = len(run.costs) > 0 and not math.isnan(run.optimal_value)
    causes = {flag.name: int(np.count_nonzero(run.epochs.ended_by(flag))) for flag in Ended}
    return {
        "episodes": run.episodes,
        "episodes_done": int(np.count_nonzero(run.reached)),
        "truncated": run.truncated,
        "ended": str(run.ended.name),
        "total_steps": run.total_steps,
        "total_epochs": len(run.epochs),
        "optimal_value": run.optimal_value,
        "final_regret": float(run.regret[-1]) if known else math.nan,
        "final_gap_regret": float(run.gap_regret[-1]) if known else math.nan,
        "ended_by": {name: number for name, number in causes.items() if number},
    }


def columns_of(run: Run) -> dict[str, NDArray[Any]]:
    kept = recorded(len(run.costs))
    unknown = np.full(len(kept), math.nan) if math.isnan(run.optimal_value) else None
    epochs = run.epochs
    kept_epochs = recorded(len(epochs))
    return {
        "episode": kept + 1,
        "cost": run.costs[kept],
        "steps": run.steps[kept],
        "regret": run.regret[kept] if unknown is None else unknown,
        "gap_regret": run.gap_regret[kept] if unknown is None else unknown,
        "epoch": kept_epochs,
        "epoch_start_step": epochs.start_step[kept_epochs],
        "epoch_start_episode": epochs.start_episode[kept_epochs],
        "epoch_steps": epochs.steps[kept_epochs],
        "epoch_goals": epochs.goals[kept_epochs],
        "epoch_ended": epochs.ended[kept_epochs],
    }


def as_list(values: NDArray[Any]) -> Any:
    """Return an array as a column of one row."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values))


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run read back: its document, and its columns on demand."""

    document: dict[str, Any]
    file: Any

    @property
    def key(self) -> str:
        """The key of the run."""
        return str(self.document["key"])

    @property
    def spec(self) -> RunSpec:
        """What decided the run; raises FileError if it is of another version of the results."""
        return RunSpec.from_document(self.document["content"])

    @property
    def outcome(self) -> dict[str, Any]:
        """How the run ended; numbers that are not finite are None."""
        outcome: dict[str, Any] = self.document["outcome"]
        return outcome

    @property
    def state(self) -> str:
        """``stored``, or ``cut off`` if the run was truncated."""
        return "cut off" if self.outcome["truncated"] else "stored"

    @property
    def caveat(self) -> str:
        """What the agent's notes ask every table and figure to show."""
        notes = self.document.get("notes")
        return str(notes.get(CAVEAT, "")) if isinstance(notes, dict) else ""

    def columns(self, *names: str) -> list[NDArray[Any]]:
        """Return some list columns; raises FileError with the reason if they cannot be read."""
        try:
            table = self.file.read(columns=[f"{name}.list.element" for name in names], use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"its columns cannot be read ({error})") from None
        return [np.asarray(table.column(name).chunk(0).values) for name in names]

    def column(self, name: str) -> NDArray[Any]:
        """Return a list column."""
        return self.columns(name)[0]

    @property
    def episodes(self) -> Int64s:
        """The numbers of the recorded episodes, counted from 1."""
        return self.column("episode")

    def regret(self, measure: str = "regret") -> Floats:
        """Return a regret, ``regret`` or ``gap_regret``, after each recorded episode."""
        return self.column(measure)

    def epochs(self) -> Epochs:
        """Return the recorded epochs."""
        return Epochs(*self.columns(*EPOCH_COLUMNS[1:]))


def verify(content: bytes) -> None:
    """Raise FileError with the reason if a file has changed since it was written."""
    place = content.rfind(MARK)
    end = place + len(BLANK)
    if place < 0:
        raise FileError("it has no checksum: cut short, or not a run of goalward's")
    digest = hashlib.sha256(memoryview(content)[:place])
    digest.update(BLANK)
    digest.update(memoryview(content)[end:])
    if digest.hexdigest().encode() != content[place + len(MARK) : end]:
        raise FileError("its content does not match its checksum")


def decode(content: bytes) -> StoredRun:
    """Return the run in a Parquet file; raises FileError with the reason if it cannot be used."""
    verify(content)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        document = json.loads(file.metadata.metadata[b"goalward"])
        version = document["format"]
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(f"it is not a run of goalward's ({error})") from None
    if version != FORMAT_VERSION:
        raise FileError(f"it has format {version!r}; this goalward reads format {FORMAT_VERSION}")
    check_document(document)
    check_columns(file.metadata, document["outcome"]["episodes"])
    return StoredRun(document, file)


def check_document(document: dict[str, Any]) -> None:
    """Raise FileError if a document lacks a field, or if its key is not that of its content."""
    for path, kind in FIELDS.items():
        value: Any = document
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise FileError(f"its document has no {path}, or not as {kind.__name__}")
    try:
        key = key_of(document["content"])
    except (ValueError, RecursionError):
        key = None
    if document["key"] != key:
        raise FileError("its key is not that of its content: it was changed after it was written")


def check_columns(metadata: Any, episodes: int) -> None:
    """Raise FileError if list columns are missing or do not have the same length."""
    if metadata.num_rows != 1 or metadata.num_row_groups != 1:
        raise FileError(f"it has {metadata.num_rows} rows; a run has one")
    columns = [metadata.row_group(0).column(place) for place in range(metadata.num_columns)]
    lengths = {column.path_in_schema: column.num_values for column in columns}
    for names, most in ((EPISODE_COLUMNS, episodes), (EPOCH_COLUMNS, math.inf)):
        found = {lengths.get(f"{name}.list.element", -1) for name in names}
        if len(found) > 1 or not 0 <= max(found) <= max(most, 1):
            raise FileError(f"its columns {', '.join(names)} do not fit a run of {episodes} episodes")


@functools.cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("goalward", "numpy", "scipy", "numba", "llvmlite", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


@functools.cache
def host() -> dict[str, Any]:
    """Return what kind of machine this is."""
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return {"system": platform.system(), "machine": platform.machine(), "processor": model, "cores": os.cpu_count()}
