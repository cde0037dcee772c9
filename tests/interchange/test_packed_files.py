"""Packed files and tar archives: what is there is read, up to a limit, and nothing else happens."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest

from goalward.errors import FileError
from goalward.interchange.umb import pieces, read_packed, tar_bytes, tar_members


def archive(format: int, **members: bytes) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w", format=format) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return body.getvalue()


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_of_every_dialect(format: int) -> None:
    long = "annotations/" + "/".join(["rewards"] * 8) + "/" + "x" * 60
    found = tar_members(io.BytesIO(archive(format, **{"a.bin": b"", "b": b"x" * 513, long: b"long", "c": b"end"})))
    assert {name: bytes(body) for name, body in found.items()} == {
        "a.bin": b"",
        "b": b"x" * 513,
        long: b"long",
        "c": b"end",
    }


def test_links_folders_and_devices_are_passed_over() -> None:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo("../outside")
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        tar.addfile(tarfile.TarInfo("inside"))
    assert list(tar_members(body)) == ["inside"]


def test_python_reads_what_is_written() -> None:
    members = {"index.json": b"{}", "actions/choices/values.bin": b"\0" * 700}
    with tarfile.open(fileobj=io.BytesIO(tar_bytes(members))) as tar:
        for name, body in members.items():
            member = tar.extractfile(name)
            assert member is not None
            assert member.read() == body


def header(**changes: bytes) -> bytearray:
    """Return an archive of one member whose header has other fields, with the checksum put right."""
    content = bytearray(archive(tarfile.USTAR_FORMAT, name=b"body"))
    for field, value in changes.items():
        start = {"size": 124, "magic": 257, "name": 0, "kind": 156}[field]
        content[start : start + len(value)] = value
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:512])
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header(size=b"77777777777\0"), "ends inside 'name' of 8,589,934,591 bytes"),
        (header(size=b"\xff" * 12), "the tar header at byte 0 has an unknown size or kind"),
        (header(size=b"-0000000001\0"), "the tar header at byte 0 has an unknown size"),
        (header(size=b"00000000009\0"), r"not a tar file \(invalid header\)"),
        (header(size=b"\x80" + b"\xff" * 11), "ends inside 'name'"),
        (header(size=b"\x80" + b"\xff" * 11, kind=b"x"), "not a tar"),
        (header(size=b"\xff" * 12, kind=b"x"), "not a tar"),
        (header(size=b"\xff" * 12, kind=b"L"), "not a tar"),
        (header(kind=b"S"), "an unknown size or kind"),
        (header(name=b"\xff\xfe"), "not UTF-8"),
        (header()[:514], "ends inside 'name' of 4 bytes"),
        (bytearray(b"x" * 512), "not a tar file"),
        (bytearray(b"x" * 100), "not a tar file"),
        (header()[:1024] + header(), "contains 'name' twice"),
        (header()[:1024] + b"x" * 512, "no tar header at byte 1024"),
        (header()[:1024] + header()[:100], "no tar header at byte 1024"),
        (header(kind=b"L")[:1024] * 2000, "not a tar"),
    ],
)
def test_headers_that_lie(content: bytearray, message: str) -> None:
    with pytest.raises(FileError, match=message):
        tar_members(io.BytesIO(content))


def test_a_checksum_that_is_wrong() -> None:
    content = header()
    content[0] ^= 1
    with pytest.raises(FileError, match="not a tar"):
        tar_members(io.BytesIO(content))
    with pytest.raises(FileError, match="no tar header at byte 1024"):
        tar_members(io.BytesIO(header()[:1024] + content))


@pytest.mark.parametrize("size", ["-512", "-1024", "-1"])
def test_a_negative_size_in_an_extended_header_is_refused(size: str) -> None:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("name")
        member.pax_headers = {"size": size}
        tar.addfile(member)
    with pytest.raises(FileError, match="an unknown size or kind"):
        tar_members(body)


def test_too_many_members() -> None:
    with pytest.raises(FileError, match="contains more than 10,000 files"):
        tar_members(io.BytesIO(b"".join(header(name=b"%06d" % number)[:1024] for number in range(10_001))))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_no_more_than_the_limit_is_read(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(bytes(3 << 20)))
    assert len(read_packed(path).getvalue()) == 3 << 20
    with pytest.raises(FileError, match="has more than 1,000 bytes"):
        list(pieces(path, 1000))


def test_files_that_end_early(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for pack in (gzip.compress, lzma.compress):
        content = pack(bytes(range(256)) * 40)
        for length in (7, 20, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(FileError, match="damaged"):
                read_packed(path)
