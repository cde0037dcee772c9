"""Conversion of observations to state numbers, and of action numbers to the actions of ``env.step``.

An encoding is plain data. It is saved with the task, the agent and the policy, and needs neither the environment nor
Gymnasium. Observations are numbered in one of two ways.

* **Fixed.** The observations form a finite space: integers in a range, arrays of integers, tuples or dicts. The number
  of an observation is computed from its components as in `numpy.ravel_multi_index` (the last component varies fastest).
* **Open-ended.** The key of an observation is the observation itself, or ``key(observation)``. A new key gets the next
  free number, up to `max_states`. Keys are numbers, strings, bytes, None, or tuples of keys.

A finite space is described by a dict: ``{"kind": "discrete", "n": 4, "start": 0}``, ``{"kind": "array", "n": [5, 5],
"start": [0, 0], "shape": [2]}``, ``{"kind": "tuple", "parts": [...]}``, ``{"kind": "dict", "parts": [["row", ...]]}``.
`goalward.environments.spaces` makes this dict from a Gymnasium space.
"""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from goalward.errors import StateError

MAX_STATES = 1000
"""The default largest number of states of an open-ended numbering."""
LONGEST_NAME = 40
Space = dict[str, Any]
Reader = Callable[[Any], int]


class Encoding:
    """A numbering of the observations and actions of an environment.

    Parameters
    ----------
    observations, actions
        Finite spaces as dicts, described in the module. If `observations` is None, the numbering is open-ended.
    max_states, key, keys
        Only for open-ended numberings. `max_states` is the largest number of states. The function `key` returns the key
        of an observation (by default, the observation is the key). `keys` are the keys numbered so far.
    needs_key
        Whether a function made the keys. Files cannot store functions, so pass the function as `key` again.
    give_up
        Whether there is an additional last action that gives up.
    action_names
        The names of the actions, except giving up.

    Examples
    --------
    >>> rooms = {"kind": "discrete", "n": 3, "start": 1}
    >>> flag = {"kind": "discrete", "n": 2, "start": 0}
    >>> place = {"kind": "dict", "parts": [["room", rooms], ["open", flag]]}
    >>> encoding = Encoding(place, flag, give_up=True, action_names=["wait", "go"])
    >>> encoding.state({"room": 2, "open": 1}), encoding.name(3), encoding.action_name(2)
    (3, 'room 2, open 1', 'give up')
    """

    def __init__(
        self,
        observations: Space | None,
        actions: Space,
        *,
        max_states: int = MAX_STATES,
        key: Callable[[Any], Hashable] | None = None,
        keys: Iterable[Hashable] = (),
        needs_key: bool = False,
        give_up: bool = False,
        action_names: Sequence[str] | None = None,
    ):
        self.observations, self.action_space = observations, actions
        self.states = max_states if observations is None else size(observations)
        self.actions = size(actions)
        self.key, self.needs_key = key, needs_key or key is not None
        self.numbers = {key: number for number, key in enumerate(keys)}
        self.give_up = give_up
        self.action_names = None if action_names is None else tuple(action_names)

    @property
    def keys(self) -> list[Hashable]:
        """The keys numbered so far."""
        return list(self.numbers)

    @cached_property
    def read(self) -> Reader:
        """The function that maps observations of a finite space to numbers."""
        assert self.observations is not None
        return reader(self.observations)

    def state(self, observation: Any) -> int:
        """Return the number of an `observation`; raise StateError if the observation is not allowed."""
        if self.observations is None:
            return self.open_state(observation)
        try:
            return self.read(observation)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise StateError(
                f"the observation {brief(observation)} is not in observation_space, which allows only"
                f" {description(self.observations)}; correct the observation or the space, or pass key=function to"
                " gw.Environment, which numbers the observations as they appear"
            ) from None

    def action(self, number: int) -> Any:
        """Return the argument of ``env.step`` for an action, or None for giving up, which resets the environment."""
        return None if number == self.actions and self.give_up else value_of(self.action_space, number)

    def name(self, state: int) -> str:
        """Return a readable name of a `state`; different states have different names."""
        if state >= self.states:
            return "episode ended" if state == self.states else "start"
        if self.observations is not None:
            return text_of(value_of(self.observations, state))
        if state >= len(self.numbers):
            return f"unseen {state}"
        key = self.keys[state]
        text = key if isinstance(key, str) else repr(key)
        return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}... (state {state})"

    def action_name(self, number: int) -> str:
        """Return a readable name of the action `number`."""
        if number == self.actions and self.give_up:
            return "give up"
        return text_of(self.action(number)) if self.action_names is None else self.action_names[number]

    def find(self, observation: Any) -> int | None:
        """Return the number of an `observation`, or None if an open-ended numbering does not have it."""
        if self.observations is not None:
            return self.state(observation)
        return self.numbers.get(self.key_of(observation))

    def open_state(self, observation: Any) -> int:
        """Return the number of an `observation`; a new observation gets the next free number."""
        key = self.key_of(observation)
        number = self.numbers.get(key)
        if number is None:
            number = len(self.numbers)
            if number == self.states:
                raise StateError(
                    f"the environment returned {number + 1:,} different observations, the last one"
                    f" {brief(observation)}, but max_states is {self.states:,}; learn again with a larger max_states=,"
                    " or pass key=function to give similar observations the same key"
                )
            try:
                key = plain(key)
            except (ValueError, SyntaxError):
                raise StateError(
                    f"the environment returned {brief(key)}; keys of states must be numbers, strings, bytes, None or"
                    " tuples of these: pass a function that returns an allowed key, such as key=lambda observation:"
                    " str(observation)"
                ) from None
            self.numbers[key] = number
        return number

    def key_of(self, observation: Any) -> Hashable:
        """Return the key of an `observation`; raise StateError if the key is not hashable."""
        if self.key is None and self.needs_key:
            raise StateError("a function made the keys of the states; pass this function again as key=function")
        key = observation if self.key is None else self.key(observation)
        try:
            hash(key)
        except TypeError:
            source = "the environment returned the observation" if self.key is None else "the function key returned"
            raise StateError(
                f"{source} {brief(key)}, a {type(key).__name__}, which is not hashable; pass a function that returns"
                f" a number, string or tuple, such as key=lambda observation: {hashable_form(observation)}"
            ) from None
        return key

    def to_state(self) -> dict[str, Any]:
        """Return the encoding as plain data."""
        return {
            "observations": self.observations,
            "actions": self.action_space,
            "max_states": self.states,
            "keys": repr(self.keys),
            "needs_key": self.needs_key,
            "give_up": self.give_up,
            "action_names": None if self.action_names is None else list(self.action_names),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], key: Callable[[Any], Hashable] | None = None) -> Encoding:
        """Return the encoding from the data of `to_state`; `key` is the function that made the keys, if any."""
        try:
            return cls(**state | {"keys": literal_eval(state["keys"])}, key=key)
        except (SyntaxError, RecursionError) as error:
            raise ValueError(f"the keys of states cannot be read ({error})") from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "read"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.to_state() == other.to_state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        states = f"{len(self.numbers)} of {self.states}" if self.observations is None else f"{self.states}"
        return f"Encoding(states: {states}, actions: {self.actions}{' and giving up' if self.give_up else ''})"


