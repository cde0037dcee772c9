"""Damaged files, many and quickly: what is read from them is a model, or a FileError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from goalward import SSP
from goalward.errors import FileError

__all__ = ["check_mutants", "mutants", "write"]


def mutants(content: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Yield copies with flipped, overwritten, lost and repeated bytes, and copies that end early."""
    rng = np.random.default_rng(seed)
    nasty = [
        b"\xff" * 8,
        b"\0" * 8,
        b"\xff" * 7 + b"\x7f",
        b"99999999",
        b"-1",
        b"nan",
        b"1e999",
        b"\n",
        b" ",
        b"[",
        b'"',
    ]
    for number in range(count):
        at = int(rng.integers(len(content)))
        length = int(rng.integers(1, 40))
        match number % 6:
            case 0:
                yield content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
            case 1:
                piece = nasty[int(rng.integers(len(nasty)))]
                yield content[:at] + piece + content[at + len(piece) :]
            case 2:
                yield content[:at] + content[at + length :]
            case 3:
                yield content[:at] + content[at : at + length] + content[at:]
            case 4:
                yield content[:at]
            case _:
                yield content[:at] + rng.bytes(length) + content[at + length :]


def write(path: Path, content: bytes) -> None:
    """Write over a file that is there, which is much faster than writing it anew."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def check_mutants(path: Path, content: bytes, seed: int, count: int, **options: object) -> tuple[int, int]:
    """Load every mutant; return how many were refused and how many were read."""
    path.touch()
    refused, read = 0, count
    for mutant in mutants(content, seed, count):
        write(path, mutant)
        try:
            ssp = SSP.load(path, **options)  # type: ignore[arg-type]
        except FileError as error:
            refused += str(error).startswith(f"{path}: ")
            read -= 1
        else:
            assert np.isfinite(ssp.costs[ssp.available]).all()
    assert refused + read == count, "a message does not name the file"
    return refused, read
