"""Models on disk: what is written is read back, and nothing else is."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goalward import SSP, GridLayout, archive
from goalward.errors import FileError
from strategies import models

ENDINGS = (".npz", ".json")
ARRAYS = ("indptr", "successors", "probabilities", "costs")


def named() -> SSP:
    """Make a model with everything a file can carry: odd names, a layout, an unavailable action, awkward floats."""
    kernel = np.zeros((2, 2, 3))
    kernel[0, 0] = [0.1, 0.2, 0.7]
    kernel[0, 1] = [2.2250738585072014e-308, 0.0, 1.0]
    kernel[1, 0] = [1 / 3, 1 / 3, 1 / 3]
    return SSP.from_dense(
        kernel,
        [[1e-9, 1e9], [0.0, 1.0]],
        1,
        state_names=["naïve \u2603", "line\nbreak \ud800"],
        action_names=["", "\0"],
        layout=GridLayout(2, 2, [3, 0], [1]),
    )


def parts(ssp: SSP) -> tuple[object, ...]:
    return ssp.digest, ssp.state_names, ssp.action_names, ssp.layout


@pytest.mark.parametrize("ending", [".npz", ".json", ".csv", ".parquet", ".umb", ".drn"])
def test_subnormal_probabilities_are_refused(tmp_path: Path, ending: str) -> None:
    indptr, successors = np.array([0, 2], dtype=np.int64), np.array([0, 1], dtype=np.int32)
    unchecked = SSP._trusted(indptr, successors, np.array([5e-315, 1.0]), np.ones((1, 1)), 0)
    unchecked.save(tmp_path / f"model{ending}")
    with pytest.raises(FileError, match=r"has probability .*e-315"):
        SSP.load(tmp_path / f"model{ending}")


@pytest.fixture(params=ENDINGS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"model{request.param}"
    named().save(path)
    return path


def rewrite(path: Path, **changes: Any) -> None:
    """Save the model again with some fields changed; None in place of a field takes it out, `null` stays null."""
    ssp = named()
    fields: dict[str, Any] = {
        "format": "goalward-ssp",
        "version": 1,
        "initial_state": 1,
        "state_names": ssp.state_names,
        "action_names": None,
        "layout": {"rows": 2, "columns": 2, "cells": [3, 0], "goals": [1]},
        "give_up": None,
        "indptr": ssp.indptr.tolist(),
        "successors": ssp.successors.tolist(),
        "probabilities": ssp.probabilities.tolist(),
        "costs": np.where(ssp.available, ssp.costs, 0.0).tolist(),
    }
    fields = {name: value for name, value in (fields | changes).items() if value is not ...}
    if path.suffix == ".json":
        path.write_text(json.dumps(fields))
    else:
        arrays: dict[str, Any] = {}
        about = {name: fields.pop(name) for name in ("format", "version") if name in fields}
        tree = {name: np.array(value) if name in ARRAYS else value for name, value in fields.items()}
        about["values"] = archive.without_arrays(tree, "", arrays)
        about["checksum"] = archive.checksum(about["values"], arrays)
        np.savez(path, header=np.array(json.dumps(about)), **arrays)


def test_round_trip_keeps_everything(saved: Path) -> None:
    assert parts(SSP.load(saved)) == parts(named())
    assert parts(SSP.load(str(saved))) == parts(named())


@given(ssp=models(), ending=st.sampled_from(ENDINGS))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_model_survives_the_disk(ssp: SSP, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{ending}"
    ssp.save(path)
    assert parts(SSP.load(path)) == parts(ssp)


def test_the_json_file_is_strict_json(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    named().save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text("ascii"), parse_constant=refuse)["version"] == 1


def test_saving_replaces_a_file_and_touches_nothing_else(saved: Path) -> None:
    other = SSP.from_dense([[[0.0, 1.0]]], [[1.0]])
    other.save(saved)
    assert parts(SSP.load(saved)) == parts(other)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_every_truncation_is_noticed(saved: Path) -> None:
    content = saved.read_bytes()
    for length in (0, 1, 2, 10, len(content) // 4, len(content) // 2, len(content) - 30, len(content) - 3):
        saved.write_bytes(content[:length])
        with pytest.raises(FileError, match=rf"model{saved.suffix}: .*save it again"):
            SSP.load(saved)


def test_no_flipped_bit_gets_out_another_error(saved: Path) -> None:
    """A flipped bit is refused with a FileError or, where it touches content in a legal way, gives a legal model."""
    content = saved.read_bytes()
    refused = 0
    for position in range(0, len(content), 3):
        saved.write_bytes(
            content[:position] + bytes([content[position] ^ (1 << position % 8)]) + content[position + 1 :]
        )
        try:
            SSP.load(saved)
        except FileError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4", b"\x93NUMPY", b"\x80\4N.", b"[]", b"7", b"null", b"{}"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_foreign_files(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    path.write_bytes(content)
    with pytest.raises(FileError, match=rf"model{ending}: (damaged|names no format)"):
        SSP.load(path)


def test_an_array_is_no_archive(tmp_path: Path) -> None:
    with (tmp_path / "model.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(FileError, match="damaged, or not a goalward file"):
        SSP.load(tmp_path / "model.npz")


def test_json_nested_without_end(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match="damaged"):
        SSP.load(tmp_path / "model.json")


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("a file was executed",)


def test_nothing_in_a_file_is_executed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.npz"
    rewrite(path, costs=np.array([[Bomb(), 1.0], [1.0, 1.0]], dtype=object))
    with pytest.raises(FileError, match="it holds Python objects, which are never loaded"):
        SSP.load(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FileError, match="damaged"):
        SSP.load(path)
    assert capsys.readouterr().out == ""


def test_an_encrypted_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    named().save(path)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = content.find(signature)
        while at >= 0:
            content[at + offset] |= 1
            at = content.find(signature, at + 1)
    path.write_bytes(bytes(content))
    with pytest.raises(FileError, match="encrypted"):
        SSP.load(path)


def test_an_archive_of_other_things(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    rewrite(path)
    body = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(body, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"no array" if name == "costs.npy" else old.read(name))
    path.write_bytes(body.getvalue())
    with pytest.raises(FileError, match="damaged"):
        SSP.load(path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "another"}, "has the format 'another'; expected 'goalward-ssp'"),
        ({"format": ...}, "names no format; expected 'goalward-ssp'"),
        ({"version": 3}, "has format version 3; this goalward reads version 1"),
        ({"version": ...}, "has format version None"),
        ({"costs": ...}, "damaged, .*costs.*; save the model again"),
        ({"initial_state": ...}, "damaged, because 'initial_state' is missing"),
        ({"layout": ...}, "damaged, because 'layout' is missing"),
        ({"costs": [[1.0, -1.0], [0.0, 0.0]]}, r"not a model: \(state 0, action 1\) has cost -1"),
        ({"probabilities": [0.5] * 8}, r"not a model: the probabilities of \(state 0, action 0\) sum to 1\.5"),
        ({"probabilities": ["a"] * 8}, "not a model: probabilities has dtype <U1"),
        ({"successors": [9] * 8}, "not a model: .* leads to state 9"),
        ({"successors": [0.5] * 8}, "not a model: successors has dtype float64"),
        ({"indptr": [0, 1]}, "not a model: indptr has shape"),
        ({"initial_state": 5}, "not a model: initial_state is 5"),
        ({"initial_state": None}, "not a model: initial_state is None"),
        ({"state_names": ["a"]}, "not a model: state_names is 1 entries"),
        ({"state_names": 7}, "not a model: .*int"),
        ({"state_names": {"a": 1}}, "not a model: state_names is 1 entries"),
        ({"layout": 7}, "the layout is damaged"),
        ({"layout": {"rows": 2}}, "the layout is damaged"),
        (
            {"layout": {"rows": 2, "columns": 2, "cells": [3, 3], "goals": [1]}},
            "the layout is damaged .cell 3 .* is taken",
        ),
        ({"layout": {"rows": 2, "columns": 2, "cells": [2**80, 0], "goals": [1]}}, "the layout is damaged"),
        ({"layout": {"rows": 2, "columns": 2, "cells": [2], "goals": [1]}}, "the layout has 1 cells for"),
    ],
)
def test_tampered_files(tmp_path: Path, ending: str, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / f"model{ending}"
    rewrite(path)
    assert SSP.load(path) == named()
    rewrite(path, **changes)
    with pytest.raises(FileError, match=rf"model{ending}: .*{message}"):
        SSP.load(path)


def test_an_archive_has_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    named().save(path)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    content["costs"] = content["costs"] + 1.0
    np.savez(path, **content)
    with pytest.raises(FileError, match="the content does not match its checksum"):
        SSP.load(path)


@pytest.mark.parametrize(
    "values", [None, 7, {}, {"costs": 7}, {"costs": {}}, {"costs": {"$array": 7}}, {"costs": {"$array": "costs"}}]
)
def test_a_forged_archive(tmp_path: Path, values: Any) -> None:
    """The checksum is no secret: whoever forges a file can put it right."""
    path = tmp_path / "model.npz"
    header = {"format": "goalward-ssp", "version": 1, "values": values, "checksum": archive.checksum(values, {})}
    np.savez(path, header=np.array(json.dumps(header)))
    with pytest.raises(FileError, match=r"model\.npz: .*damaged, "):
        SSP.load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    named().save(path)
    before = path.read_bytes()

    def fill_the_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_the_disk)
    with pytest.raises(FileError, match=r"model\.npz: cannot be written \(No space left on device\)"):
        SSP.from_dense([[[0.0, 1.0]]], [[1.0]]).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_json_without_numbers(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    rewrite(path, costs=[[float("nan"), 1.0], [1.0, 1.0]])
    with pytest.raises(FileError, match=r"\(state 0, action 0\) has cost nan"):
        SSP.load(path)


@pytest.mark.parametrize("name", ["model", "model.txt", "model.NPZ", "model.npy", "model.json.gz"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    suffix = Path(name).suffix
    with pytest.raises(FileError, match=rf"{name}: models are saved as \.npz, .* or .*, not '{suffix}'"):
        named().save(tmp_path / name)
    with pytest.raises(FileError, match=rf"{name}: models are loaded from \.npz, .* or .*, not '{suffix}'"):
        SSP.load(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_paths_that_cannot_be_used(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    with pytest.raises(FileError, match=rf"model{ending}: No such file"):
        SSP.load(path)
    path.mkdir()
    with pytest.raises(FileError, match=rf"model{ending}: is a folder"):
        SSP.load(path)
    with pytest.raises(FileError, match=rf"model{ending}: is a folder; name a file in it"):
        named().save(path)
    path.rmdir()
    path.touch()
    with pytest.raises(FileError, match=rf"model{ending}: cannot be written .(File exists|Not a directory)"):
        named().save(path / path.name)


@pytest.mark.parametrize("content", [b"hello world", pickle.dumps([1, 2])])
def test_what_is_no_archive_brings_no_advice_to_unpickle(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"damaged, or not a goalward file \(it is not an \.npz archive\); save"):
        SSP.load(path)


def test_an_archive_that_would_unpack_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """The sizes in the directory of the archive are forged; making such a file would take long."""
    path = tmp_path / "model.npz"
    named().save(path)
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\1\2")
    while at >= 0:
        content[at + 24 : at + 28] = b"\xf0\xff\xff\xff"
        at = content.find(b"PK\1\2", at + 1)
    path.write_bytes(bytes(content))
    with pytest.raises(FileError, match=r"model\.npz: would unpack to .* bytes; the maximum is"):
        SSP.load(path)
