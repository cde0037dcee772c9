"""Safe reading and atomic writing of files; whatever the system refuses is a FileError.

Reading opens regular files only: a device, a pipe or a folder is refused at once. With `inside` a file must be in that
folder, and no symbolic link is followed. Writing puts the content under another name in the same folder and renames it,
so a file that exists is whole. Content and name are synchronised to the disk, so they survive a power cut. Modes follow
the umask.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tomllib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from goalward.errors import FileError

__all__ = [
    "TEMPORARY", "check_inside", "check_not_folder", "check_regular", "is_inside", "parse_json", "parse_toml",
    "read_bytes", "read_text", "reason", "write_bytes",
]  # fmt: skip

TEMPORARY = ".part"
"""The ending of files that are being written."""
MOST_LEVELS = 32
"""How deep the data in a file may be nested."""


def reason(error: OSError) -> str:
    """Return why the system refused, in its words."""
    return error.strerror or str(error)


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path stays in a folder: no symbolic link on the way leads out."""
    return path.parent.resolve().is_relative_to(folder.resolve())


def check_inside(path: Path, folder: Path | None) -> None:
    """Raise FileError if a symbolic link leads out of a folder."""
    if folder is not None and not is_inside(path, folder):
        raise FileError(f"{path}: a symbolic link leads out of {folder}; it is not followed")


def check_regular(path: Path, status: os.stat_result | None = None) -> None:
    """Raise FileError if this is not a regular file. Opening a pipe would block, and a device may have no end."""
    try:
        mode = (status or path.stat()).st_mode
    except (OSError, ValueError) as error:  # a ValueError is a null character in the name
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(mode):
        raise FileError(f"{path}: is not a file but a folder, a device or a pipe; it is not read")


def check_not_folder(path: Path) -> None:
    """Raise FileError if the path of a file to write is a folder."""
    if os.path.isdir(path):  # Path.is_dir raises an error if the name is too long
        raise FileError(f"{path}: is a folder; name a file in it")


def read_bytes(path: Path, inside: Path | None = None) -> bytes:
    """Return the content of a file."""
    check_inside(path, inside)
    if inside is not None and path.is_symlink():
        raise FileError(f"{path}: is a symbolic link, which is not followed")
    check_regular(path)
    try:
        flags = getattr(os, "O_NONBLOCK", 0) | (0 if inside is None else getattr(os, "O_NOFOLLOW", 0))
        with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
            check_regular(path, os.fstat(file.fileno()))  # another process may have replaced it
            return file.read()
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None


def read_text(path: Path, what: str, inside: Path | None = None) -> str:
    """Return a text in UTF-8; `what` says what such a file should be, for the error."""
    try:
        return read_bytes(path, inside).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text file in UTF-8; {what}") from None


def parse_json(path: Path, text: str | bytes) -> Any:
    """Return the data in a text; raise FileError if it is not JSON, or if it is nested too deeply."""
    return parse(path, text, json.loads, "JSON")


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Return the data in a text; raise FileError if it is not TOML, or if it is nested too deeply."""
    document: dict[str, Any] = parse(path, text, tomllib.loads, "TOML")
    return document


def parse(path: Path, text: Any, loads: Callable[[Any], Any], language: str) -> Any:
    too_deep = FileError(f"{path}: its data is nested more than {MOST_LEVELS} levels deep; nothing here needs that")
    try:
        data = loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:  # of the syntax, or an integer of thousands of digits
        what = "an integer of it has too many digits" if "integer string conversion" in str(error) else error
        raise FileError(f"{path}: not {language}: {what}") from None
    level = [data]
    for _ in range(MOST_LEVELS):
        parts = [part for part in level if isinstance(part, dict | list)]
        level = [below for part in parts for below in (part.values() if isinstance(part, dict) else part)]
    if level:
        raise too_deep
    return data


def make_parents(path: Path, inside: Path | None) -> None:
    """Create the folders above a file, but never `inside`: if that is missing, somebody has removed it."""
    if inside is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        return
    for folder in reversed(path.relative_to(inside).parents[:-1]):
        try:
            (inside / folder).mkdir()
        except FileExistsError:
            continue
        sync_folder((inside / folder).parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_bytes(path: Path, content: bytes, inside: Path | None = None) -> None:
    """Write a file whole, or leave what was there untouched; raise FileError with the reason.

    Devices, such as ``/dev/stdout``, are written to and not replaced.
    """
    check_inside(path, inside)
    check_not_folder(path)
    device = path.parts[:2] == ("/", "dev") and (path.is_symlink() or (path.exists() and not path.is_file()))
    temporary = path.with_name(f".{uuid.uuid4().hex}{TEMPORARY}")
    try:
        if device and inside is None:
            path.write_bytes(content)
            return
        make_parents(path, inside)
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # otherwise a power cut may leave the name with an empty file
            os.replace(temporary, path)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({reason(error)})") from None
