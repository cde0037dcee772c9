"""Read studies from files and dicts, check them, and fill in their defaults."""

from __future__ import annotations

import contextlib
import copy
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from goalward import __version__, agents, worlds
from goalward.agents.base import Learner
from goalward.environments.by_name import closing
from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.learning.endless_runs import check_end
from goalward.learning.learn import as_world
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.design import Cell, design_of
from goalward.studies.run_spec import (
    RESULTS_VERSION,
    agent_code,
    check_draw,
    complete_agent,
    complete_prior,
    complete_world,
    make_agent,
    make_world,
    world_code,
)
from goalward.studies.spec import PRIOR, AgentSpec, Place, Source, Stored, StudySpec, WorldSpec, load_spec, validated
from goalward.studies.sweeps import combinations, labelled
from goalward.table import Table
from goalward.user_code import attached_path, blaming, digests_in, is_reference, read_user_file, remember
from goalward.worlds.base import is_foreign, read_map

GIT_SECONDS = 5.0  # how long git may take
UNSEEN = "# Python files are not executed here; worlds and agents from them show only the settings of the study.\n"


class Study:
    """Which agents learn in which worlds, how often and for how long.

    `Study.load` reads a study from a TOML file, `Study.from_dict` reads a study from plain data, and `goalward.run`
    runs a study. All names are looked up and all defaults are filled in. Errors name the place of the mistake.

    Attributes
    ----------
    spec
        The study as its author wrote it.
    source
        The file or dict from which the study was read.
    complete
        The study as a results folder stores it: with all defaults, and with one entry for each combination of a sweep.
    design
        The runs of the study.
    attachments, names
        The models and Python files that the runs need, and the author's names for them.
    places
        The place of each world and each agent in the study. The keys are ``(world,)`` and ``(world, agent)``.
    execute
        Whether users' files are executed. If not, worlds and agents from these files have only the settings that the
        study sets, and the study can be shown but not run.
    """

    def __init__(self, spec: StudySpec, source: Source, *, execute: bool = True):
        self.spec, self.source, self.execute = spec, source, execute
        self.attachments = Attachments()
        self.names: dict[str, str] = {}
        self.places: dict[tuple[str, ...], Place] = {}
        self.families: dict[str, list[WorldSpec]] = {}
        """The worlds by their own label, and by the label that all worlds of a sweep share."""
        all_worlds = [world for number, entry in enumerate(spec.worlds) for world in self.find_worlds(number, entry)]
        all_agents = [
            agent for number, entry in enumerate(spec.agents) for agent in self.find_agents(number, entry, all_worlds)
        ]
        learnt_in = {labels[0] for labels in self.places if len(labels) == 2}
        used = [world for world in all_worlds if world.label in learnt_in]
        self.complete = spec.model_copy(update={"worlds": used, "agents": all_agents, "stored": None})
        with source.located(("runs",)):
            self.design = design_of(self.complete)

    @classmethod
    def load(cls, path: str | Path, *, execute: bool = True) -> Study:
        """Read a study from a TOML file; `path` may also be the name of a study that comes with goalward.

        With ``execute=False``, no Python file that the study names is executed.
        """
        return cls(*load_spec(find_study(str(path))), execute=execute)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: str | Path = ".") -> Study:
        """Return the study in a `document`, a dict with the keys of a study file. Paths are relative to `folder`."""
        if not isinstance(document, Mapping):
            raise SettingError(f"a study must be a dict with the keys of a study file, not {document!r}")
        spec = validated(copy.deepcopy(dict(document)), Source("", Path(folder)))
        return cls(spec, Source(f"study {spec.name}", Path(folder)))

    def replace(self, **changes: Any) -> Study:
        """Return the study with `changes` to its top-level keys, as in ``study.replace(runs=3, episodes=100)``."""
        spec = validated(self.spec.model_dump(exclude_unset=True) | changes, Source("", self.source.folder))
        # Without the text, because its lines no longer match the study.
        return Study(spec, Source(self.source.name, self.source.folder))

    # Completion

    def find_worlds(self, number: int, entry: WorldSpec) -> Iterator[WorldSpec]:
        """Yield the worlds of an entry: one world for each combination of its swept settings."""
        source, place = self.source, ("worlds", number)
        with source.located((*place, "world")):
            reference = self.attached(entry.world)
            unseen = not self.execute and is_reference(reference)
            if unseen or is_file(reference):
                usual = Path(entry.world.rpartition(":")[2]).stem
            else:
                usual = worlds.find(reference).family
        family = entry.label or usual
        for settings, swept in combinations(source, place, entry):
            with source.located((*place, "label")):
                label = labelled(family, swept)
            if (label,) in self.places:
                raise source.error(place, f"two worlds are called {label!r}; give one of them another label")
            self.places[label,] = (*place, "settings")
            with source.located((*place, "settings")):
                name, complete = (reference, settings) if unseen else self.look_up_world(reference, entry, settings)
                known = not unseen and not name.endswith(".npz")
                code = world_code(name, complete) if known else ""
            with source.located((*place, "draw")):
                if known or entry.draw == PRIOR:
                    check_draw(name, entry.draw, settings)
                prior = None if entry.prior is None else complete_prior(self.attached(entry.prior))
            changes = {"world": name, "label": label, "settings": complete, "swept": entry.swept | swept, "code": code}
            world = entry.model_copy(update=changes | {"sweep": {}, "prior": prior})
            for known_as in {family, label}:
                self.families.setdefault(known_as, []).append(world)
            yield world

    def attached(self, value: Any) -> Any:
        """Return a `value` in which references to users' files are replaced by the names of attachments."""
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
        """Return the id of a world and all its settings. For a model file, return the attachment's name and {}."""
        folder = self.source.folder
        if is_file(name) and not name.endswith(".txt"):
            if settings or entry.draw not in (None, PRIOR):
                raise SettingError(f"{name} is a model file, which has no settings; leave out the settings")
            model = SSP.load(attached_path(folder, name))
            self.attachments.models[model.digest] = model
            attached = f"{model.digest}.npz"
            self.names[attached] = name
            return attached, {}
        if is_file(name):
            if "text" in settings:
                raise SettingError(f"the map comes from {name}; leave out the setting 'text'")
            name, settings = "grid-map", {"text": read_map(folder / name)} | settings
        world, complete = complete_world(name, settings)
        return world, {setting: value for setting, value in complete.items() if setting != entry.draw}

    def find_agents(self, number: int, entry: AgentSpec, all_worlds: list[WorldSpec]) -> Iterator[AgentSpec]:
        """Yield the agents of an entry: one agent for each combination of its swept settings."""
        source, place = self.source, ("agents", number)
        with source.located((*place, "agent")):
            name = self.attached(entry.agent)
            kind = agents.find(name) if self.execute or not is_reference(name) else None
        chosen = all_worlds
        if entry.worlds is not None:
            with source.located((*place, "worlds")):
                for label in entry.worlds:
                    if label not in self.families:
                        raise UnknownNameError("world of this study", label, self.families)
            chosen = list({world.label: world for label in entry.worlds for world in self.families[label]}.values())
        usual = name.rpartition(":")[2] if kind is None else kind.name
        for given, swept in combinations(source, place, entry):
            with source.located((*place, "settings")), blaming("the agent"):
                settings = self.attached(given)
                seen = kind if self.execute or not digests_in(str(settings)) else None
                complete = settings if seen is None else complete_agent(seen, settings)
                code = "" if seen is None else agent_code(seen, name, complete)
            with source.located((*place, "label")):
                label = labelled(entry.label or usual, swept)
            for world in chosen:
                if (world.label, label) in self.places:
                    message = f"two agents are called {label!r} in {world.label}; give one of them another label"
                    raise source.error(place, message)
                if world.draw == PRIOR and world.prior is None and "prior" not in complete:
                    message = f"{world.label} is drawn from a prior, but neither the world nor {label} has a prior"
                    raise source.error((*place, "settings"), f"{message}; add prior = 'dirichlet' to one of the two")
                self.places[world.label, label] = place
            changes = {"agent": name, "label": label, "settings": complete, "swept": entry.swept | swept, "code": code}
            labels = [world.label for world in chosen] if entry.worlds else None
            yield entry.model_copy(update=changes | {"sweep": {}, "worlds": labels})

    # Checking

    def check(self) -> None:
        """Build all worlds and agents, and compute the first plan of each agent, to find wrong settings early."""
        for cell in self.design.cells:
            if self.execute or not self.design.spec(cell, 0).sources:
                self.check_cell(cell, self.source)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return the reasons why agents refuse worlds. The keys are the labels of the world and the agent."""
        refused: dict[tuple[str, str], str] = {}
        for cell in self.design.cells:
            try:
                self.check_cell(cell)
            except GoalwardError as error:
                refused[cell.world.label, cell.agent.label] = str(error)
        return refused

    def check_cell(self, cell: Cell, source: Source | None = None) -> None:
        """Build the world and the agent of a cell; with a `source`, errors name the place of the mistake."""

        def located(*labels: str) -> contextlib.AbstractContextManager[None]:
            return source.located(self.places[labels]) if source else contextlib.nullcontext()

        run = self.design.spec(cell, 0)
        with located(cell.world.label):
            world = make_world(run.world, self.attachments)
        # The output of an agent must not end up in a document on standard output.
        file = self.attachments.files.get(run.agent["name"].partition(".")[0])
        blamed = blaming("the agent", file.path if file else "")
        labels = cell.world.label, cell.agent.label
        with closing(world), located(*labels), blamed, contextlib.redirect_stdout(sys.stderr):
            agent: Learner = make_agent(run.agent, world, run.episodes, self.attachments)
            agent.begin(as_world(world).task(run.episodes), np.random.default_rng(0))
        graph = as_world(world).graph
        with located(cell.world.label):
            if graph is not None:
                check_end(graph, agent, limited=run.max_steps is not None)

    # Texts

    @property
    def text(self) -> str:
        """The complete study as TOML text, as a results folder stores it. This text can be run as a study file."""
        return self.stored_text()

    def stored_text(self, before: Stored | None = None, tags: Collection[str] = ()) -> str:
        """Return `text` with facts about the current run and with `tags`; `before` has the facts stored so far."""
        now = datetime.now(UTC).isoformat()
        stored = {
            "results": RESULTS_VERSION,
            "last_run": now,
            "first_run": before.first_run if before else now,
            "host": platform.node(),
            "version": __version__,
            "commit": git_commit(self.source.folder),
            "tags": sorted({*(before.tags if before else ()), *tags}),
        }
        return written(self.complete, stored=stored)

    @property
    def shown_text(self) -> str:
        """The complete study as TOML text, with the author's original file names."""
        design = self.design
        head = f"# {len(design.cells):,} cells of {design.runs:,} runs\n"
        limit = "# no max_steps\n" if self.spec.max_steps is None else ""
        unseen = "" if self.execute or not self.attachments.files else UNSEEN
        return f"{head}{limit}{unseen}{written(self.complete, self.names)}".rstrip()

    def _repr_html_(self) -> str:
        """Return the study as a notebook shows it: one row for each cell."""
        facts = {"about": self.design.description or "-", "runs": f"{self.design.size:,}"}
        rows = [{"world": cell.world.label, "agent": cell.agent.label} for cell in self.design.cells]
        return f"<div>{Table.facts(facts, title=f'Study {self.design.name}').html()}{Table(rows).html()}</div>"

    def __repr__(self) -> str:
        return f"Study({self.design.name!r}: {len(self.design.cells):,} cells of {self.design.runs:,} runs)"


