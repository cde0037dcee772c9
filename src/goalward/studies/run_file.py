"""The file of a run: a Parquet file with one row for each episode, and with facts about the run in its footer.

The columns::

    episode             the number of the episode, counted from 1
    cost, steps         the cost of the episode and its number of steps
    regret, gap_regret  the regret and the gap regret up to the end of the episode; NaN if V* is not known
    epochs              the number of epochs that began before the end of the episode

The file of a run with more than 20,000 episodes has rows for about 2,000 episodes. Half of them are evenly spaced on a
linear scale, half on a logarithmic scale. The footer's metadata has a JSON document under ``goalward``::

    key, content        the key of the run, and the values that determine the key; see `studies.run_spec`
    outcome             episodes, episodes_done (how many were completed), goals (how many reached the goal), truncated
                        (whether the run was cut off), ended (why the run ended), total_cost, total_steps,
                        total_epochs, ended_by (how many epochs each condition ended), optimal_value (V* of the start),
                        final_regret, final_gap_regret
    world               for a world with a model: digest, states, actions, B_star, T_star, D and c_min
    agent_settings, given, notes    all settings, the names of settings read off the true world, the agent's notes
    timing, versions, host          start, end and duration; versions of packages; the machine
    data_sha256         the SHA-256 of the bytes before the footer; these bytes are the same on every machine

The entry ``goalward.checksum`` is the SHA-256 of the whole file with zeros in place of the checksum.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from goalward.acting.stop_conditions import Ended
from goalward.agents.base import CAVEAT
from goalward.arrays import Int64s
from goalward.errors import FileError
from goalward.formatting import finite
from goalward.learning.run import Run
from goalward.studies.run_spec import RunSpec

FORMAT_VERSION = 3
MOST_EPISODES = 20_000
GRID_POINTS = 2_000
SCHEMA = pa.schema(
    [
        pa.field(name, pa.int64() if name in ("episode", "steps", "epochs") else pa.float64(), nullable=False)
        for name in ("episode", "cost", "steps", "regret", "gap_regret", "epochs")
    ]
)
COMPRESSED = 1_000  # with fewer episodes, decompression takes longer than it saves in reading
# The fields that each section of every document must have; `decode` checks them.
FIELDS: dict[str, dict[str, type]] = {
    "": {"key": str, "content": dict, "data_sha256": str},
    "timing": {"cpu_seconds": float},
    "outcome": {
        "episodes": int, "episodes_done": int, "goals": int, "total_cost": float, "truncated": bool, "ended": str,
        "total_steps": int, "total_epochs": int, "ended_by": dict,
    },
}  # fmt: skip
MARK = b"sha256:"
BLANK = MARK + b"0" * 64


def recorded(count: int) -> Int64s:
    """Return the indices of the episodes that have rows in the file of a run with `count` episodes.

    >>> len(recorded(20_000)), len(recorded(20_001)) <= 2_000, recorded(10**6)[[0, -1]].tolist()
    (20000, True, [0, 999999])
    """
    if count <= MOST_EPISODES:
        return np.arange(count)
    linear = np.linspace(0.0, count - 1.0, GRID_POINTS // 2)
    logarithmic = np.geomspace(1.0, count, GRID_POINTS // 2) - 1.0
    return np.unique(np.rint(np.concatenate([linear, logarithmic])).astype(np.int64))


def encode(run: Run, spec: RunSpec, timing: dict[str, Any], world: Mapping[str, Any] | None = None) -> bytes:
    """Return the content of a run's Parquet file; `world` has facts about the world of the run."""
    kept = recorded(len(run.costs))
    unknown = np.full(len(kept), math.nan) if math.isnan(run.optimal_value) else None
    columns = (
        kept + 1,
        run.costs[kept],
        run.steps[kept],
        run.regret[kept] if unknown is None else unknown,
        run.gap_regret[kept] if unknown is None else unknown,
        np.searchsorted(run.epochs.start_episode, kept, side="right"),
    )
    sink = io.BytesIO()
    # Statistics and a stored Arrow schema would only make small files larger.
    compression = "zstd" if len(kept) >= COMPRESSED else "none"
    writer = pq.ParquetWriter(
        sink, SCHEMA, compression=compression, use_dictionary=False, write_statistics=False, store_schema=False
    )
    writer.write_table(pa.Table.from_arrays([pa.array(values) for values in columns], schema=SCHEMA))
    facts = {
        "format": FORMAT_VERSION,
        "key": spec.key,
        "content": spec.document(),
        "outcome": finite(outcome_of(run)),
        "world": None if world is None else finite(dict(world)),
        "agent_settings": finite(run.agent.settings()),
        "given": sorted(run.agent.given),
        "notes": finite(run.notes),
        "timing": timing,
        "versions": versions(),
        "host": host(),
        "data_sha256": hashlib.sha256(sink.getbuffer()).hexdigest(),
    }
    writer.add_key_value_metadata({"goalward": json.dumps(facts, allow_nan=False), "goalward.checksum": BLANK.decode()})
    writer.close()
    content = sink.getvalue()
    return content.replace(BLANK, MARK + hashlib.sha256(content).hexdigest().encode(), 1)


