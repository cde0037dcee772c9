"""Reads and writes models in DRN, Storm's explicit text format.

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
    //[x=1]                           a comment, here the name of the state
      action walk [3, 1]              choice, rewards of the choice
        1 : 1                         branch: target and probability
    state 1 [0, 0] goal
      action 0 [0, 0]
        1 : 1

Numbers may be fractions such as 1/3. Error messages name the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import FileError
from goalward.files import write_bytes
from goalward.interchange.columns import Column, NameColumn, system_allocator
from goalward.interchange.explicit import Explicit, Reward, choices_of, unique_names
from goalward.interchange.umb import pieces

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
FRACTION = re.compile(r"(-?[0-9]{1,300})\s*/\s*([0-9]{1,300})")
STATE_LINE = r"^state\s+(?P<number>[0-9]{1,10})(?:\s+(?:\[(?P<rewards>[^\]]*)\]\s*)?(?P<labels>.*))?$"
ACTION_LINE = r"^action\s+(?P<name>[^\s\[]*)\s*(?:\[(?P<rewards>[^\]]*)\]\s*)?(?P<left>.*)$"
MOST_REWARDS = 100
SHORT_LINE = 8  # bytes
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
LONGEST_HEADER, LONGEST_LINE = 1 << 20, 1 << 26  # bytes
NO_LABEL = "__NOLABEL__"
NEITHER = "{text!r:.60} is neither a state nor an action nor a branch"
STATE, ACTION, BRANCH, OTHER = range(4)


@system_allocator()
def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read a DRN file and return the arguments of `SSP.from_rows`. `options` are passed to `Explicit.rows`."""
    parser = Parser(path.stat().st_size // SHORT_LINE)
    for text in whole_lines(pieces(path)):
        parser.read(text)
    return parser.model().rows(**options)


def whole_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `parts` as pieces that end at line breaks. The first piece contains the header."""
    rest, begun = b"", False
    for part in parts:
        rest += part
        head, newline, tail = rest.rpartition(b"\n")
        begun = begun or len(rest) >= LONGEST_HEADER or b"\n@model" in head
        if begun and newline:
            yield head + newline
            rest = tail
        if len(rest) > LONGEST_LINE:
            raise FileError(f"a line has more than {LONGEST_LINE:,} bytes, so this is no DRN file")
    yield rest


class Parser:
    """Reads a file in pieces. The header is read line by line, and the rest as columns of texts."""

    def __init__(self, expected: int) -> None:
        self.at = 0  # the current line, for error messages
        self.lines = 0  # the number of lines in earlier pieces
        self.header: dict[str, str] = {}
        self.states = self.choices = self.branches = 0
        self.last_kind = self.last_line = OTHER
        self.names: dict[int, str] = {}
        self.state_choices, self.choice_branches = Column(np.int64), Column(np.int64)
        self.targets, self.probabilities = Column(np.int32, expected), Column(np.float64, expected)
        self.labels, self.actions = NameColumn(), NameColumn()  # all labels of a state are one text here
        self.state_rewards: list[Floats] = []
        self.choice_rewards: list[Floats] = []

    def fault(self, message: str) -> FileError:
        """Return a FileError that names the current line."""
        return FileError(f"line {self.at}: {message}")

    def refuse(self, wrong: Bools, texts: Any, lines: Int64s, message: str) -> None:
        """Raise FileError if a text is `wrong`. The `message` may contain {text}, the first wrong text."""
        if wrong.any():
            index = int(np.argmax(wrong))
            raise FileError(f"line {lines[index]}: {message.format(text=texts[index].as_py())}")

    def read(self, piece: bytes) -> None:
        """Read a piece that consists of whole lines."""
        content = np.frombuffer(piece, dtype=np.uint8)
        offsets = np.append(0, np.flatnonzero(content == ord("\n")) + 1)
        offsets = offsets if offsets[-1] == len(piece) else np.append(offsets, len(piece))
        if not piece.isascii():
            try:
                piece.decode("utf-8")
            except UnicodeDecodeError as error:
                line = self.lines + piece.count(b"\n", 0, error.start)
                raise FileError(f"the text after line {line} is not UTF-8; write the file as UTF-8") from None
        buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(piece)]
        texts = compute.ascii_trim_whitespace(pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers))
        begin = 0 if self.header else self.read_header(texts)
        self.lines += begin
        self.read_lines(texts[begin:])
        self.lines += len(texts) - begin

    def read_header(self, texts: Any) -> int:
        """Read the header, up to the line @model. Return the number of lines read."""
        value_line = -1
        matters = (np.asarray(compute.binary_length(texts)) > 0) & ~starts(texts, "//")
        for index in np.flatnonzero(matters).tolist():
            self.at, line = index + 1, texts[index].as_py()
            name, colon, value = line.partition(":")
            if line == "@model":
                break
            if index == value_line:
                continue
            if name in self.header:
                raise self.fault(f"{name} appears twice; remove one of the two lines")
            if name in ("@type", "@value_type") and colon:
                self.header[name] = value.strip()
            elif name in ("@parameters", "@reward_models", "@nr_states", "@nr_choices") and not colon:
                value_line = index + 1
                self.header[name] = texts[value_line].as_py() if value_line < len(texts) else ""
            else:
                raise self.fault(f"{line!r:.60} is not a line of a DRN header")
        else:
            raise FileError("the file has no line @model; export the model as a DRN file again")
        kind = self.header.get("@type", "")
        if kind not in ("MDP", "DTMC"):
            advice = "export the embedded or the underlying MDP"
            raise FileError(f"@type is {kind!r:.40}; goalward reads only the types MDP and DTMC; {advice}")
        if self.header.get("@value_type", "double") not in ("double", "rational"):
            raise FileError(f"@value_type is {self.header['@value_type']!r:.40}; it must be double or rational")
        if self.header.get("@parameters"):
            raise FileError("the model has parameters; give them values and export the model again")
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
        opens = is_action | (is_branch & (before == STATE))  # a single choice needs no line "action"
        self.state_choices.append((self.choices + np.cumsum(opens) - opens)[is_state])
        self.choice_branches.append((self.branches + np.cumsum(is_branch) - is_branch)[opens])
        self.read_branches(texts.take(where[is_branch]), lines[is_branch])
        self.read_states(texts.take(where[is_state]), lines[is_state])
        names, rewards = self.read_actions(texts.take(where[is_action]), lines[is_action])
        action = pa.array(np.cumsum(is_action)[opens] - 1, mask=~is_action[opens])
        self.actions.append_names(names.take(action).fill_null(""))
        paid = np.zeros((len(action), rewards.shape[1]))
        paid[is_action[opens]] = rewards
        self.choice_rewards.append(paid)
        self.choices += int(np.count_nonzero(opens))
        self.branches += int(np.count_nonzero(is_branch))
        self.last_kind = int(kinds[-1])

    def read_names(self, texts: Any, kinds: Any) -> None:
        """Read the name of a state from a comment such as ``//[x=1]`` in the next line."""
        after_state = np.append(self.last_line, kinds[:-1])[: len(kinds)] == STATE
        named = np.flatnonzero(after_state & starts(texts, "//[") & np.asarray(compute.ends_with(texts, "]")))
        states = self.states + np.cumsum(kinds == STATE)[named] - 1
        for state, text in zip(states.tolist(), texts.take(named).to_pylist(), strict=True):
            self.names[state] = " ".join(text[3:-1].split())
        self.last_line = int(kinds[-1]) if len(kinds) else self.last_line

    def read_states(self, texts: Any, lines: Int64s) -> None:
        """Read lines such as ``state 0 [0, 1] label "another label"``."""
        number, inside, labels = compute.extract_regex(texts, STATE_LINE).flatten()
        found = np.asarray(number.fill_null("-1").cast(pa.int64()))
        message = "{text!r:.40} is out of order; number the states from 0 without gaps"
        self.refuse(found != np.arange(self.states, self.states + len(found)), texts, lines, message)
        message = "the state has a rate, an observation or an unclosed bracket; remove this part"
        self.refuse(np.asarray(compute.match_substring_regex(labels, r"^[!{\[]")), texts, lines, message)
        self.states += len(found)
        self.state_rewards.append(self.read_rewards(inside, lines))
        self.labels.append_names(labels)

    def read_actions(self, texts: Any, lines: Int64s) -> tuple[Any, Floats]:
        """Read lines such as ``action right [1, 1]``; return the names and the rewards."""
        name, inside, left = compute.extract_regex(texts, ACTION_LINE).flatten()
        message = "{text!r:.40} follows the action; only rewards in brackets may follow it"
        self.refuse(np.asarray(compute.binary_length(left)) > 0, left, lines, message)
        return name, self.read_rewards(inside, lines)

    def read_rewards(self, texts: Any, lines: Int64s) -> Floats:
        """Read lists such as ``0, 1``; return a row of rewards for each list."""
        lists = compute.split_pattern(texts, ",")
        lengths = np.asarray(compute.list_value_length(lists))
        self.refuse(lengths > MOST_REWARDS, texts, lines, f"there are more than {MOST_REWARDS} rewards")
        row = np.repeat(np.arange(len(lengths)), lengths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat = compute.ascii_trim_whitespace(lists.flatten())
        rewards = np.zeros((len(lengths), int(lengths.max(initial=0))))
        rewards[row, column] = self.values(compute.if_else(compute.equal(flat, ""), "0", flat), lines[row])
        return rewards

    def read_branches(self, texts: Any, lines: Int64s) -> None:
        """Read lines such as ``3 : 0.5``."""
        parts = compute.split_pattern(texts, ":", max_splits=1)
        self.refuse(np.asarray(compute.list_value_length(parts)) != 2, texts, lines, NEITHER)
        flat = compute.ascii_trim_whitespace(parts.flatten())
        target, weight = flat.take(np.arange(0, len(flat), 2)), flat.take(np.arange(1, len(flat), 2))
        is_number = compute.match_substring_regex(target, "^[0-9]{1,10}$")
        targets = np.asarray(compute.if_else(is_number, target, str(LARGEST + 1)).cast(pa.int64()))
        message = "a branch leads to {text!r:.30}; it must be the number of a state"
        self.refuse(targets > LARGEST, target, lines, message)
        self.targets.append(targets)
        self.probabilities.append(self.values(weight, lines))

    def values(self, texts: Any, lines: Int64s) -> Floats:
        """Return the values of `texts`, which are numbers or fractions."""
        try:
            return np.asarray(texts.cast(pa.float64()))
        except pa.ArrowInvalid:
            return np.array([self.number(text, line) for text, line in zip(texts.to_pylist(), lines, strict=True)])

    def model(self) -> Explicit:
        """Return the model that was read."""
        for section, count in (("@nr_states", self.states), ("@nr_choices", self.choices)):
            if self.header.get(section, str(count)) != str(count):
                declared = self.header[section]
                raise FileError(f"{section} says {declared:.30}, but the file has {count}; export the model again")
        self.state_choices.append(np.array([self.choices]))
        self.choice_branches.append(np.array([self.branches]))
        targets, labels = self.targets.array(), self.labels.array()
        largest = int(targets.max(initial=0))
        if largest >= max(self.states, 1):
            raise FileError(f"a branch leads to state {largest}, but there are only {self.states} states")
        by_label: dict[str, list[int]] = {}
        for code, text in enumerate(self.labels.names().to_pylist()):
            for quoted, bare in LABEL.findall(text):
                by_label.setdefault(quoted or bare, []).append(code)
        names = self.header.get("@reward_models", "").split()
        most = max((part.shape[1] for part in self.state_rewards + self.choice_rewards), default=0)
        names += [f"rew{index}" for index in range(len(names), most)]  # Storm gives these names to unnamed rewards
        # A choice without a line "action" has no name.
        names_of_actions = [name or "0" for name in self.actions.names().to_pylist()]
        actions, action_names = in_order(self.actions.array(), names_of_actions)
        return Explicit(
            self.state_choices.array(),
            self.choice_branches.array(),
            targets,
            self.probabilities.array(),
            np.flatnonzero(np.isin(labels, by_label.pop("init", []))),
            {name: partial(np.isin, labels, codes) for name, codes in by_label.items()},
            {name: partial(self.reward, index) for index, name in enumerate(names)},
            actions,
            ["" if name == NO_LABEL else name for name in action_names],
            [self.names.get(state, str(state)) for state in range(self.states)] if self.names else None,
        )

    def reward(self, index: int) -> Reward:
        """Return the reward structure with this `index`."""
        columns = (
            np.concatenate([part[:, index] if index < part.shape[1] else np.zeros(len(part)) for part in parts])
            for parts in (self.state_rewards, self.choice_rewards)
        )
        return Reward(*columns)

    @staticmethod
    def number(text: str, line: int) -> float:
        """Return the value of a number or a fraction."""
        try:
            parts = FRACTION.fullmatch(text)
            return int(parts[1]) / int(parts[2]) if parts else float(text)
        except (ValueError, ZeroDivisionError, OverflowError):
            what = "is not a number; intervals and parameters are not supported"
            raise FileError(f"line {line}: {text!r:.40} {what}") from None


def in_order(actions: Int32s, names: list[str]) -> tuple[Int64s, list[str]]:
    """Return renumbered actions and reordered names: numeric names by number, others by first appearance."""
    distinct = list(dict.fromkeys(names))
    if all(name.isdecimal() and len(name) < 10 for name in distinct):
        distinct.sort(key=int)
    place = {name: index for index, name in enumerate(distinct)}
    return np.array([place[name] for name in names], dtype=np.int64)[actions], distinct


def starts(texts: Any, prefix: str) -> Bools:
    """Return for each of `texts` whether the text starts with `prefix`."""
    return np.asarray(compute.starts_with(texts, prefix))


def write(path: Path, ssp: SSP) -> None:
    """Write a model to a DRN file, with the label ``goal``, the reward ``cost``, and state names as comments."""
    model = choices_of(ssp)
    given = [ssp.action_name(action) or NO_LABEL for action in range(ssp.actions)]
    plain = ("".join(c if c.isprintable() else " " for c in name) for name in given)
    names = unique_names(["_".join(name.split()) or "_" for name in plain])
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
    write_bytes(path, content)
