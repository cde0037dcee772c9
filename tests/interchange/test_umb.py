"""UMB files: what is written is read back, and nothing that is wrong gets through."""

from __future__ import annotations

import copy
import gzip
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from mutants import check_mutants, write

from goalward import SSP, solve
from goalward.errors import FileError
from strategies import models

# Two states and a goal; state 0 has two choices, b before a; every kind of reward.
INDEX: dict[str, Any] = {
    "format-version": 1,
    "format-revision": 0,
    "transition-system": {
        "time": "discrete",
        "#players": 1,
        "#states": 4,
        "#initial-states": 1,
        "#choices": 5,
        "#choice-actions": 3,
        "#branches": 7,
        "#branch-actions": 0,
        "#observations": 0,
        "branch-probability-type": {"type": "double", "size": 64},
    },
    "annotations": {
        "aps": {
            "ap-0": {"alias": "goal", "applies-to": ["states"], "type": {"type": "bool"}},
            "ap-1": {"alias": "left side", "applies-to": ["states"], "type": {"type": "bool"}},
        },
        "rewards": {
            "r-0": {"alias": "price", "applies-to": ["states", "choices", "branches"], "type": {"type": "double"}},
        },
    },
}
MEMBERS: dict[str, bytes] = {
    "state-to-choices.bin": np.array([0, 2, 3, 4, 5], "<u8").tobytes(),
    "choice-to-branches.bin": np.array([0, 2, 3, 5, 6, 7], "<u8").tobytes(),
    "branch-to-target.bin": np.array([1, 1, 2, 0, 3, 2, 3], "<u8").tobytes(),
    "branch-to-probability.bin": np.array([0.5, 0.5, 1.0, 0.25, 0.75, 1.0, 1.0], "<f8").tobytes(),
    "state-is-initial.bin": np.array([1], "<u8").tobytes(),
    "actions/choices/values.bin": np.array([2, 1, 2, 0, 0], "<u4").tobytes(),
    "actions/choices/string-mapping.bin": np.array([0, 0, 3, 4], "<u8").tobytes(),
    "actions/choices/strings.bin": b"abcd",
    "annotations/aps/ap-0/states/values.bin": np.array([0b1100], "<u8").tobytes(),
    "annotations/aps/ap-1/states/values.bin": np.array([0b0001], "<u8").tobytes(),
    "annotations/rewards/r-0/states/values.bin": np.array([1.0, 2.0, -9.0, 9.0], "<f8").tobytes(),
    "annotations/rewards/r-0/choices/values.bin": np.array([10.0, 20.0, 30.0, 40.0, 50.0], "<f8").tobytes(),
    "annotations/rewards/r-0/branches/values.bin": np.array([0.5, 1.5, 0.0, 4.0, 8.0, 0.0, 0.0], "<f8").tobytes(),
}


def tar(index: Any, members: dict[str, bytes]) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as archive:
        for name, content in {"index.json": json.dumps(index).encode(), **members}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mtime = 1.5  # type: ignore[assignment]  # an extended header, as Python writes it
            archive.addfile(member, io.BytesIO(content))
    return body.getvalue()


def changed(place: str, value: Any) -> dict[str, Any]:
    """Return the index with another value at a place; `...` takes it away."""
    index = copy.deepcopy(INDEX)
    *path, last = place.split("/")
    here = index
    for step in path:
        here = here[step]
    if value is ...:
        del here[last]
    else:
        here[last] = value
    return index


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.umb"


def test_a_file_made_by_hand(path: Path) -> None:
    path.write_bytes(tar(INDEX, MEMBERS))
    ssp = SSP.load(path)
    assert ssp.action_names == ("abc", "d")
    assert ssp.costs.tolist() == [[1 + 20 + 0, 1 + 10 + 1], [np.inf, 2 + 30 + 7]]
    assert np.array_equal(ssp.to_dense(), [[[0, 0, 1], [0, 1, 0]], [[0, 0, 0], [0.25, 0, 0.75]]])
    assert (ssp.initial_state, ssp.state_names) == (0, None)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_files_say_the_same(path: Path, pack: Any) -> None:
    path.write_bytes(tar(INDEX, MEMBERS))
    plain = SSP.load(path)
    path.write_bytes(pack(tar(INDEX, MEMBERS)))
    assert SSP.load(path) == plain


def test_goals_by_name_number_and_several(path: Path) -> None:
    path.write_bytes(tar(INDEX, MEMBERS))
    assert SSP.load(path, goal="goal") == SSP.load(path, goal=["2", 3])
    alone = SSP.load(path, goal=3, cost=1.0)
    assert (alone.states, alone.costs[0].tolist()) == (3, [np.inf, 1, 1])
    assert SSP.load(path, goal=["goal", "left side"], start=1).states == 1
    assert SSP.load(path, cost="price") == SSP.load(path)