def size(space: Space) -> int:
    """Return the number of values in a finite `space`."""
    if space["kind"] == "discrete":
        return int(space["n"])
    return math.prod(space["n"] if space["kind"] == "array" else [size(part) for _, part in parts_of(space)])


def parts_of(space: Space) -> list[tuple[Any, Space]]:
    """Return the components of a tuple or dict space with their indices or names."""
    parts = enumerate(space["parts"]) if space["kind"] == "tuple" else space["parts"]
    return [(name, part) for name, part in parts]


def reader(space: Space) -> Reader:
    """Return a function that maps the values of a finite `space` to numbers; other values raise an error."""
    if space["kind"] == "discrete":
        return integer_reader(space["n"], space["start"])
    shape = tuple(space["shape"]) if space["kind"] == "array" else None
    if shape is None:
        digits = [(name, size(part), reader(part)) for name, part in parts_of(space)]
    else:
        limits = zip(space["n"], space["start"], strict=True)
        digits = [(index, n, integer_reader(n, start)) for index, (n, start) in enumerate(limits)]

    def read(value: Any) -> int:
        if shape is not None:
            array = np.asarray(value)
            value = array.ravel().tolist() if array.shape == shape else ()
        if len(value) != len(digits):
            raise ValueError
        number = 0
        for name, count, digit in digits:
            number = number * count + digit(value[name])
        return number

    return read


