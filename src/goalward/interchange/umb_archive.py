"""The members of a UMB file, and its index.

A file is a tar, plain or packed with gzip or xz. Its ``index.json`` says how many states, choices and branches there
are and which labels and rewards; the other members are arrays of little-endian numbers. Every size is checked against
the index, and every number against what it counts, before any of it is used.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError
from goalward.interchange.compression import read_packed, tar_members

__all__ = ["SIZES", "VERSION", "Archive"]

VERSION = 1
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
NAMES = {int: "an integer", str: "a text", dict: "an object", list: "a list"}
SIZES = {"double": 64, "bool": 1, "rational": 128}


class Archive:
    """The members of a UMB file and its index; what is taken out is checked."""

    def __init__(self, path: Path):
        self.members = tar_members(read_packed(path))
        if not self.members:
            raise FileError("holds no files; a .umb file is a tar, plain or packed with gzip or xz")
        if "index.json" not in self.members:
            raise FileError("has no member index.json; it is a tar, but not a UMB file")
        self.index = self.json("index.json")
        version = self.entry("format-version", int, self.index)
        if version != VERSION:
            raise FileError(f"is written in version {version} of UMB; version {VERSION} is read")
        system = self.entry("transition-system", dict, self.index)
        self.system = system
        self.check_kind()
        self.states = self.count("#states", 1)
        self.choices = self.count("#choices")
        self.branches = self.count("#branches")

    def json(self, name: str) -> Any:
        """Return what a member in JSON says."""
        try:
            return json.loads(bytes(self.members[name]).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileError(f"{name} is damaged ({error}); write the file again") from None

    def entry(self, name: str, kind: type, mapping: Any) -> Any:
        """Return an entry of the index that must be there."""
        value = mapping.get(name) if isinstance(mapping, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise FileError(f"index.json: {name!r} is {value!r:.60}; it must be {NAMES[kind]}")
        return value

    def count(self, name: str, least: int = 0) -> int:
        """Return how many of something there are."""
        value = int(self.entry(name, int, self.system))
        if not least <= value <= LARGEST:
            raise FileError(f"index.json: {name!r} is {value}; it must lie in {least}..{LARGEST}")
        return value

    def check_kind(self) -> None:
        """Refuse what is no Markov decision process."""
        time = self.system.get("time")
        if time != "discrete":
            raise FileError(f"has {time!r:.40} time; only models with discrete time are read: export the embedded MDP")
        players = self.count("#players")
        if players > 1:
            raise FileError(f"is a game of {players} players; only models with one player are read")
        if self.count("#observations"):
            raise FileError("has observations; only fully observable models are read: export the underlying MDP")
        if "branch-probability-type" not in self.system:
            raise FileError("has no probabilities; only models with probabilities are read")

    def array(self, name: str, dtype: str, size: int) -> NDArray[Any]:
        """Return the numbers of a member, which must be there."""
        if name not in self.members:
            raise FileError(f"has no member {name}, which this model needs; write the file again")
        body = self.members[name]
        wanted = size * np.dtype(dtype).itemsize
        if len(body) != wanted:
            raise FileError(f"{name} has {len(body):,} bytes; {size:,} entries need {wanted:,}")
        return np.frombuffer(body, dtype=dtype)

    def bits(self, name: str, size: int) -> Bools:
        """Return a set; a member that is absent is the empty set."""
        if name not in self.members:
            return np.zeros(size, dtype=np.bool_)
        words = self.array(name, "<u8", -(-size // 64))
        return np.unpackbits(words.view(np.uint8), bitorder="little", count=size).astype(np.bool_)

    def pointers(self, name: str, size: int, total: int) -> Int64s:
        """Return compressed rows; an absent member gives each of them one entry."""
        if name not in self.members:
            if size != total:
                raise FileError(f"has no member {name}, but {size} and {total} are not one each; write the file again")
            return np.arange(size + 1, dtype=np.int64)
        found = self.array(name, "<u8", size + 1)
        if found[0] != 0 or found[-1] != total or (found[1:] < found[:-1]).any():
            raise FileError(f"{name} must rise from 0 to {total}; it does not")
        return found.astype(np.int64)

    def numbers(self, name: str, kind: Any, size: int) -> Floats:
        """Return real numbers, stored as doubles or as fractions of 64-bit integers."""
        type_name = self.entry("type", str, kind)
        bits = kind.get("size", SIZES.get(type_name))
        if type_name not in ("double", "rational") or bits != SIZES[type_name]:
            raise FileError(
                f"{name} holds numbers of type {type_name} with {bits!r:.20} bits; doubles and fractions of 128 bits"
                " are read: export the model with doubles"
            )
        if type_name == "double":
            return self.array(name, "<f8", size).astype(np.float64)
        parts = self.array(name, "<i8", 2 * size)
        bottom = parts[1::2].view("<u8").astype(np.float64)
        if not bottom.all():
            raise FileError(f"{name}: the denominator of entry {int(np.argmin(bottom))} is 0")
        quotients: Floats = parts[::2].astype(np.float64) / bottom
        return quotients

    def texts(self, folder: str, size: int) -> list[str] | None:
        """Return the strings of a folder; None if it has none."""
        if f"{folder}/string-mapping.bin" not in self.members:
            return None
        strings = bytes(self.members.get(f"{folder}/strings.bin", b""))
        ends = self.pointers(f"{folder}/string-mapping.bin", size, len(strings)).tolist()
        try:
            return [strings[low:high].decode("utf-8") for low, high in itertools.pairwise(ends)]
        except UnicodeDecodeError:
            raise FileError(f"{folder}/strings.bin is not UTF-8; write the file again") from None

    def annotations(self, group: str) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return folder and description of the annotations of a group, by alias."""
        groups = self.index.get("annotations", {})
        if not isinstance(groups, dict) or not isinstance(groups.get(group, {}), dict):
            raise FileError(f"index.json: the annotations of {group!r} must be an object")
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        for id, about in groups.get(group, {}).items():
            self.entry("applies-to", list, about)
            self.entry("type", dict, about)
            alias = about.get("alias", id)
            if not isinstance(alias, str) or alias in found:
                raise FileError(
                    f"index.json: {id!r:.60} of {group!r} has the alias {alias!r:.60}; give it one of its own"
                )
            found[alias] = (f"annotations/{group}/{id}", about)
        return found
