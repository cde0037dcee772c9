"""Reads and writes models in UMB, the Unified Markov Binary format of PRISM, Storm and Modest (version 1).

A file is a tar archive, plain or compressed with gzip or xz. The member ``index.json`` says how many states, choices
and branches there are, and lists the labels and rewards. The other members are arrays of little-endian numbers. Because
files may be hostile, `read` decompresses only up to a limit and checks every size and every index before use.
`explicit.py` defines the meaning of a model.

`read` accepts Markov chains and Markov decision processes, but no games, intervals, observations or continuous time.
`write` stores the label ``goal``, the reward ``cost`` of choices, and the names of actions. The names of states are in
the member ``goalward/state-names.json``, because Storm accepts no other strings. In files of other tools, a state
is named after the values of its variables.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalward import __version__
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError
from goalward.files import write_bytes
from goalward.interchange.explicit import Explicit, Reward, choices_of
from goalward.progress import phase

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

VERSION = 1
LARGEST = (1 << 31) - 2  # states are numbered with 32 bits in a model
LARGEST_FILE = 1 << 32
MOST_MEMBERS = 10_000
PIECE = 1 << 19
GZIP, XZ = b"\x1f\x8b\x08", b"\xfd7zXZ\0"
JSON_TYPES = {int: "an integer", str: "a text", dict: "an object", list: "a list"}
SIZES = {"double": 64, "bool": 1, "rational": 128}
STATE_NAMES = "goalward/state-names.json"
LARGEST_RECORDS = 1 << 24  # bytes; if the variables of all states take more, states get no names


def pieces(path: Path, limit: int = LARGEST_FILE) -> Iterator[bytes]:
    """Yield the content of a file in pieces. Content in gzip or xz format is decompressed."""
    try:
        with path.open("rb") as file, phase(f"reading {path.name}", path.stat().st_size >> 20, "MB") as entry:
            magic = file.read(6)
            file.seek(0)
            stream: Any = file
            if magic.startswith(GZIP):
                stream = gzip.GzipFile(fileobj=file)
            elif magic == XZ:
                stream = lzma.LZMAFile(file)  # noqa: SIM115 - the file it reads from is closed here
            left = limit
            while piece := stream.read(PIECE):
                left -= len(piece)
                if left < 0:
                    raise FileError(f"the file has more than {limit:,} bytes, which is the limit")
                yield piece
                entry.advance(file.tell() >> 20)
    except OSError as error:  # damaged gzip content also raises OSError
        raise FileError(f"{error.strerror or f'the file is damaged ({error})'}") from None
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileError(f"the file is damaged or incomplete ({error}); write the file again") from None


def read_packed(path: Path) -> io.BytesIO:
    """Return the decompressed content of a file."""
    content = io.BytesIO()
    for piece in pieces(path):
        content.write(piece)
    return content


def tar_members(content: io.BytesIO) -> dict[str, memoryview]:
    """Return the regular files of a tar archive by name. Nothing is copied or written to disk.

    Negative sizes, repeated names, sparse files and damaged headers raise errors. (`tarfile` accepts the first three,
    and treats a damaged header as the end of the archive.)
    """
    content.seek(0)
    view = content.getbuffer()
    members: dict[str, memoryview] = {}
    try:
        with tarfile.open(fileobj=content, mode="r:", encoding="utf-8", errors="strict") as tar:
            for count in itertools.count():
                member = tar.next()
                if member is None:
                    break
                if member.size < 0 or member.issparse() or tar.pax_headers:
                    raise FileError(f"the tar header at byte {member.offset} has an unknown size or kind")
                if member.offset_data + member.size > len(view):
                    raise FileError(f"the file is incomplete: it ends inside {member.name!r} of {member.size:,} bytes")
                name = member.name.removeprefix("./")
                if name in members:
                    raise FileError(f"the file contains {name!r} twice; write the file again")
                if count == MOST_MEMBERS:
                    raise FileError(f"the file contains more than {MOST_MEMBERS:,} files, which is the limit")
                if member.isreg():
                    members[name] = view[member.offset_data : member.offset_data + member.size]
            end = tar.offset
    except UnicodeDecodeError:
        raise FileError("the name of a tar member is not UTF-8; write the file again") from None
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise FileError(f"the file is damaged or is not a tar file ({error}); write the file again") from None
    if any(view[end : end + tarfile.BLOCKSIZE]):
        raise FileError(f"the file is damaged: no tar header at byte {end}; write the file again")
    return members


def tar_bytes(members: Mapping[str, bytes]) -> bytes:
    """Return a tar archive of some files. Equal files give equal bytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, body in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return archive.getvalue()


