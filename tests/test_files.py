"""Files: regular ones only, whole or not at all, never out of the folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import goalward as gw
from goalward.errors import FileError
from goalward.files import parse_json, parse_toml, read_bytes, read_text, write_bytes
from goalward.interchange import FORMATS
from goalward.interchange.logs import read_log

WORLD = gw.worlds.grid_world(rows=2, columns=2)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b", b"content")
    assert read_bytes(tmp_path / "a" / "b", follow=False) == b"content"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_modes_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"")
        for ending in FORMATS:
            WORLD.save(tmp_path / f"model{ending}")
        gw.solve(WORLD).save(tmp_path / "solution.csv")
        gw.agents.save(gw.learn(gw.agents.PSRL(), WORLD, 1).agent, tmp_path / "agent.npz")
    finally:
        os.umask(before)
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {
        path.name: "0o640" for path in tmp_path.iterdir()
    }
    assert len(list(tmp_path.iterdir())) == 3 + len(FORMATS), "something was left behind"


@pytest.mark.parametrize("special", ["fifo", "folder", "device"])
def test_only_regular_files_are_opened(tmp_path: Path, special: str) -> None:
    path = tmp_path / special
    if special == "fifo":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(FileError, match=r"is a folder, a device or a pipe"):
        read_bytes(path)


@pytest.mark.parametrize("ending", [*FORMATS, ".txt"])
def test_models_are_not_read_from_pipes(tmp_path: Path, ending: str) -> None:
    os.mkfifo(tmp_path / f"model{ending}")
    with pytest.raises(FileError, match=r"is a folder, a device or a pipe"):
        gw.worlds.load(str(tmp_path / f"model{ending}"))


def test_nothing_else_is_read_from_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match=r"is a folder, a device or a pipe"):
        gw.agents.load(pipe)
    with pytest.raises(FileError, match=r"is a folder, a device or a pipe"):
        read_log(pipe)


def test_what_is_written_replaces_links_and_goes_through_devices(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (tmp_path / "link").symlink_to(outside)
    write_bytes(tmp_path / "link", b"new")
    assert (outside.read_text(), (tmp_path / "link").read_text()) == ("kept", "new")
    for special in ("/dev/null", "/dev/zero"):
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(special)
        write_bytes(tmp_path / "link", b"new")
        assert read_bytes(tmp_path / "link", follow=False) == b"new"
    # A file under this name would break the machine of a user with the rights to make it.
    write_bytes(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    write_bytes(Path("/dev/stdout"), b"")


def test_links_are_followed_on_request_only(tmp_path: Path) -> None:
    write_bytes(tmp_path / "secret", b"1")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match="is a symbolic link, which is not followed"):
        read_bytes(tmp_path / "link", follow=False)
    assert read_bytes(tmp_path / "link") == b"1"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        read_bytes(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileError, match="not a text file in UTF-8; a map is lines"):
        read_text(tmp_path / "binary", "a map is lines")
    with pytest.raises(FileError, match="cannot be written"):
        write_bytes(tmp_path / "binary" / "below", b"")
    with pytest.raises(FileError, match="nested more than 32 levels deep"):
        parse_json(tmp_path, "[" * 100_000)
    with pytest.raises(FileError, match="nested more than 32 levels deep"):
        parse_toml(tmp_path, "a = " + "[" * 40 + "]" * 40)
    with pytest.raises(FileError, match="not JSON: an integer has too many digits"):
        parse_json(tmp_path, "9" * 5000)
    with pytest.raises(FileError, match="not TOML: an integer has too many digits"):
        parse_toml(tmp_path, "a = " + "9" * 5000)
    assert parse_toml(tmp_path, "a = [[1]]") == {"a": [[1]]}


def test_a_file_reaches_the_disk_before_its_name_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes")
        fsync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        events.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_bytes(tmp_path / "file", b"content")
    assert events == ["7 bytes", "rename", "folder"]
