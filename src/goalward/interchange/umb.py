"""Models in UMB, the Unified Markov Binary format of PRISM, Storm and Modest (version 1).

Markov chains and Markov decision processes are read; games, intervals, observations and continuous time are refused.
A written model has the label ``goal``, the reward ``cost`` of choices, and the names of actions. Storm knows no texts
but these, so the names of states are in a member of goalward's own, ``goalward/state-names.json``. `umb_archive.py`
says what a file holds, `explicit.py` what it means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward import __version__
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError
from goalward.interchange.compression import tar_bytes, write_packed
from goalward.interchange.explicit import Explicit, Reward, choices_of
from goalward.interchange.umb_archive import SIZES, VERSION, Archive
from goalward.interchange.umb_names import STATE_NAMES, state_names

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["Annotation", "explicit", "read", "write"]


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read what `SSP.from_rows` takes; the options are those of `Explicit.rows`."""
    archive = Archive(path)
    for option, group in (("goal", "aps"), ("cost", "rewards")):
        if option in options:
            options[option] = by_alias(options[option], archive.annotations(group))
    return explicit(archive).rows(**options)


def by_alias(given: Any, known: Mapping[str, tuple[str, Any]]) -> Any:
    """Return names with ids replaced by aliases."""
    if isinstance(given, list | tuple):
        return [by_alias(name, known) for name in given]
    aliases = {folder.rpartition("/")[2]: alias for alias, (folder, _) in known.items()}
    return given if given in known else aliases.get(given, given)


def explicit(archive: Archive) -> Explicit:
    """Return the model of an archive; rewards and labels are read when they are asked for."""
    state_choices = archive.pointers("state-to-choices.bin", archive.states, archive.choices)
    choice_branches = archive.pointers("choice-to-branches.bin", archive.choices, archive.branches)
    targets = archive.array("branch-to-target.bin", "<u8", archive.branches)
    if (targets >= archive.states).any():
        branch = int(np.argmax(targets >= archive.states))
        raise FileError(f"branch {branch} leads to state {targets[branch]}; there are {archive.states} states")
    kind = archive.system["branch-probability-type"]
    actions, names = choice_actions(archive)
    return Explicit(
        state_choices,
        choice_branches,
        targets.astype(np.int64),
        archive.numbers("branch-to-probability.bin", kind, archive.branches),
        np.flatnonzero(archive.bits("state-is-initial.bin", archive.states)),
        {name: label(archive, folder) for name, (folder, _) in archive.annotations("aps").items()},
        {name: reward(archive, *found) for name, found in archive.annotations("rewards").items()},
        actions,
        names,
        state_names(archive),
    )


def label(archive: Archive, folder: str) -> Callable[[], Bools]:
    return lambda: archive.bits(f"{folder}/states/values.bin", archive.states)


def reward(archive: Archive, folder: str, about: dict[str, Any]) -> Callable[[], Reward]:
    def part(entity: str, size: int) -> Floats | None:
        name = f"{folder}/{entity}/values.bin"
        if entity not in about["applies-to"] or name not in archive.members:
            return None
        return archive.numbers(name, about["type"], size)

    return lambda: Reward(
        part("states", archive.states), part("choices", archive.choices), part("branches", archive.branches)
    )


def choice_actions(archive: Archive) -> tuple[Int64s | None, list[str]]:
    """Return the action of each choice and the names of actions."""
    count = archive.count("#choice-actions") if "#choice-actions" in archive.system else 0
    if not count:
        return None, []
    folder = "actions/choices"
    names = archive.texts(folder, count)
    if f"{folder}/values.bin" not in archive.members or names is None:
        return None, []
    values = archive.array(f"{folder}/values.bin", "<u4", archive.choices)
    if (values >= count).any():
        choice = int(np.argmax(values >= count))
        raise FileError(f"choice {choice} has action {values[choice]}; there are {count} actions")
    return values.astype(np.int64), names


class Annotation(NamedTuple):
    """Numbers or truth values of the states or the choices of a written model."""

    entity: str
    values: NDArray[Any]


def write(path: Path, ssp: SSP, annotations: Mapping[str, Annotation] | None = None) -> None:
    """Write a model, with annotations in the group goalward."""
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
    own: dict[str, Any] = {}
    for name, (entity, values) in (annotations or {}).items():
        kind = "bool" if values.dtype == np.bool_ else "double"
        body = bitset(values) if kind == "bool" else values.astype("<f8").tobytes()
        members[f"annotations/goalward/{name}/{entity}/values.bin"] = body
        own[name] = described(entity, kind)
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
        }
        | ({"goalward": own} if own else {}),
    }
    write_packed(path, tar_bytes({"index.json": json.dumps(index, indent=1).encode(), **members}), ".gz")


def described(entity: str, kind: str) -> dict[str, Any]:
    return {"applies-to": [entity], "type": {"type": kind, "size": SIZES[kind]}}


def bitset(values: Bools) -> bytes:
    packed = np.packbits(values, bitorder="little").tobytes()
    return packed.ljust(-(-len(values) // 64) * 8, b"\0")


def string_members(folder: str, texts: Sequence[str]) -> dict[str, bytes]:
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)]).astype("<u8")
    return {f"{folder}/string-mapping.bin": ends.tobytes(), f"{folder}/strings.bin": b"".join(encoded)}
