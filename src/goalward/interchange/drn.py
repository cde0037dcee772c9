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

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import FileError
from goalward.interchange.explicit import Explicit, Reward, choices_of, plain_names
from goalward.interchange.umb import PIECE, pieces, read_packed, tar_bytes, tar_members, write_packed

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
FRACTION = re.compile(r"(-?[0-9]{1,300})\s*/\s*([0-9]{1,300})")
STATE_LINE = r"^state\s+(?P<number>[0-9]{1,10})(?:\s+(?:\[(?P<rewards>[^\]]*)\]\s*)?(?P<labels>.*))?$"
ACTION_LINE = r"^action\s+(?P<name>[^\s\[]*)\s*(?:\[(?P<rewards>[^\]]*)\]\s*)?(?P<left>.*)$"
MOST_REWARDS = 100
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
LONGEST_LINE = 1 << 26
NO_LABEL = "__NOLABEL__"
NEITHER = "{text!r:.60} is neither a state nor an action nor a branch"
STATE, ACTION, BRANCH, OTHER = range(4)
REFUSED = {
    "CTMC": "has continuous time; export the embedded DTMC",
    "Markov Automaton": "has continuous time; export the embedded MDP",
    "POMDP": "has observations; export the underlying MDP",
}


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read what `SSP.from_rows` takes; the options are those of `Explicit.rows`."""
    parser = Parser()
    for text in whole_lines(pieces(path) if path.suffix == ".drn" else unpacked(read_packed(path))):
        parser.read(text)
    return parser.model().rows(**options)


def unpacked(content: bytearray) -> Iterator[bytes]:
    """Yield the text of a packed file piece by piece: all of it, or the one member of a tar."""
    text = memoryview(content)
    if content[257:262] == b"ustar":
        members = list(tar_members(content).values())
        if len(members) != 1:
            raise FileError(f"is an archive of {len(members)} files; it must hold one")
        text = members[0]
    for begin in range(0, len(text), PIECE):
        yield bytes(text[begin : begin + PIECE])


def whole_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a text in pieces of whole lines; the first has the header."""
    rest = b""
    for part in parts:
        head, newline, tail = part.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = b""
        rest += tail
        if len(rest) > LONGEST_LINE:
            raise FileError(f"has a line of more than {LONGEST_LINE:,} bytes; it is not a DRN file")
    yield rest


