"""`goalward claims` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., tuple[int, str, str]]


def test_table_and_json_agree(tmp_path: Path, call: Call) -> None:
    """The test that needs no study is real, and quick."""
    given = ["claims", "--only", "withheld", "--workers", "1", "--out", str(tmp_path / "results")]
    code, table, _ = call(*given)
    assert code == 0
    code, text, _ = call(*given, "--format", "json")
    assert code == 0
    (row,) = json.loads(text)["claims"]
    assert (row["key"], row["verdict"]) == ("withheld", "holds")
    assert table.startswith(f"holds: {row['claim']}\n  measured   agents must know: psrl nothing")
    assert table.endswith("* 1 holds\n")