def is_file(name: str) -> bool:
    """Return whether the name of a world is the path of a model or a map."""
    return not is_foreign(name) and (bool(Path(name).suffix) or Path(name).name != name)


def git_commit(folder: Path) -> str:
    """Return the git commit of a folder; the suffix "-dirty" marks changed files. Without a commit, return ""."""
    options = ["-C", str(folder), "-c", "core.fsmonitor=false"]  # the folder could name any program there
    command = ["git", *options, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def written(spec: StudySpec, names: Mapping[str, str] | None = None, **more: Any) -> str:
    """Return a complete study as TOML text; `names` replaces the names of attached files."""
    document = spec.model_dump(exclude={"stored"}, exclude_none=True) | more
    for entry in (*document["worlds"], *document["agents"]):
        for name in ("sweep", "swept", "code", "group"):
            if not entry.get(name, True):
                del entry[name]
    text = tomli_w.dumps(document)
    for attached, name in (names or {}).items():
        text = text.replace(attached, name)
    return text


# The studies that come with goalward


def shipped_folder() -> Path:
    """Return the folder of the studies that come with goalward, in the repository or in the installed package."""
    here = Path(__file__).parent
    for folder in (here / "shipped", here.parents[2] / "studies"):
        if folder.is_dir():
            return folder
    raise FileError("the studies shipped with goalward are not installed; give the path of a study instead of a name")


def shipped_studies() -> Iterator[StudySpec]:
    """Return the studies that come with goalward."""
    for path in sorted(shipped_folder().glob("*.toml")):
        yield load_spec(path)[0]


def find_study(name: str) -> Path:
    """Return the path of a study's file; `name` is a path or the name of a study that comes with goalward."""
    path = Path(name)
    if path.suffix == ".toml" or path.name != name:
        return path
    shipped = shipped_folder() / f"{name}.toml"
    if not shipped.exists():
        known = [path.stem for path in shipped_folder().glob("*.toml")]
        raise UnknownNameError("study", name, known)
    return shipped
