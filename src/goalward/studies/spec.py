"""A study as data: which agents learn in which worlds, how often and for how long.

A study is a TOML file::

    name = "my-study"            # names the results folder
    seed = 0                     # decides every random draw of the study
    runs = 10                    # runs of each agent in each world
    episodes = 10_000            # a number, or a list of numbers

    [[worlds]]
    world = "grid-world-v0"      # an id of the registry, a model (.npz, .json) or a map (.txt)
    settings = { rows = 3 }

    [[agents]]
    agent = "psrl"               # an algorithm of the registry
    [[agents]]
    agent = "my_agent.py:MyAgent"    # or a class in a file beside the study

Paths are relative to the study's file. Whatever is wrong is reported with the file, the line, what was found and what
is allowed.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from goalward.errors import FileError
from goalward.studies.toml_text import Place, line_of

__all__ = ["AgentSpec", "Source", "StudySpec", "WorldSpec", "load_spec", "parse_spec"]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Label = Annotated[str, Field(min_length=1)]
Positive = Annotated[int, Field(ge=1)]
Sweep = dict[str, Annotated[list[Any], Field(min_length=1)]]


def all_different(values: list[int]) -> list[int]:
    """Return a list, or refuse it if it names anything twice."""
    if len(set(values)) < len(values):
        raise ValueError("Input should have each entry once")
    return values


class Section(BaseModel):
    """A part of a study; a key that is not listed is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WorldSpec(Section):
    """A world, or several that differ in a setting."""

    world: str
    """An id of the registry, a model file or a map."""
    label: Label | None = None
    """What it is called in tables and figures; the id without its version, if not given."""
    settings: dict[str, Any] = {}
    """Settings that differ from the world's defaults."""
    sweep: Sweep = {}
    """Settings with several values: one world for each combination."""
    draw: str | None = None
    """The seed setting that every run draws anew, so that each run has a world of its own."""


class AgentSpec(Section):
    """An algorithm, or several that differ in a setting."""

    agent: str
    """A name of the registry, or ``file.py:Class``."""
    label: Label | None = None
    """What it is called in tables and figures; its name, if not given."""
    settings: dict[str, Any] = {}
    """Settings that differ from the algorithm's defaults. What it needs and is not given is read off the true world."""
    sweep: Sweep = {}
    """Settings with several values: one agent for each combination."""
    worlds: Annotated[list[str], Field(min_length=1)] | None = None
    """The labels of the worlds in which it learns; all, if not given."""


class StudySpec(Section):
    """A study."""

    name: Name
    """Names the results folder."""
    description: str = ""
    """What the study is about."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Decides every random draw of the study."""
    runs: Positive = 10
    """Runs of each agent in each world."""
    episodes: Positive | Annotated[list[Positive], Field(min_length=1), AfterValidator(all_different)] = 10_000
    """Episodes of each run; a list makes runs of each length."""
    max_steps: Positive | None = None
    """Cut a run off after so many steps; no limit, if not given. Runs that were cut are marked in every result."""
    worlds: Annotated[list[WorldSpec], Field(min_length=1)]
    """The worlds."""
    agents: Annotated[list[AgentSpec], Field(min_length=1)]
    """The agents."""

    @property
    def lengths(self) -> list[int]:
        """The numbers of episodes, as a list."""
        return self.episodes if isinstance(self.episodes, list) else [self.episodes]


class Source:
    """Where a study was read from: it gives errors their file and line."""

    def __init__(self, path: Path, text: str):
        self.path, self.text = path, text

    def error(self, place: Place, message: str) -> FileError:
        """Return an error at a place of the study."""
        return FileError(f"{self.path}, line {line_of(self.text, place)}: {message}")


def load_spec(path: str | Path) -> tuple[StudySpec, Source]:
    """Read a study from a TOML file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{file}: not a text file; a study is written in TOML") from None
    return parse_spec(text, file)


def parse_spec(text: str, path: Path) -> tuple[StudySpec, Source]:
    """Read a study from the text of a TOML file."""
    source = Source(path, text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: no TOML: {error}") from None
    try:
        return StudySpec.model_validate(document), source
    except ValidationError as error:
        details = error.errors(include_url=False)
        # A misspelt key is both unknown and missing; the misspelling is what helps.
        first = next((detail for detail in details if detail["type"] == "extra_forbidden"), details[0])
        place = tuple(part for part in first["loc"] if not is_type_name(part))
        raise source.error(place, explained(place, first["type"], first["msg"], first["input"])) from None


def is_type_name(part: str | int) -> bool:
    """Return whether a part of a place is one of Pydantic's names for the members of a union, not a key."""
    return isinstance(part, str) and (part == "constrained-int" or part == "int" or part.startswith("list["))


def explained(place: Place, kind: str, message: str, given: object) -> str:
    """Say what is wrong at a place: what was found and what is allowed."""
    name = next((part for part in reversed(place) if isinstance(part, str)), "the study")
    if kind == "extra_forbidden":
        allowed = list(section_of(place).model_fields)
        near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"allowed are: {', '.join(allowed)}"
        return f"no key is called {name!r} here; {hint}"
    if kind == "missing":
        example = {"worlds": "[[worlds]]", "agents": "[[agents]]"}.get(name, f'{name} = "..."')
        return f"{name} is missing; add {example}"
    if name == "episodes":
        message = "Input should be an integer of at least 1, or a list of such, each once"
    elif kind == "string_pattern_mismatch":
        message = "Input should be made of letters, digits, '.', '_' and '-', for it names a folder"
    # Pydantic writes "Input should be a valid integer" and "List should have at least 1 item after validation ...".
    allowed_text = message.partition(" should ")[2].partition(" after validation")[0]
    return f"{name} is {given!r}; it must {allowed_text}"


def section_of(place: Place) -> type[Section]:
    """Return the section in which a place lies."""
    sections: dict[str | int, type[Section]] = {"worlds": WorldSpec, "agents": AgentSpec}
    return sections.get(place[0], StudySpec) if len(place) > 1 else StudySpec
