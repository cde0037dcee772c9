"""A study that can be run, from a file, from a dict, or one that comes with goalward."""

from __future__ import annotations

import contextlib
import copy
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from goalward import __version__
from goalward.agents.base import Learner
from goalward.environments.by_name import closing
from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.learning.learn import as_world
from goalward.learning.termination import check_end
from goalward.studies.attachments import Attachments
from goalward.studies.design import Completion, Design, design_of, located
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec, make_agent, make_world
from goalward.studies.spec import Place, Source, Stored, StudySpec, load_spec, validated
from goalward.table import Table
from goalward.user_code import blaming
from goalward.worlds.base import AnyWorld

__all__ = ["Study", "find_study", "shipped_folder", "shipped_studies"]

GIT_SECONDS = 5.0  # how long git may take
UNSEEN = "# Python files are not executed here; of what they define, only settings that the study gives are shown.\n"


@dataclass(frozen=True, repr=False)
class Study:
    """Which agents learn in which worlds, how often and for how long.

    `Study.load` reads one from a TOML file, `Study.from_dict` from plain data; `goalward.run` carries it out.

    Attributes
    ----------
    spec
        What the study says.
    source
        Where it was read from.
    complete
        The study with every default filled in and one entry for each combination of a sweep.
    design
        The runs it means.
    attachments, names
        The models and Python files that its runs need, and what the author calls them.
    places
        Where the worlds stand in the study, by their label, and the agents, by the world's and their own.
    """

    spec: StudySpec
    source: Source
    complete: StudySpec
    design: Design
    attachments: Attachments
    names: dict[str, str]
    places: dict[tuple[str, ...], Place]
    executable: bool = True
    """Whether users' files were executed to look up the settings in them."""

    @classmethod
    def load(cls, path: str | Path, *, execute: bool = True) -> Study:
        """Read a study from a TOML file, or one that comes with goalward by its name.

        Without `execute` no user's file is executed; such a study can be looked at, not run.
        """
        return cls.from_spec(*load_spec(find_study(str(path))), execute=execute)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: str | Path = ".") -> Study:
        """Return the study of a dict that has what a TOML file would have; its file names are relative to `folder`."""
        if not isinstance(document, Mapping):
            raise SettingError(f"a study is a dict such as a TOML file gives; this is {document!r}")
        spec = validated(copy.deepcopy(dict(document)), Source("", Path(folder)))
        return cls.from_spec(spec, Source(f"study {spec.name}", Path(folder)))

    @classmethod
    def from_spec(cls, spec: StudySpec, source: Source, *, execute: bool = True) -> Study:
        """Return the study of a specification; see `load` for `execute`."""
        completion = Completion(spec, source, execute)
        with located(source, ("runs",)):
            design = design_of(completion.spec)
        names, places = completion.names, completion.places
        return cls(spec, source, completion.spec, design, completion.attachments, names, places, execute)

    def replace(self, **changes: Any) -> Study:
        """Return the study with other values at its top: ``study.replace(runs=3, episodes=100)``."""
        spec = validated(self.spec.model_dump(exclude_unset=True) | changes, Source("", self.source.folder))
        # Without the text, because its lines no longer say what the study is.
        return Study.from_spec(spec, Source(self.source.name, self.source.folder))

    @property
    def text(self) -> str:
        """The study as a results folder stores it: complete TOML, which can be run there as it stands."""
        return self.stored_text()

    def stored_text(self, before: Stored | None = None, tags: Collection[str] = ()) -> str:
        """Return `text` with what is known about this run; `before` is what the folder knew."""
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
        """The complete study with the file names of its author."""
        design = self.design
        head = f"# {len(design.cells):,} cells of {design.runs:,} runs\n"
        limit = "# no max_steps\n" if self.spec.max_steps is None else ""
        unseen = "" if self.executable or not self.attachments.files else UNSEEN
        return f"{head}{limit}{unseen}{written(self.complete, self.names)}".rstrip()

    def check(self) -> None:
        """Build every world, and every agent up to its first plan, so that wrong values are found before any run."""
        for cell in self.design.cells:
            run = self.design.spec(cell, 0)
            if not self.executable and run.sources:
                continue
            with located(self.source, self.places[cell.world.label,]):
                world = make_world(run.world, self.attachments)
            with closing(world), located(self.source, self.places[cell.world.label, cell.agent.label]):
                agent = self.begun(run, world)
            with located(self.source, self.places[cell.world.label,]):
                check_ends(run, world, agent)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return why agents refuse worlds, by the labels of the world and the agent."""
        refused: dict[tuple[str, str], str] = {}
        for cell in self.design.cells:
            run = self.design.spec(cell, 0)
            world = make_world(run.world, self.attachments)
            try:
                check_ends(run, world, self.begun(run, world))
            except GoalwardError as error:
                refused[cell.world.label, cell.agent.label] = str(error)
        return refused

    def begun(self, run: RunSpec, world: AnyWorld) -> Learner:
        """Return the agent of a run, ready for its first plan."""
        # What an agent prints must not get between the lines of a document on standard output.
        file = self.attachments.files.get(run.agent["name"].partition(".")[0])
        with blaming("the agent", file.path if file else ""), contextlib.redirect_stdout(sys.stderr):
            agent = make_agent(run.agent, world, run.episodes, self.attachments)
            agent.begin(as_world(world).task(run.episodes), np.random.default_rng(0))
        return agent

    def _repr_html_(self) -> str:
        """Return the study as a notebook shows it: one row for each cell."""
        design = self.design
        facts = {"about": design.description or "-", "runs": f"{design.size:,}, {design.runs:,} of each cell"}
        rows = [
            {"world": cell.world.label, "agent": cell.agent.label, "episodes": cell.episodes} for cell in design.cells
        ]
        return f"<div>{Table.facts(facts, title=f'Study {design.name}').html()}{Table(rows).html()}</div>"

    def __repr__(self) -> str:
        design = self.design
        return f"Study({design.name!r}: {len(design.cells):,} cells of {design.runs:,} runs)"


def git_commit(folder: Path) -> str:
    """Return the commit of a folder under git, with "-dirty" if something in it has changed; otherwise nothing."""
    options = ["-C", str(folder), "-c", "core.fsmonitor=false"]  # which would run a program that the folder names
    command = ["git", *options, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def check_ends(run: RunSpec, world: AnyWorld, agent: Learner) -> None:
    graph = as_world(world).graph
    if graph is not None:
        check_end(graph, agent, limited=run.max_steps is not None)


def written(spec: StudySpec, names: Mapping[str, str] | None = None, **more: Any) -> str:
    """Write a complete study as TOML; `names` replaces the names of attached files."""
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
    """Return their folder: ``studies/`` in the repository, ``shipped/`` here in an installed package."""
    here = Path(__file__).parent
    for folder in (here / "shipped", here.parents[2] / "studies"):
        if folder.is_dir():
            return folder
    raise FileError("the studies of goalward are not installed; give the path of a study instead of a name")


def shipped_studies() -> Iterator[StudySpec]:
    """Return the studies that come with goalward."""
    for path in sorted(shipped_folder().glob("*.toml")):
        yield load_spec(path)[0]


def find_study(name: str) -> Path:
    """Return the file of a study, given as a path or as the name of a shipped one."""
    path = Path(name)
    if path.suffix == ".toml" or path.name != name:
        return path
    shipped = shipped_folder() / f"{name}.toml"
    if not shipped.exists():
        known = [path.stem for path in shipped_folder().glob("*.toml")]
        raise UnknownNameError("study", name, known)
    return shipped
