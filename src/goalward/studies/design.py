"""From what a study says to the runs it means.

`Completion` looks every name up and fills every default in: it turns a study into a complete one, with one entry for
each combination of a sweep. `design_of` reads the cells off a complete study, and looks nothing up: so the studies of a
results folder, which are stored complete, are read without executing anything.

A cell is one agent in one world for a number of episodes. Run r of a cell has a seed made of the study's seed, the
world and r. All agents of a study share it, so they face the same random numbers and can be compared pair by pair.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from goalward import agents, worlds
from goalward.errors import GoalwardError, SettingError, UnknownNameError
from goalward.seeds import run_seed
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import (
    KEY_DIGITS,
    RESULTS_VERSION,
    RunSpec,
    agent_code,
    check_draw,
    complete_agent,
    complete_world,
    world_code,
)
from goalward.studies.spec import AgentSpec, Place, Source, StudySpec, WorldSpec, canonical
from goalward.user_code import (
    attached_path,
    blaming,
    digests_in,
    is_reference,
    read_user_file,
    remember,
)
from goalward.worlds.base import is_foreign, read_map

__all__ = ["Cell", "Completion", "Design", "design_of", "labelled", "located", "world_name"]

MOST_RUNS = 10_000_000
MOST_COMBINATIONS = 10_000
FIELD = re.compile(r"\{([\w.]+)\}")  # a swept setting in a label


@dataclass(frozen=True)
class Cell:
    """One agent in one world for a number of episodes."""

    world: WorldSpec
    agent: AgentSpec
    episodes: int


@dataclass(frozen=True)
class Design:
    """The runs of a study: `runs` of each cell, made with version `results` of the results."""

    name: str
    description: str
    seed: int
    runs: int
    max_steps: int | None
    cells: tuple[Cell, ...]
    results: int = RESULTS_VERSION
    known_keys: dict[int, list[str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """The number of runs over all cells; a run that two cells share counts twice."""
        return self.runs * len(self.cells)

    @cached_property
    def reference(self) -> str:
        """The name of the study and the digest of its design, ``NAME/DIGEST``; the description does not count."""
        cells = [(cell.world.model_dump(), cell.agent.model_dump(), cell.episodes) for cell in self.cells]
        decisive = [self.name, self.seed, self.runs, self.max_steps, self.results, cells]
        return f"{self.name}/{hashlib.sha256(canonical(decisive).encode()).hexdigest()[:12]}"

    @cached_property
    def several_lengths(self) -> bool:
        """Whether the runs of the cells differ in their number of episodes."""
        return len({cell.episodes for cell in self.cells}) > 1

    def spec(self, cell: Cell, run: int) -> RunSpec:
        """Return run number `run` of a cell, counted from 0."""
        if not 0 <= run < self.runs:
            raise SettingError(f"run is {run}; the study has the runs 0 to {self.runs - 1}")
        seed = run_seed(self.seed, "run", cell.world.seed_name, run)
        world = cell.world.drawn(self.seed, run)
        return RunSpec(world, cell.agent.identity, cell.episodes, self.max_steps, seed, self.results)

    def specs(self, cell: Cell) -> list[RunSpec]:
        """Return all runs of a cell."""
        return [self.spec(cell, run) for run in range(self.runs)]

    def keys(self, cell: Cell, runs: Sequence[int] | None = None) -> list[str]:
        """Return the keys of some runs of a cell, by default of all."""
        if runs is not None:
            return [*self.find_keys(cell, runs)]
        if id(cell) not in self.known_keys:
            self.known_keys[id(cell)] = [*self.find_keys(cell, range(self.runs))]
        return self.known_keys[id(cell)]

    def find_keys(self, cell: Cell, runs: Sequence[int]) -> Iterator[str]:
        """Yield the keys of some runs: what they have in common is written and hashed once."""
        common = {"agent": cell.agent.identity, "episodes": cell.episodes, "results": self.results}
        common |= {} if self.max_steps is None else {"max_steps": self.max_steps}
        # "seed" and "world" come last in the sorted document of a run.
        begun = hashlib.sha256(f'{canonical(common)[:-1]},"seed":'.encode())
        world = "" if cell.world.draw else canonical(cell.world.drawn(self.seed, 0))
        for run in runs:
            seed = run_seed(self.seed, "run", cell.world.seed_name, run)
            rest = f'{seed},"world":{world or canonical(cell.world.drawn(self.seed, run))}}}'
            digest = begun.copy()
            digest.update(rest.encode())
            yield digest.hexdigest()[:KEY_DIGITS]


def world_name(design: Design, cell: Cell) -> str:
    """Return the label of the world of a cell, with the number of episodes where the study has several."""
    return f"{cell.world.label}, {cell.episodes:,} episodes" if design.several_lengths else cell.world.label


def design_of(spec: StudySpec) -> Design:
    """Return the runs of a complete study; raise SettingError if there are too many."""
    numbers = [len(spec.worlds if entry.worlds is None else entry.worlds) for entry in spec.agents]
    size = sum(numbers) * len(spec.lengths) * spec.runs
    if size > MOST_RUNS:
        raise SettingError(f"the study has {size:,} runs; a study can have {MOST_RUNS:,}: split it")
    cells = [
        Cell(world, agent, episodes)
        for world in spec.worlds
        for episodes in sorted(spec.lengths)
        for agent in spec.agents
        if agent.worlds is None or world.label in agent.worlds
    ]
    results = RESULTS_VERSION if spec.stored is None else spec.stored.results
    return Design(spec.name, spec.description, spec.seed, spec.runs, spec.max_steps, tuple(cells), results)


class Completion:
    """Completes a study: every name looked up, every default filled in; mistakes are named with their place.

    Attributes
    ----------
    spec
        The complete study, as a results folder stores it.
    attachments
        The files that its runs need.
    names
        What the author calls the attached files.
    places
        Where the worlds stand in the author's study, by their label, and the agents, by the world's and their own.
    execute
        Whether to execute users' files. Without it, what they define has the settings that the study gives.
    """

    def __init__(self, spec: StudySpec, source: Source, execute: bool = True):
        self.source, self.execute = source, execute
        self.attachments = Attachments()
        self.names: dict[str, str] = {}
        self.places: dict[tuple[str, ...], Place] = {}
        self.families: dict[str, list[str]] = {}
        self.worlds = [
            world for number, entry in enumerate(spec.worlds) for world in self.complete_worlds(number, entry)
        ]
        self.labels = [str(world.label) for world in self.worlds]
        self.agents = [
            agent for number, entry in enumerate(spec.agents) for agent in self.complete_agents(number, entry)
        ]
        learnt_in = {labels[0] for labels in self.places if len(labels) == 2}
        used = [world for world in self.worlds if world.label in learnt_in]
        self.spec = spec.model_copy(update={"worlds": used, "agents": self.agents, "stored": None})

    def complete_worlds(self, number: int, entry: WorldSpec) -> Iterator[WorldSpec]:
        """Return the worlds of an entry."""
        source, place = self.source, ("worlds", number)
        with located(source, (*place, "world")):
            reference = self.attached(entry.world)
            unseen = not self.execute and is_reference(reference)
            if unseen or is_file(reference):
                usual = Path(entry.world.rpartition(":")[2]).stem
            else:
                usual = worlds.find(reference).family
        family = entry.label or usual
        for settings, swept in combinations(source, place, entry):
            with located(source, (*place, "label")):
                label = labelled(family, swept)
            if (label,) in self.places:
                raise source.error(place, f"two worlds are called {label!r}; give one another label")
            self.places[label,] = (*place, "settings")
            with located(source, (*place, "settings")):
                name, complete = (reference, settings) if unseen else self.look_up_world(reference, entry, settings)
                known = not unseen and not name.endswith(".npz")
                code = world_code(name, complete) if known else ""
            with located(source, (*place, "draw")):
                if known:
                    check_draw(name, entry.draw, settings)
            for known_as in {family, label}:
                self.families.setdefault(known_as, []).append(label)
            changes = {"world": name, "label": label, "settings": complete, "swept": entry.swept | swept, "code": code}
            yield entry.model_copy(update=changes | {"sweep": {}})

    def attached(self, value: Any) -> Any:
        """Return a name, or the settings of an agent, in which user files are named by their attachments."""
        if isinstance(value, dict):
            return {name: self.attached(entry) for name, entry in value.items()}
        if not is_reference(value):
            return value
        file, member = read_user_file(value, self.source.folder)
        self.attachments.files[remember(file)] = file
        name = f"{file.digest}.py:{member}"
        self.names[name] = value
        return name

    def look_up_world(self, name: str, entry: WorldSpec, settings: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the id of a world with all its settings, or the attachment of a model from a file."""
        folder = self.source.folder
        if is_file(name) and not name.endswith(".txt"):
            if settings or entry.draw:
                raise SettingError(f"{name} is a model in a file and has no settings to change")
            model = SSP.load(attached_path(folder, name))
            self.attachments.models[model.digest] = model
            attached = f"{model.digest}.npz"
            self.names[attached] = name
            return attached, {}
        if is_file(name):
            if "text" in settings:
                raise SettingError(f"{name} is the map; text cannot be set as well")
            name, settings = "grid-map", {"text": read_map(folder / name)} | settings
        world, complete = complete_world(name, settings)
        return world, {setting: value for setting, value in complete.items() if setting != entry.draw}

    def complete_agents(self, number: int, entry: AgentSpec) -> Iterator[AgentSpec]:
        """Return the agents of an entry."""
        source, place = self.source, ("agents", number)
        with located(source, (*place, "agent")):
            name = self.attached(entry.agent)
            kind = agents.find(name) if self.execute or not is_reference(name) else None
        chosen = self.chosen_worlds(place, entry)
        usual = name.rpartition(":")[2] if kind is None else kind.name
        for given, swept in combinations(source, place, entry):
            with located(source, (*place, "settings")), blaming("the agent"):
                settings = self.attached(given)
                seen = kind if self.execute or not digests_in(str(settings)) else None
                complete = settings if seen is None else complete_agent(seen, settings)
                code = "" if seen is None else agent_code(seen, name, complete)
            with located(source, (*place, "label")):
                label = labelled(entry.label or usual, swept)
            for world in chosen:
                if (world, label) in self.places:
                    raise source.error(place, f"two agents are called {label!r} in {world}; give one another label")
                self.places[world, label] = place
            changes = {"agent": name, "label": label, "settings": complete, "code": code, "sweep": {}}
            yield entry.model_copy(update=changes | {"worlds": chosen if entry.worlds else None})

    def chosen_worlds(self, place: Place, entry: AgentSpec) -> list[str]:
        """Return the labels of the worlds in which the agents of an entry learn."""
        if entry.worlds is None:
            return self.labels
        with located(self.source, (*place, "worlds")):
            for label in entry.worlds:
                if label not in self.families:
                    raise UnknownNameError("world of this study", label, self.families)
        return list(dict.fromkeys(world for label in entry.worlds for world in self.families[label]))


