"""Files: regular ones only, whole or not at all, never out of the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goalward.errors import FileError
from goalward.files import parse_json, parse_toml, read_bytes, read_text, write_bytes


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b", b"content")
    assert read_bytes(tmp_path / "a" / "b", inside=tmp_path) == b"content"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_modes_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("special", ["fifo", "folder", "device"])
def test_only_regular_files_are_opened(tmp_path: Path, special: str) -> None:
    path = tmp_path / special
    if special == "fifo":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(FileError, match=r"is not a file but a folder, a device or a pipe"):
        read_bytes(path)


def test_links_are_not_followed_inside_a_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    write_bytes(outside / "secret", b"1")
    inside.mkdir()
    (inside / "link").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    with pytest.raises(FileError, match="is a symbolic link, which is not followed"):
        read_bytes(inside / "link", inside=inside)
    with pytest.raises(FileError, match="a symbolic link leads out of"):
        read_bytes(inside / "folder" / "secret", inside=inside)
    with pytest.raises(FileError, match="a symbolic link leads out of"):
        write_bytes(inside / "folder" / "new", b"", inside=inside)
    assert not (outside / "new").exists()
    # Where no folder is given, a link is the user's own business.
    assert read_bytes(inside / "link") == b"1"


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
    with pytest.raises(FileError, match="not JSON: an integer of it has too many digits"):
        parse_json(tmp_path, "9" * 5000)
    with pytest.raises(FileError, match="not TOML: an integer of it has too many digits"):
        parse_toml(tmp_path, "a = " + "9" * 5000)
    assert parse_toml(tmp_path, "a = [[1]]") == {"a": [[1]]}
