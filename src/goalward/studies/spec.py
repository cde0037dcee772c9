"""A study as data: which agents learn in which worlds, how often and for how long.

A study is a TOML file::

    name = "my-study"            # also the name of the results folder
    seed = 0                     # decides every random draw of the study
    runs = 10                    # runs of each agent in each world
    episodes = 10_000            # episodes of each run

    [[worlds]]
    world = "grid-world-v0"      # an id of the registry, a model (.npz, .json) or a map (.txt)
    settings = { rows = 3 }
    [[worlds]]
    world = "my_env.py:make_env" # or a function that makes an environment or a model, in a file beside the study
    give_up_cost = 20.0          # goalward.Environment explains goal, cost and give_up_cost

    [[agents]]
    agent = "psrl"               # an algorithm of the registry
    [[agents]]
    agent = "my_agent.py:MyAgent"    # or a class in a file beside the study

Paths are relative to the study's file. Errors name the file, the line, the faulty value and the allowed values.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.files import parse_toml, read_text
from goalward.user_code import without_digests
from goalward.worlds.base import RULES

PRIOR = "prior"
"""The value of `draw` if the world of each run is drawn from a prior."""
PLAIN = "be a finite number, a string, true or false, a list or a table"
Place = Sequence[str | int]
"""The path to a value in a document: keys, and for entries of lists indices from 0."""


def canonical(value: object) -> str:
    """Return plain data as canonical JSON, from which keys are computed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def check_plain(value: object) -> object:
    """Raise an error for values that cannot be part of a key, such as TOML's dates, times, infinity and NaN."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for entry in entries:
        check_plain(entry)
    finite = isinstance(value, str | bool | int | dict | list) or (isinstance(value, float) and math.isfinite(value))
    if not finite:
        raise PydanticCustomError("plain", f"Input should {PLAIN}")
    return value


def check_name(name: str) -> str:
    """Raise an error for a name that cannot be part of a path."""
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        made_of = "letters, digits, '.', '_' and '-', because it names a folder"
        raise PydanticCustomError("name", f"Input should be made of {made_of}")
    return name


Name = Annotated[str, AfterValidator(check_name)]
Label = Annotated[str, Field(min_length=1)]
Positive = Annotated[int, Field(ge=1)]
Plain = Annotated[Any, PlainValidator(check_plain)]
Rule = str | Annotated[float, Field(allow_inf_nan=False)]
Sweep = dict[str, Annotated[list[Plain], Field(min_length=1)]]


class Section(BaseModel):
    """A section of a study; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WorldSpec(Section):
    """A world, or several worlds that differ in swept settings."""

    world: str
    """An id of the registry, a Gymnasium id, ``file.py:function``, a model file or a map."""
    label: Label = ""
    """The name in tables and figures; by default the id without the version. ``{rows}`` stands for a swept setting."""
    settings: dict[str, Plain] = {}
    """Settings that differ from the world's defaults."""
    sweep: Sweep = {}
    """Settings with several values: one world for each combination."""
    draw: str | None = None
    """Draw a new world for each run. The name of a seed setting draws this seed; "prior" draws the transitions from a
    prior and keeps the states, actions, costs and start of the world."""
    prior: Plain = None
    """With ``draw = "prior"``: the prior, as in the settings of an agent; by default each agent's own prior."""
    group: str = ""
    """The group of the world in tables over several worlds."""
    give_up_cost: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """Let agents give up and start again at this cost; worlds with dead ends need it."""
    goal: Rule | None = None
    """Which steps of an environment reach the goal: "terminated", or the least reward of such a step."""
    cost: Rule | None = None
    """What a step of an environment costs: "penalty", "reward", or a number."""
    swept: dict[str, Plain] = {}
    """In stored studies: the settings of a sweep that led to this world."""
    code: str = ""
    """In stored studies: the digest of a world that is registered outside goalward."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The part of `RunSpec.world` that all runs share, without the digest of the world's code."""
        identity: dict[str, Any] = {"id": self.world, "settings": self.settings}
        if self.world.endswith(".npz"):
            identity = {"digest": self.world.removesuffix(".npz")}
        return identity | {rule: value for rule in RULES if (value := getattr(self, rule)) is not None}

    @cached_property
    def seed_name(self) -> str:
        """The name from which the seeds of the runs are derived. Editing a user's file does not change this name."""
        return without_digests(canonical(self.identity))


class AgentSpec(Section):
    """An agent, or several agents that differ in swept settings."""

    agent: str
    """A name of the registry, or ``file.py:Class``."""
    label: Label = ""
    """The name in tables and figures; by default that of the algorithm. ``{scale}`` stands for a swept setting."""
    settings: dict[str, Plain] = {}
    """Settings that differ from the algorithm's defaults. Quantities that it must know are read off the true world."""
    sweep: Sweep = {}
    """Settings with several values, such as ``"prior.concentration"``: one agent for each combination."""
    worlds: Annotated[list[str], Field(min_length=1)] | None = None
    """The labels of the worlds in which the agent learns; by default all worlds."""
    swept: dict[str, Plain] = {}
    """In stored studies: the settings of a sweep that led to this agent."""
    code: str = ""
    """In stored studies: the digest of an agent and priors that are registered outside goalward."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The agent in the form of `RunSpec.agent`."""
        return {"name": self.agent, "settings": self.settings} | ({"code": self.code} if self.code else {})