@contextlib.contextmanager
def located(source: Source, place: Place) -> Iterator[None]:
    """Give errors inside the block the place in the study that caused them."""
    try:
        yield
    except GoalwardError as error:
        raise source.error(place, str(error)) from error.__cause__


def combinations(
    source: Source, place: Place, entry: WorldSpec | AgentSpec
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the settings of an entry for each combination of its sweep, and those of them that are swept."""
    for name in entry.sweep:
        inner: Any = entry.settings
        for part in name.split("."):
            inner = inner.get(part) if isinstance(inner, dict) else None
        if inner is not None:
            raise source.error((*place, "sweep", *name.split(".")), f"{name} is both set and swept; keep one")
    number = math.prod(len(values) for values in entry.sweep.values())
    if number > MOST_COMBINATIONS:
        message = f"the sweep has {number:,} combinations; a sweep can have {MOST_COMBINATIONS:,}: split it"
        raise source.error((*place, "sweep"), message)
    for values in itertools.product(*entry.sweep.values()):
        swept = dict(zip(entry.sweep, values, strict=True))
        settings = entry.settings
        with located(source, (*place, "sweep")):
            for name, value in swept.items():
                settings = with_setting(settings, name, value)
        yield settings, swept


def with_setting(settings: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return settings with another value; ``prior.concentration`` is one of the prior.

    >>> with_setting({"prior": "dirichlet"}, "prior.concentration", 0.1)
    {'prior': {'kind': 'dirichlet', 'concentration': 0.1}}
    """
    outer, dot, inner = name.partition(".")
    if dot:
        before = settings.get(outer)
        if before is None:
            raise SettingError(f"{name} is swept, but no {outer} is set; add its kind to settings, such as dirichlet")
        value = with_setting(before if isinstance(before, dict) else {"kind": before}, inner, value)
    return {**settings, outer: value}


def labelled(label: str, swept: Mapping[str, Any]) -> str:
    """Return a label with the swept settings: where it names them in braces, otherwise behind it.

    >>> labelled("psrl", {"prior.concentration": 0.01, "ties": "first"}), labelled("{rows} rows", {"rows": 3})
    ('psrl, concentration 0.01, ties first', '3 rows')
    """
    last = [name.rpartition(".")[2] for name in swept]
    names = {full: short if last.count(short) == 1 else full for full, short in zip(swept, last, strict=True)}
    values = {**{names[full]: value for full, value in swept.items()}, **swept}
    if not swept or not (fields := FIELD.findall(label)):
        return ", ".join(
            [label, *(f"{short.replace('.', ' ')} {in_words(swept[full])}" for full, short in names.items())]
        )
    for name in fields:
        if name not in values:
            raise UnknownNameError("swept setting", name, values)
    return FIELD.sub(lambda match: in_words(values[match[1]]), label)


def in_words(value: Any) -> str:
    """Write a setting as people do: ``dirichlet concentration 0.1``."""
    if isinstance(value, dict):
        return " ".join(
            in_words(entry) if name == "kind" else f"{name} {in_words(entry)}" for name, entry in value.items()
        )
    return value if isinstance(value, str) else f"{value:g}" if value == float(f"{value:g}") else repr(value)


def is_file(name: str) -> bool:
    """Return whether the name of a world means a model or a map in a file."""
    return not is_foreign(name) and (bool(Path(name).suffix) or Path(name).name != name)
