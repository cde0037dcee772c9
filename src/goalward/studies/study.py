"""A study that can be run, from a file or from a dict."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.base import Learner
from goalward.continuous.task import ContinuousTask
from goalward.errors import GoalwardError, SettingError
from goalward.learning.termination import check_end
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.design import Design
from goalward.studies.factory import make_agent, make_world
from goalward.studies.run_spec import RunSpec
from goalward.studies.shipped import find_study
from goalward.studies.spec import Source, StudySpec, load_spec, validated
from goalward.studies.spec_to_design import Designer, blaming, located
from goalward.studies.study_text import full_text
from goalward.studies.toml_lines import Place
from goalward.table import Table

__all__ = ["Study"]


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
    design
        The runs it means, with every default filled in.
    attachments
        The models and agent files that its runs need.
    places
        Where the worlds stand in the study, by their label, and the agents, by the world's and their own.
    """

    spec: StudySpec
    source: Source
    design: Design
    attachments: Attachments
    places: dict[tuple[str, ...], Place]
    executable: bool = True
    """Whether agent files were executed to look up their settings."""

    @classmethod
    def load(cls, path: str | Path, *, execute: bool = True) -> Study:
        """Read a study from a TOML file, or one that comes with goalward by its name.

        Without `execute` no agent file is executed; such a study can be looked at, not run.
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
        designer = Designer(spec, source, execute)
        return cls(spec, source, designer.design, designer.attachments, designer.places, execute)

    def replace(self, **changes: Any) -> Study:
        """Return the study with other values at its top: ``study.replace(runs=3, episodes=100)``."""
        spec = validated(self.spec.model_dump(exclude_unset=True) | changes, Source("", self.source.folder))
        # Without the text, because its lines no longer say what the study is.
        return Study.from_spec(spec, Source(self.source.name, self.source.folder))

    @property
    def text(self) -> str:
        """The study as a results folder stores it: TOML with every setting, which can be run there as it stands."""
        return full_text(self, "../../attachments")

    def check(self) -> None:
        """Build every world, and every agent up to its first plan, so that wrong values are found before any run."""
        for cell in self.design.cells:
            run = self.design.spec(cell, 0)
            if run.agent_source is not None and not self.executable:
                continue
            with located(self.source, self.places[cell.world.label,]):
                world = make_world(run.world, self.attachments)
            with located(self.source, self.places[cell.world.label, cell.agent.label]):
                agent = self.begun(run, world)
            if not isinstance(world, ContinuousTask):
                with located(self.source, self.places[cell.world.label,]):
                    check_end(world, agent, limited=run.max_steps is not None)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return why agents refuse worlds, by the labels of the world and the agent."""
        refused: dict[tuple[str, str], str] = {}
        for cell in self.design.cells:
            run = self.design.spec(cell, 0)
            with located(self.source, self.places[cell.world.label,]):
                world = make_world(run.world, self.attachments)
            try:
                agent = self.begun(run, world)
                if not isinstance(world, ContinuousTask):
                    check_end(world, agent, limited=run.max_steps is not None)
            except GoalwardError as error:
                refused[cell.world.label, cell.agent.label] = str(error)
        return refused

    def begun(self, run: RunSpec, world: SSP | ContinuousTask) -> Learner:
        """Return the agent of a run, ready for its first plan."""
        # What an agent prints must not get between the lines of a document on standard output.
        file = self.attachments.files.get(run.agent_source or "")
        with blaming(file), contextlib.redirect_stdout(sys.stderr):
            agent = make_agent(run.agent, world, run.episodes, self.attachments)
            if isinstance(world, ContinuousTask):
                agent.begin(world.task(run.episodes), np.random.default_rng(0))
            else:
                agent.begin(Task.of(world, run.episodes), np.random.default_rng(0))
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