def test_fractions(path: Path) -> None:
    thirds = np.array([1, 3, 2, 3, 1, 1, 1, 4, 3, 4, 1, 1, 1, 1], "<i8").tobytes()
    index = changed("transition-system/branch-probability-type", {"type": "rational", "size": 128})
    path.write_bytes(tar(index, MEMBERS | {"branch-to-probability.bin": thirds}))
    assert SSP.load(path).probabilities.tolist() == [1.0, 1.0, 0.25, 0.75]
    path.write_bytes(tar(index, MEMBERS | {"branch-to-probability.bin": bytes(14 * 8)}))
    with pytest.raises(FileError, match=r"branch-to-probability\.bin: the denominator of entry 0 is 0"):
        SSP.load(path)


def test_one_choice_and_one_branch_each_need_not_be_said(path: Path) -> None:
    index = copy.deepcopy(INDEX)
    index["transition-system"] |= {"#choices": 4, "#branches": 4, "#choice-actions": 0, "#players": 0}
    del index["annotations"]["rewards"]
    members = {
        "branch-to-target.bin": np.array([1, 2, 2, 3], "<u8").tobytes(),
        "branch-to-probability.bin": np.ones(4, "<f8").tobytes(),
        "state-is-initial.bin": MEMBERS["state-is-initial.bin"],
        "annotations/aps/ap-0/states/values.bin": MEMBERS["annotations/aps/ap-0/states/values.bin"],
    }
    path.write_bytes(tar(index, members))
    ssp = SSP.load(path, cost=2)
    assert (ssp.costs.tolist(), ssp.successors.tolist()) == ([[2.0], [2.0]], [1, 2])


def without_what_files_cannot_say(ssp: SSP) -> SSP:
    """Drop actions that no state has, and let a state without actions stay where it is at a cost of 1."""
    used = ssp.available.any(axis=0)
    lonely = ~ssp.available.any(axis=1)
    used[0] |= lonely.any()
    kernel, costs = ssp.to_dense(), np.where(ssp.available, ssp.costs, 0.0)
    kernel[lonely, 0] = np.eye(ssp.states, ssp.states + 1)[lonely]
    costs[lonely, 0] = 1.0
    return SSP.from_dense(kernel[:, used], costs[:, used], ssp.initial_state)


@given(ssp=models())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_model_survives(ssp: SSP, tmp_path: Path) -> None:
    path = tmp_path / "model.umb"
    ssp.save(path)
    assert SSP.load(path) == without_what_files_cannot_say(ssp)