def outcome_of(run: Run) -> dict[str, Any]:
    known = len(run.costs) > 0 and not math.isnan(run.optimal_value)
    flags, counts = np.unique(run.epochs.ended, return_counts=True)
    together = list(zip(flags.tolist(), counts.tolist(), strict=True))  # several conditions may end an epoch at once
    causes = {flag.name: sum(count for flags, count in together if flags & flag) for flag in Ended}
    # Episodes that the environment truncates do not count here: a run is cut off if it ends before its last episode.
    cut = not run.ended & Ended.EPISODES
    return {
        "episodes": run.episodes,
        "episodes_done": len(run.reached) - bool(cut and len(run.reached) and not run.reached[-1]),
        "goals": int(np.count_nonzero(run.reached)),
        "truncated": cut,
        "total_cost": float(run.costs.sum()),
        "ended": str(run.ended.name),
        "total_steps": run.total_steps,
        "total_epochs": len(run.epochs),
        "optimal_value": run.optimal_value,
        "final_regret": float(run.regret[-1]) if known else math.nan,
        "final_gap_regret": float(run.gap_regret[-1]) if known else math.nan,
        "ended_by": {name: number for name, number in causes.items() if number},
    }


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A stored run: the `document` with facts about the run, and the Parquet `file` with its columns."""

    document: dict[str, Any]
    file: Any

    @property
    def key(self) -> str:
        """The key of the run."""
        return str(self.document["key"])

    @property
    def outcome(self) -> dict[str, Any]:
        """The section ``outcome`` of the document; numbers that are not finite are None."""
        outcome: dict[str, Any] = self.document["outcome"]
        return outcome

    @property
    def state(self) -> str:
        """``cut off`` if the run was truncated, otherwise ``stored``."""
        return "cut off" if self.outcome["truncated"] else "stored"

    @property
    def caveat(self) -> str:
        """The caveat in the agent's notes, which every table and figure must show."""
        notes = self.document.get("notes")
        return str(notes.get(CAVEAT, "")) if isinstance(notes, dict) else ""

    def columns(self, *names: str) -> list[NDArray[Any]]:
        """Return the columns with these `names`; raises FileError with the reason if the columns cannot be read."""
        try:
            table = self.file.read(columns=list(names), use_threads=False)
            return [table.column(name).to_numpy() for name in names]
        except (pa.ArrowException, OSError, KeyError) as error:
            raise FileError(f"the columns cannot be read ({error})") from None

    def column(self, name: str) -> NDArray[Any]:
        """Return the column called `name`."""
        return self.columns(name)[0]


def verify(content: bytes) -> None:
    """Raise FileError with the reason if the `content` of a file has changed since the file was written."""
    start = content.rfind(MARK)
    end = start + len(BLANK)
    if start < 0:
        raise FileError("the file has no checksum, so it was cut short or is not a run")
    digest = hashlib.sha256(memoryview(content)[:start])
    digest.update(BLANK)
    digest.update(memoryview(content)[end:])
    if digest.hexdigest().encode() != content[start + len(MARK) : end]:
        raise FileError("the content does not match the checksum")


def decode(content: bytes) -> StoredRun:
    """Return the run in the `content` of a Parquet file; raises FileError with the reason if the file is not valid."""
    verify(content)
    try:
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        schema = file.schema_arrow  # `file.schema` is in a reference cycle and would stay in memory
        document = json.loads(schema.metadata[b"goalward"])
        version = document["format"]
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(f"the file is not a run ({error})") from None
    if version != FORMAT_VERSION:
        raise FileError(f"the file has format {version!r}; this goalward reads format {FORMAT_VERSION}")
    for section, fields in FIELDS.items():
        part = document.get(section) if section else document
        for name, kind in fields.items():
            if type(part) is not dict or type(part.get(name)) is not kind:
                raise FileError(f"the document has no {kind.__name__} called {f'{section}.' * bool(section)}{name}")
    episodes = document["outcome"]["episodes"]
    if not schema.equals(SCHEMA) or file.metadata.num_rows > max(episodes, 1):
        raise FileError(f"the columns do not fit a run of {episodes} episodes")
    return StoredRun(document, file)


@functools.cache
def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for name in ("goalward", "numpy", "scipy", "numba", "llvmlite", "pyarrow"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "unknown"
    return installed


@functools.cache
def host() -> dict[str, Any]:
    """Return the name and the hardware of this machine."""
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    facts = {"system": platform.system(), "machine": platform.machine(), "processor": model, "cores": os.cpu_count()}
    return {"name": platform.node(), **facts}
