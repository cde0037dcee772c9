"""Models in DRN, Storm's explicit format in text.

::

    @type: MDP                        MDP or DTMC
    @parameters
                                      must be empty
    @reward_models
    cost time
    @nr_states
    2
    @nr_choices
    2
    @model
    state 0 [0, 0] init "at home"     state, rewards of the state, labels
    //[x=1]                           a comment; right after a state, its name
      action walk [3, 1]              choice, rewards of the choice
        1 : 1                         branch: target and probability
    state 1 [0, 0] goal
      action 0 [0, 0]
        1 : 1

Numbers may be fractions such as 1/3, or names that a section ``@placeholders`` explains. Each fault is named with its
line. A file that ends in ``.drn.gz`` or ``.drn.xz`` is packed: the text itself, or a tar with one member as Storm has
it, which is what is written.
"""

from __future__ import annotations

import io
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalward.arrays import Bools, Int64s
from goalward.errors import FileError
from goalward.interchange.explicit import Explicit, Reward, choices_of, plain_names
from goalward.interchange.umb import read_packed, tar_bytes, tar_members, write_packed

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["read", "write"]

LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
FRACTION = re.compile(r"(-?[0-9]{1,300})\s*/\s*([0-9]{1,300})")
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
NO_LABEL = "__NOLABEL__"
REFUSED = {
    "CTMC": "has continuous time; export the embedded DTMC",
    "Markov Automaton": "has continuous time; export the embedded MDP",
    "POMDP": "has observations; export the underlying MDP",
}


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read what `SSP.from_rows` takes; the options are those of `Explicit.rows`."""
    content = read_packed(path)
    if content[257:262] == b"ustar":
        members = list(tar_members(content).values())
        if len(members) != 1:
            raise FileError(f"is an archive of {len(members)} files; it must hold one")
        content = bytes(members[0])
    return Parser(content).model().rows(**options)


class Parser:
    """Reads a file line by line and remembers the number of the line for messages."""

    def __init__(self, content: bytes):
        self.lines = enumerate(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n"), start=1)
        self.at = 0  # the number of the line that was read last
        self.header: dict[str, str] = {}
        self.placeholders: dict[str, float] = {}
        self.state_choices: list[int] = []
        self.choice_branches: list[int] = []
        self.targets: list[int] = []
        self.probabilities: list[float] = []
        self.rewards: tuple[list[str], list[str]] = ([], [])  # of states and of choices, as they are written
        self.labels: dict[str, list[int]] = {}
        self.actions: list[str] = []
        self.names: dict[int, str] = {}

    def fault(self, message: str) -> FileError:
        """Return the error for the line that was read last."""
        return FileError(f"line {self.at}: {message}")

    def next_line(self) -> str | None:
        """Return the next line without spaces around it; None at the end."""
        try:
            self.at, line = next(self.lines, (self.at, None))
        except UnicodeDecodeError:
            raise FileError(f"is not UTF-8 after line {self.at}; a .drn file is text") from None
        return None if line is None else line.strip()

    def model(self) -> Explicit:
        """Read the whole file."""
        self.read_header()
        self.read_states()
        states, choices = len(self.state_choices), len(self.choice_branches)
        for section, count in (("@nr_states", states), ("@nr_choices", choices)):
            if self.header.get(section, str(count)) != str(count):
                declared = self.header[section]
                raise FileError(f"{section} says {declared:.30}, but the file has {count}; it is not complete")
        if max(self.targets, default=0) >= states:
            raise FileError(f"a branch leads to state {max(self.targets)}; there are {states} states")
        return Explicit(
            np.array([*self.state_choices, choices]),
            np.array([*self.choice_branches, len(self.targets)]),
            np.array(self.targets, dtype=np.int64),
            np.array(self.probabilities, dtype=np.float64),
            np.array(self.labels.get("init", []), dtype=np.int64),
            {name: partial(self.label, name) for name in self.labels if name != "init"},
            {name: partial(self.reward, index) for index, name in enumerate(self.reward_names())},
            *self.choice_labels(),
            [self.names.get(state, str(state)) for state in range(states)] if self.names else None,
        )

    def read_header(self) -> None:
        """Read all up to the line @model."""
        section = ""
        while (line := self.next_line()) != "@model":
            if line is None:
                raise FileError("has no line @model; it is not a DRN file, or not complete")
            if not line or line.startswith("//"):
                continue
            name, colon, value = line.partition(":")
            if section == "@placeholders" and not name.startswith("@"):
                self.placeholders[name.strip()] = self.number(value.strip())
                continue
            section = name
            if name in self.header:
                raise self.fault(f"{name} is given twice; keep one")
            if name == "@placeholders" or (name in ("@type", "@value_type") and colon):
                self.header[name] = value.strip()
            elif name in ("@parameters", "@reward_models", "@nr_states", "@nr_choices") and not colon:
                self.header[name] = self.next_line() or ""
            else:
                raise self.fault(f"{line!r:.60} is not a line of a DRN header")
        kind = self.header.get("@type", "")
        if kind not in ("MDP", "DTMC"):
            raise FileError(f"@type is {kind!r:.40}; {REFUSED.get(kind, 'MDP and DTMC are read')}")
        if self.header.get("@value_type", "double") not in ("double", "rational"):
            raise FileError(f"@value_type is {self.header['@value_type']!r:.40}; double and rational are read")
        if self.header.get("@parameters"):
            raise FileError("has parameters; give them values and export the model again")

    def read_states(self) -> None:
        """Read the states with their choices and branches."""
        first_of_state = False
        while (line := self.next_line()) is not None:
            if line.startswith("state "):
                self.state_line(line[6:])
                first_of_state = True
            elif line.startswith("action "):
                self.choice_line(line[7:])
                first_of_state = False
            elif line.startswith("//[") and first_of_state and line.endswith("]"):
                self.names[len(self.state_choices) - 1] = " ".join(line[3:-1].split())
            elif line and not line.startswith("//"):
                if first_of_state:  # the one choice of a state need not be named
                    self.choice_line("0")
                    first_of_state = False
                self.branch_line(line)

    def state_line(self, rest: str) -> None:
        """Read ``3 [0, 1] label "another label"``."""
        id, _, rest = rest.partition(" ")
        if id != str(len(self.state_choices)):
            raise self.fault(f"state {id!r:.30} is out of order; states are numbered from 0 without gaps")
        for sign, what in (("!", "a rate"), ("{", "an observation")):
            if rest.startswith(sign):
                raise self.fault(f"the state has {what}; only models without are read")
        self.state_choices.append(len(self.choice_branches))
        rest = self.take_rewards(rest, self.rewards[0])
        for quoted, bare in LABEL.findall(rest):
            self.labels.setdefault(quoted or bare, []).append(len(self.state_choices) - 1)

    def choice_line(self, rest: str) -> None:
        """Read ``right [1, 1]``."""
        if not self.state_choices:
            raise self.fault("an action before the first state")
        name, _, rest = rest.partition(" ")
        self.actions.append(name)
        self.choice_branches.append(len(self.targets))
        if left := self.take_rewards(rest, self.rewards[1]):
            raise self.fault(f"{left!r:.40} follows the action; only rewards in brackets may")

    def take_rewards(self, rest: str, rewards: list[str]) -> str:
        """Take what is in brackets off a line and return what follows."""
        if not rest.startswith("["):
            rewards.append("")
            return rest
        inside, bracket, rest = rest[1:].partition("]")
        if not bracket:
            raise self.fault("a bracket is not closed")
        rewards.append(inside)
        return rest.strip()

    def branch_line(self, line: str) -> None:
        """Read ``2 : 0.5``."""
        target, colon, value = line.partition(":")
        if not self.choice_branches or not colon:
            raise self.fault(f"{line!r:.60} is neither a state nor an action nor a branch")
        try:
            state = int(target)
        except ValueError:
            state = -1
        if not 0 <= state <= LARGEST:
            raise self.fault(f"a branch leads to {target.strip()!r:.30}; it must be the number of a state")
        self.targets.append(state)
        self.probabilities.append(self.number(value.strip()))

    def number(self, text: str) -> float:
        """Return the value of a number, a fraction or a placeholder."""
        try:
            return float(text)
        except ValueError:
            pass
        if text in self.placeholders:
            return self.placeholders[text]
        if parts := FRACTION.fullmatch(text):
            try:
                return int(parts[1]) / int(parts[2])
            except (ZeroDivisionError, OverflowError):
                pass
        raise self.fault(f"{text!r:.40} is not a number; intervals and parameters are not read")

    def label(self, name: str) -> Bools:
        states = np.zeros(len(self.state_choices), dtype=np.bool_)
        states[self.labels[name]] = True
        return states

    def reward_names(self) -> list[str]:
        """Return the names in the header; Storm calls rewards without names rew0, rew1 and so on."""
        names = self.header.get("@reward_models", "").split()
        most = max((text.count(",") + 1 for texts in self.rewards for text in set(texts) if text), default=0)
        return names + [f"rew{index}" for index in range(len(names), most)]

    def reward(self, index: int) -> Reward:
        """Return one of the rewards of states and choices."""
        columns = []
        for texts in self.rewards:
            values = {"": 0.0}
            for text in set(texts) - {""}:
                numbers = text.split(",")
                values[text] = self.number(numbers[index].strip()) if index < len(numbers) else 0.0
            columns.append(np.array([values[text] for text in texts], dtype=np.float64))
        return Reward(*columns)

    def choice_labels(self) -> tuple[Int64s, list[str]]:
        names = list(dict.fromkeys(self.actions))
        if all(name.isdecimal() and len(name) < 10 for name in names):
            names.sort(key=int)
        numbers = {name: number for number, name in enumerate(names)}
        codes = np.array([numbers[name] for name in self.actions], dtype=np.int64)
        return codes, ["" if name == NO_LABEL else name for name in names]


def write(path: Path, ssp: SSP) -> None:
    """Write a model: label ``goal``, reward ``cost``, names of states as comments."""
    model = choices_of(ssp)
    names = plain_names([ssp.action_name(action) or NO_LABEL for action in range(ssp.actions)])
    starts, branches = model.state_choices.tolist(), model.choice_branches.tolist()
    actions, costs = model.actions.tolist(), model.costs.tolist()
    pairs = zip(model.targets.tolist(), model.probabilities.tolist(), strict=True)
    branch_lines = [f"\t\t{target} : {probability!r}" for target, probability in pairs]
    lines = ["@type: MDP", "@value_type: double", "@parameters", "", "@reward_models", "cost"]
    lines += ["@nr_states", str(ssp.states + 1), "@nr_choices", str(len(actions)), "@model"]
    for state in range(ssp.states + 1):
        label = " goal" if state == ssp.goal else " init" if state == ssp.initial_state else ""
        lines.append(f"state {state} [0]{label}")
        if ssp.state_names is not None:
            # A line break would end the comment.
            lines.append(f"//[{''.join(c if c.isprintable() else ' ' for c in ssp.state_name(state))}]")
        for choice in range(starts[state], starts[state + 1]):
            lines.append(f"\taction {names[actions[choice]]} [{costs[choice]!r}]")
            lines += branch_lines[branches[choice] : branches[choice + 1]]
    content = ("\n".join(lines) + "\n").encode("utf-8", "replace")
    packing = path.suffix if path.suffix in (".gz", ".xz") else ""
    write_packed(path, tar_bytes({"model.drn": content}) if packing else content, packing)