def test_names_survive(path: Path) -> None:
    names = ["naïve \u2603", "line\nbreak"]
    ssp = SSP.from_dense(
        [[[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]],
        [[1.0, 0.0], [3.0, 0.25]],
        1,
        state_names=names,
        action_names=["", "über"],
    )
    ssp.save(path)
    back = SSP.load(path)
    assert (back, back.state_names, back.action_names) == (ssp, tuple(names), ("", "über"))
    assert SSP.load(path, start=names[0]).initial_state == 0


def test_the_same_model_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    path.write_bytes(tar(INDEX, MEMBERS))
    ssp = SSP.load(path)
    ssp.save(tmp_path / "one.umb")
    ssp.save(tmp_path / "two.umb")
    assert (tmp_path / "one.umb").read_bytes() == (tmp_path / "two.umb").read_bytes()
    with tarfile.open(tmp_path / "one.umb") as archive:
        assert archive.getnames()[0] == "index.json"


SYSTEM = "transition-system"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("format-version", 2, "version 2 of UMB, but goalward reads only version 1"),
        ("format-version", ..., "'format-version' is None; it must be an integer"),
        ("format-version", True, "'format-version' is True"),
        (SYSTEM, [], r"'transition-system' is \[\]; it must be an object"),
        (
            f"{SYSTEM}/time",
            "stochastic",
            "'stochastic' time, which goalward cannot read; export the embedd",
        ),
        (f"{SYSTEM}/#players", 2, "a game of 2 players; goalward reads only models with one player"),
        (
            f"{SYSTEM}/#observations",
            3,
            "has observations, which goalward cannot read; export the underlying",
        ),
        (f"{SYSTEM}/branch-probability-type", ..., "has no probabilities"),
        (f"{SYSTEM}/branch-probability-type", {"type": "double-interval"}, "type double-interval .* as doubles"),
        (f"{SYSTEM}/branch-probability-type", {"type": "rational", "size": 256}, "type rational with 256 bits"),
        (f"{SYSTEM}/branch-probability-type", {"type": 3}, "'type' is 3; it must be a text"),
        (f"{SYSTEM}/#states", 0, r"'#states' is 0; it must lie in 1\.\.2147483646"),
        (f"{SYSTEM}/#states", 2**60, "'#states' is 1152921504606846976; it must lie in"),
        (f"{SYSTEM}/#states", -1, "'#states' is -1"),
        (f"{SYSTEM}/#states", 3.0, r"'#states' is 3\.0; it must be an integer"),
        (f"{SYSTEM}/#states", 5, "state-to-choices.bin has 40 bytes, but 6 entries need 48"),
        (f"{SYSTEM}/#choices", 4, "state-to-choices.bin does not increase from 0 to 4"),
        (f"{SYSTEM}/#branches", 2_000_000_000, "choice-to-branches.bin does not increase from 0 to 2000000000"),
        (f"{SYSTEM}/#choice-actions", 2, "string-mapping.bin has 32 bytes, but 3 entries need 24"),
        (
            "annotations/aps/ap-0/alias",
            "other",
            "no label is called goal; pass goal=... with one of left side",
        ),
        ("annotations/aps/ap-0/alias", "left side", "has the alias 'left side'; use a unique string"),
        ("annotations/aps/ap-0/alias", 7, "has the alias 7"),
        ("annotations/aps/ap-0", [], "'applies-to' is None; it must be a list"),
        ("annotations/aps", [], "the annotations of 'aps' must be an object"),
        ("annotations", [], "the annotations of .* must be an object"),
        (
            "annotations/rewards",
            {},
            r"there are no rewards; pass a reward structure or the cost of every",
        ),
        ("annotations/rewards/r-0/type", {"type": "rational-interval"}, "has numbers of type rational-interval"),
        (
            "annotations/rewards/r-1",
            {"applies-to": ["states"], "type": {"type": "double"}},
            "there are 2 reward structures, price, r-1; pass",
        ),
    ],
)
def test_an_index_that_is_wrong(path: Path, place: str, value: Any, message: str) -> None:
    path.write_bytes(tar(changed(place, value), MEMBERS))
    with pytest.raises(FileError, match=rf"^{path}: .*{message}"):
        SSP.load(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("state-to-choices.bin", np.array([0, 3, 2, 4, 5], "<u8"), "does not increase from 0 to 5"),
        ("state-to-choices.bin", np.array([0, 2**63, 2**64 - 1, 4, 5], "<u8"), "does not increase from 0 to 5"),
        ("state-to-choices.bin", None, "needs a member state-to-choices.bin, as 4 and 5 differ"),
        ("branch-to-target.bin", np.array([1, 1, 2, 0, 4, 2, 3], "<u8"), "branch 4 leads to state 4, but there are"),
        ("branch-to-target.bin", np.full(7, 2**64 - 1, "<u8"), "branch 0 leads to state 18446744073709551615"),
        ("branch-to-target.bin", None, "has no member branch-to-target.bin"),
        ("branch-to-probability.bin", None, "has no member branch-to-probability.bin"),
        (
            "branch-to-probability.bin",
            np.array([0.5, 0.25, 1, 0.25, 0.75, 1, 1]),
            r"the probabilities of choice 0 of state 0 sum to 0\.75; .* normalize=True",
        ),
        (
            "branch-to-probability.bin",
            np.array([0.5, 0.5, 1, np.nan, 0.75, 1, 1]),
            "a transition of choice 0 of state 1 has probability nan",
        ),
        ("branch-to-probability.bin", np.array([0.5, 0.5, 0.0, 0.25, 0.75, 1, 1]), "choice 1 of state 0 sum to 0; "),
        ("choice-to-branches.bin", np.array([0, 2, 2, 5, 6, 7], "<u8"), "choice 1 of state 0 has no branches"),
        ("actions/choices/values.bin", np.array([2, 1, 3, 0, 0], "<u4"), "choice 2 has action 3, but there are"),
        ("actions/choices/strings.bin", b"ab\xffd", "strings.bin is not UTF-8"),
        ("annotations/aps/ap-0/states/values.bin", b"1", "has 1 bytes, but 1 entries need 8"),
        ("annotations/aps/ap-0/states/values.bin", bytes(8), "no state is labelled goal"),
        ("annotations/aps/ap-0/states/values.bin", b"\x0f" + bytes(7), "every state is a goal"),
        ("annotations/aps/ap-0/states/values.bin", b"\x09" + bytes(7), "the start .state 0. is a goal; choose another"),
        ("state-is-initial.bin", b"\3" + bytes(7), "2 initial states; pass the number of one state as start="),
        ("state-is-initial.bin", None, "0 initial states"),
        (
            "annotations/rewards/r-0/states/values.bin",
            np.array([1.0, -2.0, 0, 0]),
            "choice 0 of state 1 has cost -2; costs must be finite and not negative",
        ),
        ("annotations/rewards/r-0/choices/values.bin", np.full(5, np.inf), "has cost inf"),
        (
            "annotations/rewards/r-0/branches/values.bin",
            np.array([0.5, 1.5, 0, -1e300, 8, 0, 0]),
            r"choice 0 of state 1 has cost -1e\+300",
        ),
        ("goalward/state-names.json", b"[1, 2, 3, 4]", "must be a list of 4 texts"),
        ("goalward/state-names.json", b"[" * 100_000, "state-names.json is damaged"),
        ("index.json", b"\xff", "index.json is damaged"),
        ("index.json", b"[" * 100_000, "index.json is damaged"),
        ("index.json", b"7", "'format-version' is None"),
    ],
)
def test_members_that_are_wrong(path: Path, name: str, content: Any, message: str) -> None:
    members = MEMBERS | {
        name: b"" if content is None else bytes(content.tobytes() if hasattr(content, "tobytes") else content)
    }
    if content is None:
        del members[name]
    path.write_bytes(tar(INDEX, members))
    with pytest.raises(FileError, match=rf"^{path}: .*{message}"):
        SSP.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "gaol"}, "no label or state is called 'gaol'; did you mean 'goal'?"),
        ({"goal": 4}, "no label or state is called '4'"),
        ({"goal": -1}, "no label or state is called '-1'"),
        ({"start": "9"}, "no state is called '9'"),
        ({"start": "home"}, "no state is called 'home'"),
        ({"cost": "prize"}, "no reward structure is called 'prize'; did you mean 'price'?"),
        ({"cost": -1.0}, "has cost -1; costs must be finite"),
        ({"cost": float("nan")}, "has cost nan"),
    ],
)
def test_choices_that_the_file_does_not_have(path: Path, options: dict[str, Any], message: str) -> None:
    path.write_bytes(tar(INDEX, MEMBERS))
    with pytest.raises(FileError, match=message):
        SSP.load(path, **options)


