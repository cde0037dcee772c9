"""Packed files: gzip and xz read up to a limit, and tar archives in memory.

Files are data, and may be hostile. A file is decompressed piece by piece, so that memory goes with what it really
holds, and never beyond a limit. The tar reader is our own: it walks once through the bytes, knows regular files alone,
and writes nothing to disk.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from goalward.errors import FileError
from goalward.files import replacing

__all__ = ["read_packed", "tar_bytes", "tar_members", "write_packed"]

LARGEST_FILE = 1 << 32
PIECE = 1 << 20
BLOCK = 512
GZIP, XZ = b"\x1f\x8b\x08", b"\xfd7zXZ\0"


def read_packed(path: Path, limit: int = LARGEST_FILE) -> bytearray:
    """Return the content of a file, decompressed if it is packed with gzip or xz."""
    content = bytearray()
    try:
        with ExitStack() as stack:
            file = stack.enter_context(path.open("rb"))
            magic = file.read(6)
            file.seek(0)
            stream: Any = file
            if magic.startswith(GZIP):
                stream = stack.enter_context(gzip.open(file))
            elif magic == XZ:
                stream = stack.enter_context(lzma.open(file))
            while piece := stream.read(PIECE):
                content += piece
                if len(content) > limit:
                    raise FileError(f"holds more than {limit:,} bytes; no larger model is read")
    except OSError as error:  # gzip says so too when its content is damaged
        raise FileError(f"{error.strerror or f'damaged ({error})'}") from None
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileError(f"damaged, or not complete ({error}); write it again") from None
    return content


def tar_members(content: bytearray) -> dict[str, memoryview]:
    """Return the regular files of a tar by their names; nothing is copied."""
    view = memoryview(content)
    members: dict[str, memoryview] = {}
    at, long_name = 0, ""
    while at + BLOCK <= len(view) and any(view[at : at + BLOCK]):
        header = bytes(view[at : at + BLOCK])
        if header[257:262] != b"ustar" or header_sum(header) != octal(header[148:156], "checksum", at):
            raise FileError(f"no tar header at byte {at}; a .umb file is a tar, plain or packed with gzip or xz")
        size = octal(header[124:136], "size", at)
        at += BLOCK
        if at + size > len(view):
            raise FileError(f"ends inside a member of {size:,} bytes at byte {at}; the file is not complete")
        body, kind = view[at : at + size], header[156:157]
        at += -(-size // BLOCK) * BLOCK
        if kind == b"x":
            long_name = pax_path(bytes(body))
        elif kind == b"L":
            long_name = text(bytes(body))
        else:
            name, long_name = long_name or ustar_name(header), ""
            if kind in (b"0", b"\0"):
                name = name.removeprefix("./")
                if name in members:
                    raise FileError(f"holds {name!r} twice; which one is meant cannot be said")
                members[name] = body
    return members


def header_sum(header: bytes) -> int:
    return sum(header) - sum(header[148:156]) + 8 * ord(" ")


def octal(field: bytes, name: str, at: int) -> int:
    digits = field.strip(b" \0") or b"0"
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise FileError(f"the {name} in the tar header at byte {at} is {digits!r}; it must be an octal number")
    return int(digits, 8)


def text(field: bytes) -> str:
    try:
        return field.split(b"\0", 1)[0].decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"a tar member is called {field[:40]!r}; names are UTF-8") from None


def ustar_name(header: bytes) -> str:
    name, prefix = text(header[:100]), text(header[345:500])
    return f"{prefix}/{name}" if prefix else name


def pax_path(records: bytes) -> str:
    """Return the name that an extended header gives the next member; a size of its own is refused."""
    path = ""
    for line in records.split(b"\n"):
        key, _, value = line.partition(b" ")[2].partition(b"=")
        if key == b"path":
            path = text(value)
        elif key == b"size":
            raise FileError("a tar member has its size in an extended header, which no model needs; pack it anew")
    return path


def tar_bytes(members: Mapping[str, bytes]) -> bytes:
    """Return a tar with the given files; the same bytes for the same files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, body in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return archive.getvalue()


def write_packed(path: Path, content: bytes, ending: str) -> None:
    """Write a file whole, or leave what was there; `ending` is ``.gz``, ``.xz`` or empty."""
    packed = {".gz": lambda: gzip.compress(content, mtime=0), ".xz": lambda: lzma.compress(content)}
    try:
        with replacing(path) as file:
            file.write(packed[ending]() if ending else content)
    except OSError as error:
        raise FileError(f"{error.strerror or error}; nothing was saved") from None
