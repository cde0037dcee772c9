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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import FileError
from goalward.interchange.explicit import Explicit, Reward, choices_of, plain_names
from goalward.interchange.umb import read_packed, tar_bytes, tar_members, write_packed
from goalward.jit import kernel, lightly

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

BLANK = re.compile(rb"[ \t\r\n]*\n")
LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
FRACTION = re.compile(r"(-?[0-9]{1,300})\s*/\s*([0-9]{1,300})")
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
NO_LABEL = "__NOLABEL__"
Bytes = NDArray[np.uint8]
NEWLINE, SPACE, PLUS, MINUS, POINT, SLASH, DIGIT, COLON, OPEN, CLOSE, LETTER_E = b"\n +-./0:[]e"
STATE, ACTION = np.frombuffer(b"state ", dtype=np.uint8), np.frombuffer(b"action ", dtype=np.uint8)
POWERS: Floats = np.array([10.0**power for power in range(23)])  # all of them are doubles
POWERS.flags.writeable = False
MOST_TEXTS = 1 << 22  # beyond them, equal texts may get several numbers
MOST_PROBES = 16
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
        content = bytearray(members[0])
    return Parser(content).model().rows(**options)


class Parser:
    """Reads the header line by line and the rest in one compiled pass (`scan`).

    The pass gives a number to each distinct text that follows a state or an action, and to each number that is not a
    short decimal; these few texts are understood in Python.
    """

    def __init__(self, content: bytearray):
        self.content = content
        self.at = self.offset = 0  # the number of the line that was read last, and where the next one begins
        self.header: dict[str, str] = {}
        self.placeholders: dict[str, float] = {}
        if not content.isascii():
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                line = content.count(b"\n", 0, error.start)
                raise FileError(f"is not UTF-8 after line {line}; a .drn file is text") from None

    def fault(self, message: str) -> FileError:
        """Return the error for the line that was read last."""
        return FileError(f"line {self.at}: {message}")

    def next_line(self) -> str | None:
        """Return the next line without spaces around it; None at the end."""
        if self.offset >= len(self.content):
            return None
        end = self.content.find(b"\n", self.offset)
        end = len(self.content) if end < 0 else end
        line = self.text(self.offset, end).strip()
        self.at, self.offset = self.at + 1, end + 1
        return line

    def text(self, start: int, end: int) -> str:
        """Return a part of the file."""
        return self.content[start:end].decode("utf-8", "replace")

    def model(self) -> Explicit:
        """Read the whole file."""
        self.read_header()
        self.read_states()
        states, choices = len(self.state_texts), len(self.choice_texts)
        for section, count in (("@nr_states", states), ("@nr_choices", choices)):
            if self.header.get(section, str(count)) != str(count):
                declared = self.header[section]
                raise FileError(f"{section} says {declared:.30}, but the file has {count}; it is not complete")
        largest = int(self.targets.max(initial=0))
        if largest >= max(states, 1):
            raise FileError(f"a branch leads to state {largest}; there are {states} states")
        state_rests = {code: self.state_text(code) for code in codes_in(self.state_texts)}
        labels: dict[str, list[int]] = {}
        for code, (_, names) in state_rests.items():
            for name in names:
                labels.setdefault(name, []).append(code)
        choice_rests = {code: self.choice_text(code) for code in codes_in(self.choice_texts)}
        self.rewards = (
            {code: inside for code, (inside, _) in state_rests.items()},
            {code: inside for code, (_, inside) in choice_rests.items()},
        )
        return Explicit(
            self.state_choices,
            self.choice_branches,
            self.targets,
            self.probabilities,
            np.flatnonzero(self.label(labels.pop("init", []))),
            {name: partial(self.label, codes) for name, codes in labels.items()},
            {name: partial(self.reward, index) for index, name in enumerate(self.reward_names())},
            *self.choice_labels({code: name for code, (name, _) in choice_rests.items()}),
            self.state_names(),
        )

    def read_header(self) -> None:
        """Read all up to the line @model."""
        section = ""
        while (line := self.next_line()) != "@model":
            if line is None:
                raise FileError("has no line @model; it is not a DRN file, or not complete")
            if not line or line.startswith("//"):
                blank = BLANK.match(self.content, self.offset)  # a hostile file may have millions of empty lines
                if blank:
                    self.at, self.offset = self.at + blank[0].count(b"\n"), blank.end()
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
        content = np.frombuffer(self.content, dtype=np.uint8)
        content.flags.writeable = False
        states = self.content.count(b"state ", self.offset)
        choices = states + self.content.count(b"action ", self.offset)
        branches = self.content.count(b":", self.offset)
        texts = states + choices + branches
        found = Scan(
            np.zeros(6, dtype=np.int64),
            np.empty(states + 1, dtype=np.int64),
            np.empty(choices + 1, dtype=np.int64),
            np.empty(branches, dtype=np.int64),
            np.empty(branches),
            np.empty(states, dtype=np.int32),
            np.empty(choices, dtype=np.int32),
            np.empty((states, 2), dtype=np.int64),
            np.empty((branches, 2), dtype=np.int64),
            np.empty((texts + 1, 3), dtype=np.int64),
            np.full(1 << max(4, (2 * min(texts, MOST_TEXTS)).bit_length()), -1, dtype=np.int32),
        )
        fault, start, end = lightly(scan, len(content))(content, self.offset, self.at, POWERS, found)
        states, choices, branches, numbers, self.named, self.at = found.counts.tolist()
        if fault:
            line = self.text(start, end)
            messages = (
                f"state {line!r:.30} is out of order; states are numbered from 0 without gaps",
                "an action before the first state",
                f"{line!r:.60} is neither a state nor an action nor a branch",
                f"a branch leads to {line!r:.30}; it must be the number of a state",
            )
            raise self.fault(messages[fault - 1])
        self.spans, self.names = found.spans, found.names[:states]
        self.state_choices, self.choice_branches = (
            found.state_choices[: states + 1],
            found.choice_branches[: choices + 1],
        )
        self.targets, self.probabilities = found.targets[:branches], found.probabilities[:branches]
        self.state_texts, self.choice_texts = found.state_texts[:states], found.choice_texts[:choices]
        where, codes = found.numbers[:numbers].T
        if numbers:
            values = {code: self.number(self.span(code)) for code in codes_in(codes)}
            table = np.zeros(int(codes.max()) + 1)
            table[list(values)] = list(values.values())
            self.probabilities[where] = table[codes]

    def span(self, code: int) -> str:
        """Return a numbered text; its line becomes the one that was read last."""
        start, end, self.at = self.spans[code].tolist()
        return self.text(start, end)

    def state_text(self, code: int) -> tuple[str, list[str]]:
        """Read ``[0, 1] label "another label"``: what the bracket holds, and the labels."""
        rest = self.span(code)
        for sign, what in (("!", "a rate"), ("{", "an observation")):
            if rest.startswith(sign):
                raise self.fault(f"the state has {what}; only models without are read")
        inside, rest = self.take_rewards(rest)
        return inside, [quoted or bare for quoted, bare in LABEL.findall(rest)]

    def choice_text(self, code: int) -> tuple[str, str]:
        """Read ``right [1, 1]``: the name, and what the bracket holds."""
        name, _, rest = self.span(code).partition(" ")
        inside, left = self.take_rewards(rest.strip())
        if left:
            raise self.fault(f"{left!r:.40} follows the action; only rewards in brackets may")
        return name or "0", inside  # the one choice of a state need not be named

    def take_rewards(self, rest: str) -> tuple[str, str]:
        """Return what is in brackets at the start of a text, and what follows."""
        if not rest.startswith("["):
            return "", rest
        inside, bracket, rest = rest[1:].partition("]")
        if not bracket:
            raise self.fault("a bracket is not closed")
        return inside, rest.strip()

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

    def label(self, codes: list[int]) -> Bools:
        """Return the states whose texts are among these."""
        return np.isin(self.state_texts, codes)

    def reward_names(self) -> list[str]:
        """Return the names in the header; Storm calls rewards without names rew0, rew1 and so on."""
        names = self.header.get("@reward_models", "").split()
        most = max((text.count(",") + 1 for texts in self.rewards for text in texts.values() if text), default=0)
        return names + [f"rew{index}" for index in range(len(names), most)]

    def reward(self, index: int) -> Reward:
        """Return one of the rewards of states and choices."""
        columns = []
        for codes, texts in zip((self.state_texts, self.choice_texts), self.rewards, strict=True):
            values = np.zeros(len(self.spans))
            for code, text in texts.items():
                numbers = text.split(",") if text else []
                self.at = int(self.spans[code, 2])
                values[code] = self.number(numbers[index].strip()) if index < len(numbers) else 0.0
            columns.append(values[codes])
        return Reward(*columns)

    def choice_labels(self, by_code: dict[int, str]) -> tuple[Int64s, list[str]]:
        """Return the action of each choice as a number, and the names of the numbers."""
        names = list(dict.fromkeys(by_code.values()))
        if all(name.isdecimal() and len(name) < 10 for name in names):
            names.sort(key=int)
        numbers = {name: number for number, name in enumerate(names)}
        table = np.zeros(len(self.spans), dtype=np.int64)
        for code, name in by_code.items():
            table[code] = numbers[name]
        return table[self.choice_texts], ["" if name == NO_LABEL else name for name in names]

    def state_names(self) -> list[str] | None:
        """Return the names in comments; None if there are none."""
        if not self.named:
            return None
        spans = enumerate(self.names.tolist())
        return [" ".join(self.text(*span).split()) if span[0] else str(state) for state, span in spans]


