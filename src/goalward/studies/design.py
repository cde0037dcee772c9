"""The runs that a complete study defines.

A cell is one agent in one world for a number of episodes. The seed of run r in a cell depends on the study's seed, the
world and r, but not on the agent. So all agents face the same random numbers and can be compared run by run.

A complete study contains every value, so the registries of worlds and agents are not needed. Results folders store
complete studies, and reading a stored study executes no code.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from goalward.errors import SettingError
from goalward.seeds import run_seed
from goalward.studies.run_spec import KEY_DIGITS, RESULTS_VERSION, RunSpec
from goalward.studies.spec import PRIOR, AgentSpec, StudySpec, WorldSpec, canonical

MOST_RUNS = 10_000_000
cached_seed = lru_cache(1 << 16)(run_seed)  # the agents of a world share the seeds of their runs


@dataclass(frozen=True)
class Cell:
    """One agent in one world for a number of episodes."""

    world: WorldSpec
    agent: AgentSpec
    episodes: int


@dataclass(frozen=True)
class Design:
    """The cells of a study, and the number of `runs` of each cell. `results` is the version of the results."""

    name: str
    description: str
    seed: int
    runs: int
    max_steps: int | None
    cells: tuple[Cell, ...]
    results: int = RESULTS_VERSION
    known_keys: dict[int, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def size(self) -> int:
        """The number of runs over all cells; a run that two cells share counts twice."""
        return self.runs * len(self.cells)

    @cached_property
    def reference(self) -> str:
        """``NAME/DIGEST``: the name of the study, and a digest of everything except the description."""
        # Defaults are left out, so that a key added in a later version does not change the digest.
        entries = [(cell.world, cell.agent, cell.episodes) for cell in self.cells]
        cells = [
            (world.model_dump(exclude_defaults=True), agent.model_dump(exclude_defaults=True), episodes)
            for world, agent, episodes in entries
        ]
        decisive = [self.name, self.seed, self.runs, self.max_steps, self.results, cells]
        return f"{self.name}/{hashlib.sha256(canonical(decisive).encode()).hexdigest()[:12]}"

    def world(self, cell: Cell, run: int) -> dict[str, Any]:
        """Return the world of a run as plain data, in the form of `RunSpec.world`."""
        entry = cell.world
        world = entry.identity | ({"code": entry.code} if entry.code else {})
        if entry.draw is None:
            return world
        seed = run_seed(self.seed, "world", entry.seed_name, run)
        if entry.draw == PRIOR:
            prior = cell.agent.settings["prior"] if entry.prior is None else entry.prior
            return world | {"drawn": {"prior": prior, "seed": seed}}
        return world | {"settings": entry.settings | {entry.draw: seed}}

    def run_seed(self, cell: Cell, run: int) -> int:
        """Return the seed of a run."""
        return cached_seed(self.seed, "run", cell.world.seed_name, run)

    def spec(self, cell: Cell, run: int) -> RunSpec:
        """Return the specification of a run. The number `run` counts the runs of a cell from 0."""
        if not 0 <= run < self.runs:
            raise SettingError(f"run is {run}; it must be from 0 to {self.runs - 1} in this study")
        world, seed = self.world(cell, run), self.run_seed(cell, run)
        return RunSpec(world, cell.agent.identity, cell.episodes, self.max_steps, seed, self.results)

    def specs(self, cell: Cell) -> list[RunSpec]:
        """Return the specifications of all runs of a cell."""
        return [self.spec(cell, run) for run in range(self.runs)]

    def keys(self, cell: Cell) -> list[str]:
        """Return the key of each run of a cell."""
        if id(cell) not in self.known_keys:
            keys = self.known_keys[id(cell)] = []
            # The part that all runs have in common is hashed only once.
            common = RunSpec({}, cell.agent.identity, cell.episodes, self.max_steps, 0, self.results).document()
            del common["seed"], common["world"]  # the last two keys of the sorted document
            begun = hashlib.sha256(f'{canonical(common)[:-1]},"seed":'.encode())
            same = canonical(self.world(cell, 0)) if cell.world.draw is None else ""
            for run in range(self.runs):
                digest = begun.copy()
                world = same or canonical(self.world(cell, run))
                digest.update(f'{self.run_seed(cell, run)},"world":{world}}}'.encode())
                keys.append(digest.hexdigest()[:KEY_DIGITS])
        return self.known_keys[id(cell)]


def design_of(spec: StudySpec) -> Design:
    """Return the design of a complete study; raise SettingError if the study has too many runs."""
    numbers = [len(spec.worlds if entry.worlds is None else entry.worlds) for entry in spec.agents]
    size = sum(numbers) * spec.runs
    if size > MOST_RUNS:
        raise SettingError(f"the study has {size:,} runs, and at most {MOST_RUNS:,} are allowed; split the study")
    cells = [
        Cell(world, agent, spec.episodes)
        for world in spec.worlds
        for agent in spec.agents
        if agent.worlds is None or world.label in agent.worlds
    ]
    results = RESULTS_VERSION if spec.stored is None else spec.stored.results
    return Design(spec.name, spec.description, spec.seed, spec.runs, spec.max_steps, tuple(cells), results)