def integer_reader(n: int, start: int) -> Reader:
    def read(value: Any) -> int:
        try:
            number = index(value)
        except TypeError:
            if not isinstance(value, float | np.floating) or int(value) != value:
                raise
            number = int(value)
        if 0 <= number - start < n:
            return number - start
        raise ValueError

    return read


def value_of(space: Space, number: int) -> Any:
    """Return the value whose number in a finite `space` is `number`."""
    if space["kind"] == "discrete":
        return number + space["start"]
    if space["kind"] == "array":
        digits = np.array(np.unravel_index(number, space["n"]), dtype=np.int64) + space["start"]
        return digits.reshape(space["shape"])
    values = []
    for name, part in reversed(parts_of(space)):
        number, digit = divmod(number, size(part))
        values.append((name, value_of(part, digit)))
    return dict(values[::-1]) if space["kind"] == "dict" else tuple(value for _, value in values[::-1])


def text_of(value: Any) -> str:
    """Return a value of a finite space as text."""
    if isinstance(value, dict):
        forms = {name: "{} ({})" if isinstance(part, dict) else "{} {}" for name, part in value.items()}
        return ", ".join(forms[name].format(name, text_of(part)) for name, part in value.items())
    if isinstance(value, tuple | np.ndarray):
        return f"({', '.join(map(text_of, np.ravel(value) if isinstance(value, np.ndarray) else value))})"
    return str(value)


def description(space: Space) -> str:
    """Describe in words which values a finite `space` allows."""
    if "parts" in space:
        parts = ", ".join(f"{name}: {description(part)}" for name, part in parts_of(space))
        return f"a {space['kind']} of ({parts})"
    if space["kind"] == "discrete":
        return f"an integer in {space['start']}..{space['start'] + space['n'] - 1}"
    ranges = [f"{start}..{start + n - 1}" for n, start in zip(space["n"], space["start"], strict=True)]
    return f"integers of shape {tuple(space['shape'])} in {', '.join(ranges[:6])}{', ...' * (len(ranges) > 6)}"


def brief(value: Any) -> str:
    """Return a value as a short text in one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def hashable_form(value: Any, name: str = "observation") -> str:
    """Return a Python expression that converts the observation `value`, named `name`, to a hashable key."""
    if isinstance(value, np.ndarray):
        return f"tuple({name}.ravel().tolist())"
    if isinstance(value, dict | list | tuple) and len(value) <= 6:
        entries = list(value.items() if isinstance(value, dict) else enumerate(value))
        return f"({', '.join(hashable_form(entry, f'{name}[{index!r}]') for index, entry in entries)},)"
    return name if isinstance(value, Hashable) else f"str({name})"


def plain(key: Hashable) -> Hashable:
    """Return `key` converted to Python's own types; raise ValueError or SyntaxError if a file cannot store `key`."""
    value: Any = key.item() if isinstance(key, np.generic) else key
    value = tuple(map(plain, value)) if isinstance(value, tuple) else value
    if literal_eval(repr(value)) != value:
        raise ValueError
    return value  # type: ignore[no-any-return]