class Stored(Section):
    """Facts about the runs of a study, which a results folder stores together with the study."""

    results: int
    """The version of the results."""
    last_run: str
    """When the study was run last."""
    first_run: str = ""
    """When the study was run first."""
    host: str = ""
    """The machine on which the study was last run."""
    version: str = ""
    """The version of goalward on that machine."""
    commit: str = ""
    """The git commit of the study's folder, if it has one, with "-dirty" if files there were changed."""
    tags: list[str] = []
    """The tags added by `goalward run --tag`."""


class StudySpec(Section):
    """A study as its author writes it."""

    name: Name
    """Names the results folder."""
    description: str = ""
    """What the study is about."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Decides all random numbers of the study."""
    runs: Positive = 10
    """Runs of each agent in each world."""
    episodes: Positive = 10_000
    """Episodes of each run."""
    max_steps: Positive | None = None
    """Cut runs off after this many steps; by default never. Results mark runs that were cut off."""
    worlds: Annotated[list[WorldSpec], Field(min_length=1)]
    """The worlds."""
    agents: Annotated[list[AgentSpec], Field(min_length=1)]
    """The agents."""
    stored: Stored | None = None
    """In stored studies: the version of the results and the time of the last run; otherwise ignored."""


@dataclass(frozen=True)
class Source:
    """The source of a study. Error messages name a place in the source, and paths are relative to its `folder`.

    `text` is the TOML text. A study from a dict has no text, so its errors name keys instead of lines.
    """

    name: str
    folder: Path
    text: str | None = None

    def error(self, place: Place, message: str) -> GoalwardError:
        """Return an error with a `message` that names a `place` in the study."""
        if self.text is not None:
            return FileError(f"{self.name}, line {line_of(self.text, place)}: {message}")
        keys = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        return SettingError(": ".join(part for part in (self.name, keys.removeprefix("."), message) if part))

    @contextlib.contextmanager
    def located(self, place: Place) -> Iterator[None]:
        """Add `place` to the message of every error that is raised inside the block."""
        try:
            yield
        except GoalwardError as error:
            raise self.error(place, str(error)) from error.__cause__


def line_of(text: str, place: Place) -> int:
    r"""Return the line number of `place` in a TOML text. A missing `place` has the line of its nearest parent.

    `tomllib` returns values without line numbers. But `tomllib` can parse the first n lines of a text, extended to the
    end of a statement. The line of a key is the smallest n for which the parsed lines contain the key.

    >>> line_of("runs = 3\n[[worlds]]\nid = 'a'\n[[worlds]]\nid = 'b'", ("worlds", 1, "id"))
    5
    """
    lines = text.replace("\r\n", "\n").split("\n")

    def depth(number: int) -> int:
        """Return the number of parts of `place` in the first `number` lines."""
        for end in range(number, len(lines) + 1):
            try:
                inner: Any = tomllib.loads("\n".join(lines[:end]))
            except tomllib.TOMLDecodeError:
                continue
            for length, name in enumerate(place):
                try:
                    inner = inner[name]
                except (KeyError, IndexError, TypeError):
                    return length
            return len(place)
        return 0

    return max(1, bisect.bisect_left(range(len(lines) + 1), depth(len(lines)), key=depth))


def load_spec(path: str | Path) -> tuple[StudySpec, Source]:
    """Read a study from a TOML file."""
    file = Path(path)
    return parse_spec(read_text(file, "a study is written in TOML"), file)


def parse_spec(text: str, path: Path) -> tuple[StudySpec, Source]:
    """Read a study from the text of a TOML file."""
    source = Source(str(path), path.parent, text)
    return validated(parse_toml(path, text), source), source


def validated(document: Mapping[str, Any], source: Source) -> StudySpec:
    """Return the study in a `document`, or raise an error that names the place of the first mistake in `source`."""
    try:
        return StudySpec.model_validate(document)
    except ValidationError as error:
        details = error.errors(include_url=False)
        # A misspelt key is both unknown and missing; the error should name the misspelling.
        first = next((detail for detail in details if detail["type"] == "extra_forbidden"), details[0])
        raise source.error(first["loc"], explained(first)) from None


def explained(mistake: ErrorDetails) -> str:
    place, kind = mistake["loc"], mistake["type"]
    name = next((part for part in reversed(place) if isinstance(part, str)), "the study")
    if kind == "extra_forbidden":
        sections: dict[str | int, type[Section]] = {"worlds": WorldSpec, "agents": AgentSpec}
        section = sections.get(place[0], StudySpec) if len(place) > 1 else StudySpec
        allowed = [field for field in section.model_fields if field not in ("swept", "code", "stored")]
        text = str(UnknownNameError("key", name, allowed))
        own = f"; for a setting of the world or agent, write settings = {{ {name} = ... }}"
        return text if section is StudySpec or "did you mean" in text else text + own
    if kind == "missing":
        example = {"worlds": "[[worlds]]", "agents": "[[agents]]"}.get(name, f'{name} = "..."')
        return f"{name} is missing; add {example}"
    must = re.sub(r"^\w+ should", "it must", mistake["msg"]).replace("dictionary", "table").partition(" or instance")[0]
    return f"{name} is {mistake['input']!r}; {must}"