def test_normalize(path: Path) -> None:
    path.write_bytes(
        tar(INDEX, MEMBERS | {"branch-to-probability.bin": np.array([0.5, 0.25, 1, 0.5, 0.5, 1, 1]).tobytes()})
    )
    ssp = SSP.load(path, normalize=True)
    assert ssp.probabilities.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert ssp.costs[0, 1] == pytest.approx(1 + 10 + (2 * 0.5 + 1.5) / 3)


def test_many_labels_are_positions(path: Path) -> None:
    """Labels that are different in every state would make a table of actions that are nowhere available."""
    ssp = SSP.from_transitions([(s, f"from {s}", s + 1, 1.0, 1.0) for s in range(100)], goals=[100])
    assert ssp.actions == 100
    ssp.save(path)
    back = SSP.load(path)
    assert (back.actions, back.action_names) == (1, None)
    assert solve(back).values.tolist() == solve(ssp).values.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_mutants(path: Path, seed: int) -> None:
    """Bytes are changed inside the tar, where no checksum of a packer notices."""
    refused, read = check_mutants(path, tar(INDEX, MEMBERS), seed, 800)
    assert refused > 100
    assert read > 100


def test_mutants_of_packed_files(path: Path) -> None:
    for pack in (gzip.compress, lzma.compress):
        refused, _ = check_mutants(path, pack(tar(INDEX, MEMBERS)), 0, 300)
        assert refused > 200


def test_mutants_of_the_index(path: Path) -> None:
    """Every number, text and object of the index in turn becomes something else."""

    def places(here: Any, path: str = "") -> list[str]:
        if not isinstance(here, dict):
            return []
        return [p for key, value in here.items() for p in (f"{path}{key}", *places(value, f"{path}{key}/"))]

    refused = 0
    path.touch()
    for place in places(INDEX):
        for value in (None, -1, 0, 2**31, 2**64, 1e300, "double", [], ...):
            write(path, tar(changed(place, value), MEMBERS))
            try:
                SSP.load(path)
            except FileError:
                refused += 1
    assert refused > 200


def test_a_file_that_is_no_archive_is_not_called_one(tmp_path: Path) -> None:
    (tmp_path / "text.umb").write_text("no tar\n")
    with pytest.raises(FileError, match=r"text\.umb: the file is damaged or is not a tar"):
        SSP.load(tmp_path / "text.umb")