def codes_in(codes: Int32s | Int64s) -> list[int]:
    """Return which codes occur."""
    return np.flatnonzero(np.bincount(codes)).tolist()


class Scan(NamedTuple):
    """What `scan` writes.

    `counts` has the numbers of states, choices, branches, odd numbers and named states, and the last line. The texts
    of states and choices are numbered: ``spans[code]`` is where a text starts and ends, and its line. ``names[state]``
    is where a name starts and ends (0 if there is none). ``numbers[i]`` is a branch and the text of its probability.
    """

    counts: Int64s
    state_choices: Int64s
    choice_branches: Int64s
    targets: Int64s
    probabilities: Floats
    state_texts: Int32s
    choice_texts: Int32s
    names: Int64s
    numbers: Int64s
    spans: Int64s
    table: Int32s


@kernel
def scan(text: Bytes, offset: int, line: int, powers: Floats, found: Scan) -> tuple[int, int, int]:
    """Read all lines from an offset on; return the number of a fault and where it is, or zeros."""
    counts = found.counts
    states, choices, branches, numbers, named = 0, 0, 0, 0, 0
    used = min(0, offset)  # a literal would compile `intern` twice
    fresh = False  # whether the last line was that of a state
    fault, start, end = 0, 0, 0
    while offset < text.size and fault == 0:
        line += 1
        start = offset
        while offset < text.size and text[offset] != NEWLINE:
            offset += 1
        end = offset
        offset += 1
        while start < end and text[start] <= SPACE:
            start += 1
        while start < end and text[end - 1] <= SPACE:
            end -= 1
        if start == end:
            continue
        if text[start] == SLASH and start + 1 < end and text[start + 1] == SLASH:
            if fresh and end - start > 3 and text[start + 2] == OPEN and text[end - 1] == CLOSE:
                named += found.names[states - 1, 0] == 0
                found.names[states - 1, 0] = start + 3
                found.names[states - 1, 1] = end - 1
            continue
        is_state = starts_with(text, start, end, STATE)
        if is_state or starts_with(text, start, end, ACTION):
            start += STATE.size if is_state else ACTION.size
            if is_state:
                number = np.int64(0)
                rest = start
                while rest < end and DIGIT <= text[rest] < DIGIT + 10 and rest - start < 12:
                    number = 10 * number + np.int64(text[rest]) - DIGIT
                    rest += 1
                if (rest < end and text[rest] > SPACE) or number != states or (text[start] == DIGIT) != (number == 0):
                    while end > start and rest < end and text[rest] > SPACE:
                        rest += 1
                    fault, end = 1, rest
                    break
                start = rest
            elif states == 0:
                fault = 2
                break
            while start < end and text[start] <= SPACE:
                start += 1
            code = intern(text, start, end, line, found.spans, used, found.table)
            used = max(used, code + 1)
            if is_state:
                found.state_texts[states] = code
                found.state_choices[states] = choices
                found.names[states, 0] = 0
                states += 1
            else:
                found.choice_texts[choices] = code
                found.choice_branches[choices] = branches
                choices += 1
            fresh = is_state
            continue
        colon = start
        while colon < end and text[colon] != COLON:
            colon += 1
        if colon == end or states == 0:
            fault = 3
            break
        if fresh:  # a choice without a line of its own
            code = intern(text, start, start, line, found.spans, used, found.table)
            used = max(used, code + 1)
            found.choice_texts[choices] = code
            found.choice_branches[choices] = branches
            choices += 1
            fresh = False
        target = np.int64(0)
        place = start
        while place < colon and DIGIT <= text[place] < DIGIT + 10 and target <= LARGEST:
            target = 10 * target + np.int64(text[place]) - DIGIT
            place += 1
        after = place
        while after < colon and text[after] <= SPACE:
            after += 1
        if place == start or after < colon or target > LARGEST or choices == 0:
            while colon > start and text[colon - 1] <= SPACE:
                colon -= 1
            fault, end = 4, colon
            break
        found.targets[branches] = target
        colon += 1
        while colon < end and text[colon] <= SPACE:
            colon += 1
        value = decimal(text, colon, end, powers)
        found.probabilities[branches] = value
        if not value >= 0.0:
            code = intern(text, colon, end, line, found.spans, used, found.table)
            used = max(used, code + 1)
            found.numbers[numbers, 0] = branches
            found.numbers[numbers, 1] = code
            numbers += 1
        branches += 1
    found.state_choices[states] = choices
    found.choice_branches[choices] = branches
    counts[0], counts[1], counts[2] = states, choices, branches
    counts[3], counts[4], counts[5] = numbers, named, line
    return fault, start, end


