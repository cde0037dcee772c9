"""What decides a result, as plain data, and the keys made of it.

A run is decided by its content: the world, the agent, the number of episodes, the step limit, the seed, and
`RESULTS_VERSION`, which moves with every change of the package that moves results. The key of a run is the SHA-256 of
that content. Labels, the study, the other agents, the machine and the number of workers are not in it, so they change
no result.

A cell is one agent in one world for so many episodes; run r of a cell has a seed made of the study's seed, the world
and r. All agents of a study share it, so they face the same luck and can be compared pair by pair.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from goalward.errors import FileError
from goalward.seeds import run_seed

__all__ = ["RESULTS_VERSION", "AgentCell", "Cell", "Content", "Plan", "WorldCell", "canonical", "key_of"]

RESULTS_VERSION = 1
"""Raise it whenever any result may move, with a line under "Results" in CHANGELOG.md."""

Content = dict[str, Any]


def canonical(value: object) -> str:
    """Write plain data in the one form that keys are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def key_of(content: Content) -> str:
    """Return the key of a run: 32 hexadecimal digits of the SHA-256 of its content.

    >>> key_of({"seed": 1}) == key_of({"seed": 1}) != key_of({"seed": 2})
    True
    """
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class WorldCell:
    """A world of a study.

    `identity` is ``{"id", "settings"}`` for a world of the registry and ``{"digest"}`` for a model from a file; `draw`
    names the setting that each run draws anew; `swept` holds the settings in which worlds of one entry differ.
    """

    label: str
    identity: dict[str, Any]
    draw: str | None = None
    swept: dict[str, Any] = field(default_factory=dict)

    def drawn(self, seed: int, run: int) -> dict[str, Any]:
        """Return the identity of the world of a run."""
        if self.draw is None:
            return self.identity
        value = run_seed(seed, "world", canonical(self.identity), run)
        return self.identity | {"settings": self.identity["settings"] | {self.draw: value}}


@dataclass(frozen=True)
class AgentCell:
    """An agent of a study.

    `identity` is ``{"name", "settings"}``, with ``"source"``, the hash of its text, if the class is in a user's file.
    """

    label: str
    identity: dict[str, Any]
    swept: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One agent in one world for so many episodes."""

    world: WorldCell
    agent: AgentCell
    episodes: int

    def content(self, seed: int, run: int, max_steps: int | None) -> Content:
        """Return what decides run number `run`, counted from 0, in a study with the given seed."""
        return {
            "results": RESULTS_VERSION,
            "world": self.world.drawn(seed, run),
            "agent": self.agent.identity,
            "episodes": self.episodes,
            "max_steps": max_steps,
            "seed": run_seed(seed, "run", canonical(self.world.identity), run),
        }


@dataclass(frozen=True)
class Plan:
    """A study in full: every setting is there, nothing is left to a default."""

    name: str
    description: str
    seed: int
    runs: int
    max_steps: int | None
    cells: tuple[Cell, ...]

    @property
    def size(self) -> int:
        """The number of runs of the whole study."""
        return self.runs * len(self.cells)

    def contents(self, cell: Cell) -> list[Content]:
        """Return what decides each run of a cell."""
        return [cell.content(self.seed, run, self.max_steps) for run in range(self.runs)]

    def keys(self, cell: Cell) -> list[str]:
        """Return the key of each run of a cell."""
        return [key_of(content) for content in self.contents(cell)]

    def to_document(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return asdict(self) | {"results": RESULTS_VERSION}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Plan:
        """Return the plan of plain data."""
        try:
            if document["results"] != RESULTS_VERSION:
                raise FileError(
                    f"the study was run with results version {document['results']}, this goalward makes version"
                    f" {RESULTS_VERSION}; run the study again, or use the goalward that made it"
                )
            cells = tuple(
                Cell(WorldCell(**cell["world"]), AgentCell(**cell["agent"]), int(cell["episodes"]))
                for cell in document["cells"]
            )
            settings = {name: document[name] for name in ("name", "description", "seed", "runs", "max_steps")}
            return cls(**settings, cells=cells)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"the plan of the study is damaged ({error!r}); run the study again") from None
