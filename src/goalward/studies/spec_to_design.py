"""From what a study says to the runs it means: names looked up, defaults filled in, mistakes named with their place."""

from __future__ import annotations

import contextlib
import itertools
import math
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goalward import agents, worlds
from goalward.agents.base import Learner
from goalward.errors import GoalwardError, SettingError, UnknownNameError
from goalward.settings import check_names, settings_of
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.design import MOST_RUNS, Cell, Design, StudyAgent, StudyWorld
from goalward.studies.factory import agent_code
from goalward.studies.run_spec import canonical
from goalward.studies.spec import AgentSpec, Source, StudySpec, WorldSpec
from goalward.studies.toml_lines import Place
from goalward.studies.user_files import AgentFile, is_reference, load_class, read_agent_file
from goalward.worlds.base import build, read_map
from goalward.worlds.base import registry as known_worlds

__all__ = ["Designer", "blaming", "is_file", "labelled", "located"]

MOST_COMBINATIONS = 10_000


class Designer:
    """Turns the specification of a study into its design.

    Attributes
    ----------
    design, attachments
        The design, and the files that its runs need.
    places
        Where the worlds stand in the study, by their label, and the agents, by the world's and their own.
    execute
        Whether to execute users' agent files. Without it, their agents have the settings that the study gives.
    """

    def __init__(self, spec: StudySpec, source: Source, execute: bool = True):
        self.spec, self.source, self.execute = spec, source, execute
        self.attachments = Attachments()
        self.places: dict[tuple[str, ...], Place] = {}
        self.worlds: list[StudyWorld] = []
        self.entries: dict[str, list[StudyWorld]] = {}
        self.cells: list[Cell] = []
        for number, world in enumerate(spec.worlds):
            self.add_worlds(("worlds", number), world)
        for number, agent in enumerate(spec.agents):
            self.add_agents(("agents", number), agent)

    def add_worlds(self, place: Place, entry: WorldSpec) -> None:
        """Add the worlds of an entry."""
        source = self.source
        with located(source, (*place, "world")):
            usual = world_label(entry.world)
        family = entry.label or usual
        for settings, swept in combinations(source, place, entry):
            label = labelled(family, swept)
            if (label,) in self.places:
                raise source.error(place, f"two worlds are called {label!r}; give one another label")
            self.places[label,] = (*place, "settings")
            with located(source, (*place, "settings")):
                identity = world_identity(entry, settings, source.folder, self.attachments)
                content = world_content(identity)
            if entry.give_up_cost is not None:
                identity["give_up_cost"] = entry.give_up_cost
            with located(source, (*place, "draw")):
                check_draw(entry, settings)
            cell = StudyWorld(label, identity, entry.draw, swept, entry.group, content)
            self.worlds.append(cell)
            for name in {family, label}:
                self.entries.setdefault(name, []).append(cell)

    def add_agents(self, place: Place, entry: AgentSpec) -> None:
        """Add the agents of an entry, each in its worlds."""
        source = self.source
        with located(source, (*place, "agent")):
            kind, identity = self.agent_class(entry)
        worlds = self.chosen(place, entry)
        for settings, swept in combinations(source, place, entry):
            with located(source, (*place, "settings")), blaming(self.attachments.files.get(identity.get("source", ""))):
                full = settings if kind is None else agent_settings(kind, settings)
                code = {} if kind is None else agent_code(kind, identity, full)
            label = labelled(entry.label or (identity["name"] if kind is None else kind.name), swept)
            agent = StudyAgent(label, identity | code | {"settings": full}, swept)
            for world in worlds:
                if (world.label, label) in self.places:
                    message = f"two agents are called {label!r} in {world.label}; give one another label"
                    raise source.error(place, message)
                self.places[world.label, label] = place
                self.cells += [Cell(world, agent, episodes) for episodes in self.spec.lengths]

    def agent_class(self, entry: AgentSpec) -> tuple[type[Learner] | None, dict[str, Any]]:
        """Return the class of an agent, None if its file is not to be executed, and its identity without settings."""
        if not is_reference(entry.agent):
            return agents.find(entry.agent), {"name": entry.agent}
        file = read_agent_file(entry.agent, self.source.folder)
        self.attachments.files[file.digest] = file
        return load_class(file) if self.execute else None, {"name": file.member, "source": file.digest}

    def chosen(self, place: Place, entry: AgentSpec) -> list[StudyWorld]:
        """Return the worlds in which the agents of an entry learn."""
        if entry.worlds is None:
            return self.worlds
        chosen: list[StudyWorld] = []
        for label in entry.worlds:
            with located(self.source, (*place, "worlds")):
                if label not in self.entries:
                    raise UnknownNameError("world of this study", label, self.entries)
            chosen += [cell for cell in self.entries[label] if cell not in chosen]
        return chosen

    @property
    def design(self) -> Design:
        """The design, its cells world by world, as the tables show them."""
        spec = self.spec
        order = {world.label: position for position, world in enumerate(self.worlds)}
        cells = sorted(self.cells, key=lambda cell: (order[cell.world.label], cell.episodes))
        if len(cells) * spec.runs > MOST_RUNS:
            message = f"the study has {len(cells) * spec.runs:,} runs; at most {MOST_RUNS:,} fit one: split it"
            raise self.source.error(("runs",), message)
        return Design(spec.name, spec.description, spec.seed, spec.runs, spec.max_steps, tuple(cells))


