"""Read files safely and write files atomically; errors of the operating system become FileError.

Only regular files are read: a device, a pipe or a folder raises FileError at once. A file is written under a temporary
name in the same folder and then renamed, so no file is ever half-written. The content and the name are flushed to the
disk, so that a power cut cannot lose the file. File modes follow the umask.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from goalward.errors import FileError

TEMPORARY = ".part"
"""The ending of files that are being written."""
MOST_LEVELS = 32
"""How deep the data in a file may be nested."""


def reason(error: OSError) -> str:
    """Return the operating system's text for `error`."""
    return error.strerror or str(error)


def check_regular(path: Path | str, status: os.stat_result | None = None) -> None:
    """Raise FileError unless `path` is a regular file, because pipes block and devices may be endless."""
    try:
        mode = (status or os.stat(path)).st_mode
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(mode):
        raise FileError(f"{path}: is a folder, a device or a pipe; name a regular file")


def check_not_folder(path: Path) -> None:
    """Raise FileError if the output file `path` is a folder."""
    if os.path.isdir(path):  # Path.is_dir raises an error if the name is too long
        raise FileError(f"{path}: is a folder; name a file in it")


def read_bytes(path: Path | str, *, follow: bool = True) -> bytes:
    """Return the content of a file; with ``follow=False``, a symbolic link raises FileError."""
    flags = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))  # a pipe must not block
    try:
        with open(path, "rb", buffering=0, opener=lambda name, mode: os.open(name, mode | flags)) as file:
            check_regular(path, os.fstat(file.fileno()))
            return file.read()
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        check_regular(path)
        link = not follow and os.path.islink(path)
        raise FileError(f"{path}: {'is a symbolic link, which is not followed' if link else reason(error)}") from None


def read_text(path: Path, what: str, *, follow: bool = True) -> str:
    """Return the text of a UTF-8 file; error messages end with `what`, such as "it should be a CSV file"."""
    try:
        return read_bytes(path, follow=follow).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text file in UTF-8; {what}") from None


def parse_json(path: Path, text: str | bytes) -> Any:
    """Return the data in a JSON text; raise FileError if the text is invalid or nested too deeply."""
    return parse(path, text, json.loads, "JSON")


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Return the data in a TOML text; raise FileError if the text is invalid or nested too deeply."""
    document: dict[str, Any] = parse(path, text, tomllib.loads, "TOML")
    return document


def parse(path: Path, text: Any, loads: Callable[[Any], Any], language: str) -> Any:
    too_deep = FileError(f"{path}: its data is nested more than {MOST_LEVELS} levels deep; remove some nesting")
    try:
        data = loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:  # a syntax error, or an integer of thousands of digits
        what = "an integer has too many digits" if "integer string conversion" in str(error) else error
        raise FileError(f"{path}: not {language}: {what}") from None
    level = [data]
    for _ in range(MOST_LEVELS):
        parts = [part for part in level if isinstance(part, dict | list)]
        level = [below for part in parts for below in (part.values() if isinstance(part, dict) else part)]
    if level:
        raise too_deep
    return data


def write_bytes(path: Path, content: bytes, *, sync_name: bool = True) -> None:
    """Write a file atomically: on failure, raise FileError and leave the previous file unchanged.

    With ``sync_name=False``, a power cut may lose a new file but never leaves a partial file. If `path` is a device,
    such as ``/dev/stdout``, the content is written to the device.
    """
    check_not_folder(path)
    folder = os.path.dirname(path) or "."
    temporary = f"{folder}/.{os.urandom(16).hex()}{TEMPORARY}"
    try:
        if path.parts[:2] == ("/", "dev") and (path.is_symlink() or (path.exists() and not path.is_file())):
            path.write_bytes(content)
            return
        os.makedirs(folder, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # otherwise a power cut may leave an empty file
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({reason(error)})") from None
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY) if sync_name else -1
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