@kernel
def starts_with(text: Bytes, start: int, end: int, word: Bytes) -> bool:
    """Return whether a part of a text starts with a word."""
    same = end - start >= word.size
    for index in range(word.size if same else 0):
        same &= text[start + index] == word[index]
    return bool(same)


@kernel
def intern(text: Bytes, start: int, end: int, line: int, spans: Int64s, used: int, table: Int32s) -> int:
    """Return the number of a text, the next one if it is new or looking for it takes long."""
    code = np.int64(0)
    for index in range(start, end):
        code = (31 * code + np.int64(text[index])) & 0x3FFFFFFF
    slot = code & (table.size - 1)
    for _ in range(MOST_PROBES):
        known = table[slot]
        if known < 0:
            table[slot] = used
            break
        first = spans[known, 0]
        if spans[known, 1] - first == end - start:
            same = True
            for index in range(end - start):
                if text[first + index] != text[start + index]:
                    same = False
                    break
            if same:
                return int(known)
        slot = (slot + 1) & (table.size - 1)
    spans[used, 0] = start
    spans[used, 1] = end
    spans[used, 2] = line
    return used


@kernel
def decimal(text: Bytes, start: int, end: int, powers: Floats) -> float:
    """Return the number nearest to a short decimal such as 0.25 or 1e-3; NaN for all other texts.

    With up to 2^53 as an integer and a power of ten that is a double, one division or product rounds once.
    """
    digits = scale = np.int64(0)
    place = start
    point = False
    while place < end and digits < 100_000_000_000_000_000:
        character = np.int64(text[place])
        if DIGIT <= character < DIGIT + 10:
            digits = 10 * digits + character - DIGIT
            scale -= point
        elif character == POINT and not point:
            point = True
        else:
            break
        place += 1
    if place == start or place - start == point:
        return np.nan
    if place < end and (text[place] | 32) == LETTER_E:
        place += 1
        negative = place < end and text[place] == MINUS
        place += place < end and (text[place] == MINUS or text[place] == PLUS)
        power = np.int64(0)
        first = place
        while place < end and DIGIT <= text[place] < DIGIT + 10 and place - first < 4:
            power = 10 * power + np.int64(text[place]) - DIGIT
            place += 1
        if place == first:
            return np.nan
        scale += -power if negative else power
    if place < end or digits > 1 << 53 or abs(scale) >= powers.size:
        return np.nan
    value: float = digits / powers[-scale] if scale < 0 else digits * powers[scale]
    return value


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