@contextlib.contextmanager
def located(source: Source, place: Place) -> Iterator[None]:
    """Give errors inside the block the place in the study that caused them."""
    try:
        yield
    except GoalwardError as error:
        raise source.error(place, str(error)) from error.__cause__


@contextlib.contextmanager
def blaming(file: AgentFile | None) -> Iterator[None]:
    """Raise SettingError where an agent fails on its settings; in a user's file, whatever is raised counts."""
    try:
        yield
    except GoalwardError:
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}"
        if file is not None:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file.path]
            where = f"{file.path}, line {lines[-1]}" if lines else file.path
            raise SettingError(f"the agent cannot be made ({where}: {what})") from error
        if not isinstance(error, TypeError | ValueError | OverflowError):
            raise
        raise SettingError(f"the agent cannot be made ({what})") from error


def combinations(
    source: Source, place: Place, entry: WorldSpec | AgentSpec
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the settings of an entry for each combination of its sweep, and those of them that are swept."""
    for name in entry.sweep:
        if name in entry.settings:
            raise source.error((*place, "sweep", name), f"{name} is both set and swept; keep one")
    number = math.prod(len(values) for values in entry.sweep.values())
    if number > MOST_COMBINATIONS:
        message = f"the sweep has {number:,} combinations; at most {MOST_COMBINATIONS:,} fit one: split it"
        raise source.error((*place, "sweep"), message)
    for values in itertools.product(*entry.sweep.values()):
        swept = dict(zip(entry.sweep, values, strict=True))
        settings = {**entry.settings, **swept}
        for name, value in settings.items():
            where = "sweep" if name in swept else "settings"
            if not is_plain(value):
                message = f"{name} is {value!r}; it must be a finite number, a text, true or false, a list or a table"
                raise source.error((*place, where, name), message)
        yield settings, swept


def is_plain(value: object) -> bool:
    """Return whether a value can be part of a key; TOML also knows dates, times, infinity and NaN."""
    if isinstance(value, dict):
        return all(is_plain(entry) for entry in value.values())
    if isinstance(value, list):
        return all(is_plain(entry) for entry in value)
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def labelled(label: str, swept: Mapping[str, Any]) -> str:
    """Return a label with the swept settings behind it."""
    return " ".join([label, *(f"{name}={value}" for name, value in swept.items())])


def world_label(name: str) -> str:
    return Path(name).stem if is_file(name) else worlds.find(name).family


def is_file(name: str) -> bool:
    """Return whether the name of a world means a file."""
    return bool(Path(name).suffix) or Path(name).name != name


def world_identity(
    entry: WorldSpec, settings: dict[str, Any], folder: Path, attachments: Attachments
) -> dict[str, Any]:
    """Return what decides a world: its id with all its settings, or the digest of a model from a file."""
    if is_file(entry.world) and not entry.world.endswith(".txt"):
        if settings or entry.draw:
            raise SettingError(f"{entry.world} is a model in a file and has no settings to change")
        model = SSP.load(folder / entry.world)
        attachments.models[model.digest] = model
        return {"digest": model.digest}
    world = registered(entry.world)
    if is_file(entry.world):
        if "text" in settings:
            raise SettingError(f"{entry.world} is the map; text cannot be set as well")
        settings = {"text": read_map(folder / entry.world)} | settings
    full = world.complete(settings)
    return {"id": world.id, "settings": {name: value for name, value in full.items() if name != entry.draw}}


def world_content(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digest of the model of a registered world, and that of its code; see `RunSpec.world`."""
    if "id" not in identity:
        return {}
    code = known_worlds.code(identity["id"])
    model = build(identity["id"], identity["settings"])
    digest = {"digest": model.digest} if isinstance(model, SSP) else {}
    return digest | ({} if code is None else {"code": code})


def registered(name: str) -> worlds.World:
    # A file that comes here is a map.
    return worlds.find("grid-map" if is_file(name) else name)


def check_draw(spec: WorldSpec, settings: Mapping[str, Any]) -> None:
    """Raise SettingError if what each run draws anew is not a free integer setting of the world."""
    if spec.draw is None:
        return
    world = registered(spec.world)
    declared = settings_of(world.build)
    check_names(world.id, [spec.draw], declared)
    if spec.draw in settings or type(declared[spec.draw].default) is not int:
        raise SettingError(f"draw is {spec.draw!r}; it must be an integer setting of {world.id} that is not set")


def agent_settings(kind: type[Learner], settings: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of an agent as plain data, without those that are read off the true world."""
    full = kind.complete(settings)
    for name, value in full.items():
        check_key(name, value)
    return full


def check_key(name: str, value: object) -> None:
    """Raise SettingError if a default cannot be part of a key."""
    try:
        canonical(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise SettingError(
            f"{name} is {value!r}; it must be a finite number, a text, true or false, None, a list or a table"
        ) from None