class Archive:
    """The members and the index of a UMB file. All methods check the data that they return."""

    def __init__(self, path: Path):
        self.members = tar_members(read_packed(path))
        if "index.json" not in self.members:
            raise FileError("the tar file has no member index.json, so it is no UMB file; choose a UMB file")
        self.index = self.json("index.json")
        version = self.entry("format-version", int, self.index)
        if version != VERSION:
            raise FileError(f"the file has version {version} of UMB, but goalward reads only version {VERSION}")
        self.system: dict[str, Any] = self.entry("transition-system", dict, self.index)
        self.check_kind()
        self.states = self.count("#states", 1)
        self.choices = self.count("#choices")
        self.branches = self.count("#branches")

    def json(self, name: str) -> Any:
        """Return the data of a JSON member."""
        try:
            return json.loads(bytes(self.members[name]).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileError(f"{name} is damaged ({error}); write the file again") from None

    def entry(self, name: str, kind: type, mapping: Any) -> Any:
        """Return a required entry of the index. Raise FileError if the entry is missing or has another type."""
        value = mapping.get(name) if isinstance(mapping, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise FileError(f"index.json: {name!r} is {value!r:.60}; it must be {JSON_TYPES[kind]}")
        return value

    def count(self, name: str, least: int = 0) -> int:
        """Return a count from the index. Raise FileError if the count is too small or too large."""
        value = int(self.entry(name, int, self.system))
        if not least <= value <= LARGEST:
            raise FileError(f"index.json: {name!r} is {value}; it must lie in {least}..{LARGEST}")
        return value

    def check_kind(self) -> None:
        """Raise FileError unless the model is a Markov decision process."""
        time = self.system.get("time")
        if time != "discrete":
            raise FileError(f"the model has {time!r:.40} time, which goalward cannot read; export the embedded MDP")
        players = self.count("#players")
        if players > 1:
            raise FileError(f"the model is a game of {players} players; goalward reads only models with one player")
        if self.count("#observations"):
            raise FileError("the model has observations, which goalward cannot read; export the underlying MDP")
        if "branch-probability-type" not in self.system:
            raise FileError("the model has no probabilities; goalward reads only models with probabilities")

    def array(self, name: str, dtype: str, size: int) -> NDArray[Any]:
        """Return the numbers in a required member of the archive."""
        if name not in self.members:
            raise FileError(f"the file has no member {name}, which this model needs; write the file again")
        body = self.members[name]
        wanted = size * np.dtype(dtype).itemsize
        if len(body) != wanted:
            raise FileError(f"{name} has {len(body):,} bytes, but {size:,} entries need {wanted:,} bytes")
        return np.frombuffer(body, dtype=dtype)

    def bits(self, name: str, size: int) -> Bools:
        """Return a set as truth values. If the archive has no member `name`, the set is empty."""
        if name not in self.members:
            return np.zeros(size, dtype=np.bool_)
        words = self.array(name, "<u8", -(-size // 64))
        return np.unpackbits(words.view(np.uint8), bitorder="little", count=size).astype(np.bool_)

    def pointers(self, name: str, size: int, total: int) -> Int64s:
        """Return where compressed rows start and end. If there is no member `name`, each row has one entry."""
        if name not in self.members:
            if size != total:
                raise FileError(f"the file needs a member {name}, as {size} and {total} differ; write the file again")
            return np.arange(size + 1, dtype=np.int64)
        limits = self.array(name, "<u8", size + 1)
        if limits[0] != 0 or limits[-1] != total or (limits[1:] < limits[:-1]).any():
            raise FileError(f"{name} does not increase from 0 to {total}; write the file again")
        return limits.view(np.int64)

    def numbers(self, name: str, kind: Any, size: int) -> Floats:
        """Return real numbers, which are stored as doubles or as fractions of 64-bit integers."""
        type_name = self.entry("type", str, kind)
        bits = kind.get("size", SIZES.get(type_name))
        if type_name not in ("double", "rational") or bits != SIZES[type_name]:
            raise FileError(f"{name} has numbers of type {type_name} with {bits!r:.20} bits; export numbers as doubles")
        if type_name == "double":
            return self.array(name, "<f8", size)
        parts = self.array(name, "<i8", 2 * size)
        bottom = parts[1::2].view("<u8").astype(np.float64)
        if not bottom.all():
            raise FileError(f"{name}: the denominator of entry {int(np.argmin(bottom))} is 0")
        quotients: Floats = parts[::2].astype(np.float64) / bottom
        return quotients

    def texts(self, folder: str, size: int) -> list[str] | None:
        """Return the strings of a folder in the archive, or None if the folder has no strings."""
        if f"{folder}/string-mapping.bin" not in self.members:
            return None
        strings = bytes(self.members.get(f"{folder}/strings.bin", b""))
        ends = self.pointers(f"{folder}/string-mapping.bin", size, len(strings)).tolist()
        try:
            return [strings[low:high].decode("utf-8") for low, high in itertools.pairwise(ends)]
        except UnicodeDecodeError:
            raise FileError(f"{folder}/strings.bin is not UTF-8; write the file again") from None

    def annotations(self, group: str) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the folder and the description of each annotation in `group`, by alias."""
        groups = self.index.get("annotations", {})
        if not isinstance(groups, dict) or not isinstance(groups.get(group, {}), dict):
            raise FileError(f"index.json: the annotations of {group!r} must be an object")
        folders: dict[str, tuple[str, dict[str, Any]]] = {}
        for id, about in groups.get(group, {}).items():
            self.entry("applies-to", list, about)
            self.entry("type", dict, about)
            alias = about.get("alias", id)
            if not isinstance(alias, str) or alias in folders:
                raise FileError(f"index.json: {id!r:.60} has the alias {alias!r:.60}; use a unique string")
            folders[alias] = (f"annotations/{group}/{id}", about)
        return folders


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read a UMB file and return the arguments of `SSP.from_rows`. `options` are passed to `Explicit.rows`."""
    return explicit(Archive(path)).rows(**options)


def explicit(archive: Archive) -> Explicit:
    """Return the model of an archive. Rewards and labels are read on first use."""
    state_choices = archive.pointers("state-to-choices.bin", archive.states, archive.choices)
    choice_branches = archive.pointers("choice-to-branches.bin", archive.choices, archive.branches)
    targets = archive.array("branch-to-target.bin", "<u8", archive.branches)
    if targets.max(initial=0) >= archive.states:
        branch = int(np.argmax(targets >= archive.states))
        raise FileError(f"branch {branch} leads to state {targets[branch]}, but there are only {archive.states} states")
    kind = archive.system["branch-probability-type"]
    actions, names = choice_actions(archive)
    return Explicit(
        state_choices,
        choice_branches,
        targets.view(np.int64),
        archive.numbers("branch-to-probability.bin", kind, archive.branches),
        np.flatnonzero(archive.bits("state-is-initial.bin", archive.states)),
        {
            name: partial(archive.bits, f"{folder}/states/values.bin", archive.states)
            for name, (folder, _) in archive.annotations("aps").items()
        },
        {name: partial(reward, archive, *entry) for name, entry in archive.annotations("rewards").items()},
        actions,
        names,
        state_names(archive),
    )


def reward(archive: Archive, folder: str, about: dict[str, Any]) -> Reward:
    """Return the rewards of states, choices and branches in a folder of the archive."""

    def values(entity: str, size: int) -> Floats | None:
        name = f"{folder}/{entity}/values.bin"
        if entity not in about["applies-to"] or name not in archive.members:
            return None
        return archive.numbers(name, about["type"], size)

    return Reward(
        values("states", archive.states), values("choices", archive.choices), values("branches", archive.branches)
    )


def choice_actions(archive: Archive) -> tuple[Int64s | None, list[str]]:
    """Return the action of each choice and the names of actions."""
    count = archive.count("#choice-actions") if "#choice-actions" in archive.system else 0
    names = archive.texts("actions/choices", count) if count else None
    if names is None or "actions/choices/values.bin" not in archive.members:
        return None, []
    values = archive.array("actions/choices/values.bin", "<u4", archive.choices)
    if (values >= count).any():
        choice = int(np.argmax(values >= count))
        raise FileError(f"choice {choice} has action {values[choice]}, but there are only {count} actions")
    return values.astype(np.int64), names


def state_names(archive: Archive) -> list[str] | None:
    """Return the names of states: names that goalward wrote, or values of variables, such as ``x=1,y=0``."""
    if STATE_NAMES not in archive.members:
        try:
            return valuations(archive)
        except (LookupError, TypeError, ValueError):  # an unknown kind of description; names are optional
            return None
    names = archive.json(STATE_NAMES)
    if not isinstance(names, list) or len(names) != archive.states or not all(isinstance(n, str) for n in names):
        raise FileError(f"{STATE_NAMES} must be a list of {archive.states} texts; write the file again")
    return names


def valuations(archive: Archive) -> list[str] | None:
    """Return the variables of each state as text. In a record, the first variable has the lowest bits."""
    (about,) = archive.index["valuations"]["states"]["classes"]
    body = archive.members["valuations/states/valuations.bin"]
    if len(body) > LARGEST_RECORDS:
        return None
    bits = np.unpackbits(np.frombuffer(body, np.uint8).reshape(archive.states, -1), axis=1, bitorder="little")
    columns, low = [], 0
    for variable in about["variables"]:
        if "padding" in variable:
            low += variable["padding"]
            continue
        kind = variable["type"]["type"]
        width = variable["type"].get("size", {"bool": 1, "int": 64, "uint": 64}[kind])
        digits = bits[:, low : low + width]
        if variable.get("is-optional") or digits.shape[1] != width or not 0 < width <= 64:
            return None
        powers = np.uint64(1) << np.arange(width, dtype=np.uint64)
        values = (digits * powers).sum(axis=1, dtype=np.uint64).tolist()
        if kind == "int":
            values = [value - (value >> (width - 1) << width) for value in values]
        shown = ("false", "true").__getitem__ if kind == "bool" else variable.get("offset", 0).__add__
        columns.append([f"{variable['name']}={shown(value)}" for value in values])
        low += width
    return [",".join(values) for values in zip(*columns, strict=True)] or None


def write(path: Path, ssp: SSP) -> None:
    """Write a model to a UMB file."""
    model = choices_of(ssp)
    names = [ssp.action_name(action) for action in range(ssp.actions)]
    members = {
        "state-to-choices.bin": model.state_choices.astype("<u8").tobytes(),
        "state-is-initial.bin": bitset(np.arange(ssp.states + 1) == ssp.initial_state),
        "choice-to-branches.bin": model.choice_branches.astype("<u8").tobytes(),
        "branch-to-target.bin": model.targets.astype("<u8").tobytes(),
        "branch-to-probability.bin": model.probabilities.astype("<f8").tobytes(),
        "actions/choices/values.bin": model.actions.astype("<u4").tobytes(),
        **string_members("actions/choices", names),
        "annotations/aps/goal/states/values.bin": bitset(np.arange(ssp.states + 1) == ssp.goal),
        "annotations/rewards/cost/choices/values.bin": model.costs.astype("<f8").tobytes(),
    }
    if ssp.state_names is not None:
        members[STATE_NAMES] = json.dumps([*ssp.state_names, "goal"]).encode()
    index = {
        "format-version": VERSION,
        "format-revision": 0,
        "file-data": {"tool": "goalward", "tool-version": __version__},
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": ssp.states + 1,
            "#initial-states": 1,
            "#choices": len(model.actions),
            "#choice-actions": len(names),
            "#branches": len(model.targets),
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": {"type": "double", "size": 64},
        },
        "annotations": {
            "aps": {"goal": described("states", "bool") | {"alias": "goal"}},
            "rewards": {"cost": described("choices", "double") | {"alias": "cost"}},
        },
    }
    content = tar_bytes({"index.json": json.dumps(index, indent=1).encode(), **members})
    write_bytes(path, gzip.compress(content, mtime=0))


def described(entity: str, kind: str) -> dict[str, Any]:
    return {"applies-to": [entity], "type": {"type": kind, "size": SIZES[kind]}}


def bitset(values: Bools) -> bytes:
    packed = np.packbits(values, bitorder="little").tobytes()
    return packed.ljust(-(-len(values) // 64) * 8, b"\0")


def string_members(folder: str, texts: Sequence[str]) -> dict[str, bytes]:
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)]).astype("<u8")
    return {f"{folder}/string-mapping.bin": ends.tobytes(), f"{folder}/strings.bin": b"".join(encoded)}