class Column:
    """An array that grows in place."""

    def __init__(self, kind: type):
        self.memory: NDArray[Any] = np.empty(1024, dtype=kind)
        self.size = 0

    def append(self, part: NDArray[Any]) -> None:
        """Add numbers at the end."""
        end = self.size + len(part)
        if end > len(self.memory):
            self.memory.resize(end + end // 8, refcheck=False)
        self.memory[self.size : end] = part
        self.size = end

    def array(self) -> NDArray[Any]:
        """Return the numbers."""
        self.memory.resize(self.size, refcheck=False)
        return self.memory


class Parser:
    """Reads a file piece by piece: the header line by line, the rest as columns of texts."""

    def __init__(self) -> None:
        self.at = 0  # the line that a fault is named with
        self.lines = 0  # of the pieces before
        self.header: dict[str, str] = {}
        self.placeholders: dict[str, float] = {}
        self.states = self.choices = self.branches = 0
        self.last_kind = self.last_line = OTHER
        self.labels: dict[str, int] = {}  # what follows the rewards of states, numbered
        self.actions: dict[str, int] = {}
        self.names: dict[int, str] = {}
        # State choices, choice branches, targets, probabilities, labels of states, actions of choices.
        kinds = (np.int64, np.int64, np.int32, np.float64, np.int32, np.int32)
        self.columns = [Column(kind) for kind in kinds]
        self.state_rewards: list[Floats] = []
        self.choice_rewards: list[Floats] = []

    def fault(self, message: str) -> FileError:
        """Return the error for the current line."""
        return FileError(f"line {self.at}: {message}")

    def refuse(self, wrong: Bools, texts: Any, lines: Int64s, message: str) -> None:
        """Raise the error for the first text that is wrong; the message may show it as {text}."""
        if wrong.any():
            index = int(np.argmax(wrong))
            raise FileError(f"line {lines[index]}: {message.format(text=texts[index].as_py())}")

    def read(self, piece: bytes) -> None:
        """Read some whole lines."""
        content = np.frombuffer(piece, dtype=np.uint8)
        offsets = np.append(0, np.flatnonzero(content == ord("\n")) + 1)
        offsets = offsets if offsets[-1] == len(piece) else np.append(offsets, len(piece))
        if not piece.isascii():
            try:
                piece.decode("utf-8")
            except UnicodeDecodeError as error:
                line = self.lines + piece.count(b"\n", 0, error.start)
                raise FileError(f"is not UTF-8 after line {line}; a .drn file is text") from None
        buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(piece)]
        texts = compute.ascii_trim_whitespace(pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers))
        begin = 0 if self.header else self.read_header(texts)
        self.lines += begin
        self.read_lines(texts[begin:])
        self.lines += len(texts) - begin

    def read_header(self, texts: Any) -> int:
        """Read all up to the line @model; return how many lines that are."""
        section, value_line = "", -1
        matters = (np.asarray(compute.binary_length(texts)) > 0) & ~starts(texts, "//")
        for index in np.flatnonzero(matters).tolist():
            self.at, line = index + 1, texts[index].as_py()
            name, colon, value = line.partition(":")
            if line == "@model":
                break
            if index == value_line:
                continue
            if section == "@placeholders" and not name.startswith("@"):
                self.placeholders[name.strip()] = self.number(value.strip())
                continue
            section = name
            if name in self.header:
                raise self.fault(f"{name} is given twice; keep one")
            if name == "@placeholders" or (name in ("@type", "@value_type") and colon):
                self.header[name] = value.strip()
            elif name in ("@parameters", "@reward_models", "@nr_states", "@nr_choices") and not colon:
                value_line = index + 1
                self.header[name] = texts[value_line].as_py() if value_line < len(texts) else ""
            else:
                raise self.fault(f"{line!r:.60} is not a line of a DRN header")
        else:
            raise FileError("has no line @model; it is not a DRN file, or not complete")
        kind = self.header.get("@type", "")
        if kind not in ("MDP", "DTMC"):
            raise FileError(f"@type is {kind!r:.40}; {REFUSED.get(kind, 'MDP and DTMC are read')}")
        if self.header.get("@value_type", "double") not in ("double", "rational"):
            raise FileError(f"@value_type is {self.header['@value_type']!r:.40}; double and rational are read")
        if self.header.get("@parameters"):
            raise FileError("has parameters; give them values and export the model again")
        return self.at

    def read_lines(self, texts: Any) -> None:
        """Read lines of states, actions and branches."""
        kinds = np.full(len(texts), BRANCH, dtype=np.int8)
        kinds[starts(texts, "state ")] = STATE
        kinds[starts(texts, "action ")] = ACTION
        kinds[starts(texts, "//") | (np.asarray(compute.binary_length(texts)) == 0)] = OTHER
        self.read_names(texts, kinds)
        where = np.flatnonzero(kinds != OTHER)
        if not len(where):
            return
        kinds, lines = kinds[where], where + self.lines + 1
        before = np.append(self.last_kind, kinds[:-1])
        first = kinds[:1] if before[0] == OTHER else kinds[:0]
        self.refuse(first == ACTION, texts, lines, "an action before the first state")
        self.refuse(first == BRANCH, texts.take(where[:1]), lines, NEITHER)
        is_state, is_action, is_branch = kinds == STATE, kinds == ACTION, kinds == BRANCH
        opens = is_action | (is_branch & (before == STATE))  # a choice; the one of a state may have no line of its own
        targets, probabilities = self.read_branches(texts.take(where[is_branch]), lines[is_branch])
        names, rewards = self.read_actions(texts.take(where[is_action]), lines[is_action])
        actions = np.full(len(kinds), self.actions.setdefault("", len(self.actions)))
        actions[is_action] = names
        paid = np.zeros((np.count_nonzero(opens), rewards.shape[1]))
        paid[is_action[opens]] = rewards
        self.choice_rewards.append(paid)
        found = (
            (self.choices + np.cumsum(opens) - opens)[is_state],
            (self.branches + np.cumsum(is_branch) - is_branch)[opens],
            targets,
            probabilities,
            self.read_states(texts.take(where[is_state]), lines[is_state]),
            actions[opens],
        )
        for column, part in zip(self.columns, found, strict=True):
            column.append(part)
        self.choices += int(np.count_nonzero(opens))
        self.branches += len(targets)
        self.last_kind = int(kinds[-1])

    def read_names(self, texts: Any, kinds: Any) -> None:
        """Read ``//[x=1]`` in the line after a state: its name."""
        after_state = np.append(self.last_line, kinds[:-1])[: len(kinds)] == STATE
        named = np.flatnonzero(after_state & starts(texts, "//[") & np.asarray(compute.ends_with(texts, "]")))
        states = self.states + np.cumsum(kinds == STATE)[named] - 1
        for state, text in zip(states.tolist(), texts.take(named).to_pylist(), strict=True):
            self.names[state] = " ".join(text[3:-1].split())
        self.last_line = int(kinds[-1]) if len(kinds) else self.last_line

    def read_states(self, texts: Any, lines: Int64s) -> Int32s:
        """Read ``state 0 [0, 1] label "another label"``; return the numbers of what follows the rewards."""
        number, inside, labels = compute.extract_regex(texts, STATE_LINE).flatten()
        found = np.asarray(number.fill_null("-1").cast(pa.int64()))
        message = "{text!r:.40} is out of order; states are numbered from 0 without gaps"
        self.refuse(found != np.arange(self.states, self.states + len(found)), texts, lines, message)
        self.refuse(starts(labels, "!"), texts, lines, "the state has a rate; only models without are read")
        self.refuse(starts(labels, "{"), texts, lines, "the state has an observation; only models without are read")
        self.refuse(starts(labels, "["), texts, lines, "a bracket is not closed")
        self.states += len(found)
        self.state_rewards.append(self.read_rewards(inside, lines))
        return numbered(self.labels, labels)

    def read_actions(self, texts: Any, lines: Int64s) -> tuple[Int32s, Floats]:
        """Read ``action right [1, 1]``; return the numbers of the names, and the rewards."""
        name, inside, left = compute.extract_regex(texts, ACTION_LINE).flatten()
        self.refuse(starts(left, "["), left, lines, "a bracket is not closed")
        message = "{text!r:.40} follows the action; only rewards in brackets may"
        self.refuse(np.asarray(compute.binary_length(left)) > 0, left, lines, message)
        return numbered(self.actions, name), self.read_rewards(inside, lines)

    def read_rewards(self, texts: Any, lines: Int64s) -> Floats:
        """Read ``0, 1``: a row of rewards for each text."""
        lists = compute.split_pattern(texts, ",")
        lengths = np.asarray(compute.list_value_length(lists))
        self.refuse(lengths > MOST_REWARDS, texts, lines, f"there are more than {MOST_REWARDS} rewards")
        row = np.repeat(np.arange(len(lengths)), lengths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat = compute.ascii_trim_whitespace(lists.flatten())
        rewards = np.zeros((len(lengths), int(lengths.max(initial=0))))
        rewards[row, column] = self.values(compute.if_else(compute.equal(flat, ""), "0", flat), lines[row])
        return rewards

    def read_branches(self, texts: Any, lines: Int64s) -> tuple[Int32s, Floats]:
        """Read ``3 : 0.5``; return the targets and the probabilities."""
        parts = compute.split_pattern(texts, ":", max_splits=1)
        self.refuse(np.asarray(compute.list_value_length(parts)) != 2, texts, lines, NEITHER)
        flat = compute.ascii_trim_whitespace(parts.flatten())
        target, weight = flat.take(np.arange(0, len(flat), 2)), flat.take(np.arange(1, len(flat), 2))
        is_number = compute.match_substring_regex(target, "^[0-9]{1,10}$")
        targets = np.asarray(compute.if_else(is_number, target, str(LARGEST + 1)).cast(pa.int64()))
        message = "a branch leads to {text!r:.30}; it must be the number of a state"
        self.refuse(targets > LARGEST, target, lines, message)
        return targets.astype(np.int32), self.values(weight, lines)

    def values(self, texts: Any, lines: Int64s) -> Floats:
        """Return the values of numbers; some may be fractions or placeholders."""
        try:
            return np.asarray(texts.cast(pa.float64()))
        except pa.ArrowInvalid:
            encoded = texts.dictionary_encode()
        codes = np.asarray(encoded.indices)
        first = np.zeros(len(encoded.dictionary), dtype=np.int64)
        first[codes[::-1]] = lines[::-1]
        found = np.empty(len(first))
        for index, (text, self.at) in enumerate(zip(encoded.dictionary.to_pylist(), first.tolist(), strict=True)):
            found[index] = self.number(text)
        values: Floats = found[codes]
        return values

    def model(self) -> Explicit:
        """Return what was read."""
        for section, count in (("@nr_states", self.states), ("@nr_choices", self.choices)):
            if self.header.get(section, str(count)) != str(count):
                declared = self.header[section]
                raise FileError(f"{section} says {declared:.30}, but the file has {count}; it is not complete")
        for column, end in zip(self.columns, (self.choices, self.branches), strict=False):
            column.append(np.array([end]))
        state_choices, choice_branches, targets, probabilities, labels, actions = (c.array() for c in self.columns)
        largest = int(targets.max(initial=0))
        if largest >= max(self.states, 1):
            raise FileError(f"a branch leads to state {largest}; there are {self.states} states")
        by_label: dict[str, list[int]] = {}
        for text, code in self.labels.items():
            for quoted, bare in LABEL.findall(text):
                by_label.setdefault(quoted or bare, []).append(code)
        names = self.header.get("@reward_models", "").split()
        most = max((part.shape[1] for part in self.state_rewards + self.choice_rewards), default=0)
        names += [f"rew{index}" for index in range(len(names), most)]  # as Storm calls rewards without names
        # The one choice of a state need not be named.
        actions, action_names = in_order(actions, [name or "0" for name in self.actions])
        return Explicit(
            state_choices,
            choice_branches,
            targets,
            probabilities,
            np.flatnonzero(np.isin(labels, by_label.pop("init", []))),
            {name: partial(np.isin, labels, codes) for name, codes in by_label.items()},
            {name: partial(self.reward, index) for index, name in enumerate(names)},
            actions,
            ["" if name == NO_LABEL else name for name in action_names],
            [self.names.get(state, str(state)) for state in range(self.states)] if self.names else None,
        )

    def reward(self, index: int) -> Reward:
        """Return one of the rewards of states and choices."""
        columns = (
            np.concatenate([part[:, index] if index < part.shape[1] else np.zeros(len(part)) for part in parts])
            for parts in (self.state_rewards, self.choice_rewards)
        )
        return Reward(*columns)

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


def numbered(known: dict[str, int], texts: Any) -> Int32s:
    """Return the numbers of a column of texts; new ones get the next."""
    encoded = texts.dictionary_encode()
    table = [known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()]
    found: Int32s = np.array(table, dtype=np.int32)[np.asarray(encoded.indices)]
    return found


def in_order(actions: Int32s, names: list[str]) -> tuple[Int64s, list[str]]:
    """Return actions and their names, in order of appearance, or where all are numbers, in that order."""
    distinct = list(dict.fromkeys(names))
    if all(name.isdecimal() and len(name) < 10 for name in distinct):
        distinct.sort(key=int)
    place = {name: index for index, name in enumerate(distinct)}
    return np.array([place[name] for name in names], dtype=np.int64)[actions], distinct


def starts(texts: Any, prefix: str) -> Bools:
    """Return which texts start with a prefix."""
    return np.asarray(compute.starts_with(texts, prefix))


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
