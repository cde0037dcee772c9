"""Which runs a study means: every name looked up, every default filled in.

A cell is one agent in one world for a number of episodes. Run r of a cell has a seed made of the study's seed, the
world and r. All agents of a study share it, so they face the same luck and can be compared pair by pair.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from goalward.errors import FileError, SettingError
from goalward.seeds import run_seed
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec, canonical, check_results_version

__all__ = ["MOST_RUNS", "NAME", "Cell", "Design", "StudyAgent", "StudyWorld"]

MOST_RUNS = 10_000_000
"""How many runs one study may have."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a study may be called: its name is part of paths."""


@dataclass(frozen=True)
class StudyWorld:
    """A world of a study.

    `identity` is the world of a `RunSpec` but for its `content`, which changes if the world is programmed differently;
    `draw` names the setting that each run draws anew; `swept` holds the settings in which the worlds of one entry
    differ; `group` is the group of worlds it is summed up with.
    """

    label: str
    identity: dict[str, Any]
    draw: str | None = None
    swept: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    content: dict[str, Any] = field(default_factory=dict)

    def drawn(self, seed: int, run: int) -> dict[str, Any]:
        """Return the world of one run."""
        world = self.identity | self.content
        if self.draw is None:
            return world
        value = run_seed(seed, "world", canonical(self.identity), run)
        return world | {"settings": self.identity["settings"] | {self.draw: value}}


@dataclass(frozen=True)
class StudyAgent:
    """An agent of a study; `identity` is the agent of a `RunSpec`."""

    label: str
    identity: dict[str, Any]
    swept: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One agent in one world for a number of episodes."""

    world: StudyWorld
    agent: StudyAgent
    episodes: int


@dataclass(frozen=True)
class Design:
    """The runs of a study: `runs` of each cell."""

    name: str
    description: str
    seed: int
    runs: int
    max_steps: int | None
    cells: tuple[Cell, ...]

    @property
    def size(self) -> int:
        """The number of runs over all cells; a run that two cells share counts twice."""
        return self.runs * len(self.cells)

    @cached_property
    def reference(self) -> str:
        """The name of the study and the digest of its design, ``NAME/DIGEST``; the description does not count."""
        decisive = {name: value for name, value in self.document().items() if name != "description"}
        return f"{self.name}/{hashlib.sha256(canonical(decisive).encode()).hexdigest()[:12]}"

    @cached_property
    def several_lengths(self) -> bool:
        """Whether the runs of the cells differ in their number of episodes."""
        return len({cell.episodes for cell in self.cells}) > 1

    def spec(self, cell: Cell, run: int) -> RunSpec:
        """Return run number `run` of a cell, counted from 0."""
        if not 0 <= run < self.runs:
            raise SettingError(f"run is {run}; the study has the runs 0 to {self.runs - 1}")
        seed = run_seed(self.seed, "run", canonical(cell.world.identity), run)
        return RunSpec(cell.world.drawn(self.seed, run), cell.agent.identity, cell.episodes, self.max_steps, seed)

    def specs(self, cell: Cell) -> list[RunSpec]:
        """Return all runs of a cell."""
        return [self.spec(cell, run) for run in range(self.runs)]

    def keys(self, cell: Cell) -> list[str]:
        """Return the key of each run of a cell."""
        return [spec.key for spec in self.specs(cell)]

    def document(self) -> dict[str, Any]:
        """Return the design as plain data."""
        return asdict(self) | {"results": RESULTS_VERSION}

    def check_types(self) -> None:
        """Raise ValueError if a part is not of its kind: a stored design is data from a file, and its name a path."""
        integers = [self.seed + 1, self.runs, self.max_steps or 1, *(cell.episodes for cell in self.cells)]
        if not all(type(number) is int and number >= 1 for number in integers):
            raise ValueError("seed, runs, max_steps and episodes must be positive integers")
        parts = [part for cell in self.cells for part in (cell.world, cell.agent)]
        texts = [self.name, self.description, *(part.label for part in parts)]
        texts += [text for cell in self.cells for text in (cell.world.draw or "", cell.world.group)]
        if not all(isinstance(text, str) for text in texts) or not NAME.fullmatch(self.name):
            raise ValueError("the name, the description and labels must be texts, and the name must fit a file")
        "".join(texts).encode()  # half of a surrogate pair could not be written anywhere
        if self.size > MOST_RUNS:
            raise ValueError(f"there are at most {MOST_RUNS:,} runs")
        tables = [table for part in parts for table in (part.identity, part.swept)]
        if not all(isinstance(table, dict) for table in [*tables, *(cell.world.content for cell in self.cells)]):
            raise ValueError("the identity and the swept settings of worlds and agents must be tables")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Design:
        """Return the design of plain data; raise FileError if it is damaged or of another version of the results."""
        try:
            check_results_version(document, "the study")
            cells = tuple(
                Cell(StudyWorld(**cell["world"]), StudyAgent(**cell["agent"]), cell["episodes"])
                for cell in document["cells"]
            )
            settings = {name: document[name] for name in ("name", "description", "seed", "runs", "max_steps")}
            design = cls(**settings, cells=cells)
            design.check_types()
            canonical(document)  # raises ValueError on NaN, which no key can have
            return design
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FileError(f"the stored design of the study is damaged ({error!r}); run the study again") from None
