"""What attacks share: bytes and texts with something wrong, and the command line called in this process."""

from __future__ import annotations

import contextlib
import io
import random

from goalward.cli import main

__all__ = ["SNIPPETS", "call", "mutate_bytes", "mutate_text"]

SNIPPETS = (
    "\x00", "\t", "\r\n", "\x1b[31m", "\ud7ff", "é", "'", '"', '"""', "[", "]", "{", "}", "[[", "=", "#", ",", ".", "-",
    "nan", "inf", "-1", "1e999", "9" * 400, "0x10", "true", "null", "../../x", "/dev/zero", "$(id)", "<script>", "%s",
    "[" * 300, "{a=" * 50, "state", "goal", "1979-05-27",
)  # fmt: skip


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, repeat or overwrite some bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not changed:
            break
        place = rng.randrange(len(changed))
        kind = rng.randrange(5)
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[place:]
        elif kind == 2:
            changed[place:place] = changed[place : place + rng.randrange(64)]
        elif kind == 3:
            changed[place : place + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])
        else:
            del changed[place : place + rng.randrange(16)]
    return bytes(changed)


def mutate_text(rng: random.Random, text: str) -> str:
    """Insert, remove or exchange some pieces of a text."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        place, length = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 3, 10])
        text = text[:place] + rng.choice(SNIPPETS) + text[place + length :]
    if rng.random() < 0.2:
        lines = text.splitlines(keepends=True)
        rng.shuffle(lines)
        text = "".join(lines)
    return text


def call(*arguments: str) -> tuple[int, str, str]:
    """Call the command line; return its exit code and what it printed on both channels."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    return code, out.getvalue(), err.getvalue()
