"""`goalward theory` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., tuple[int, str, str]]
STUDY = """
name = "small"
runs = 2
episodes = 30
[[worlds]]
world = "grid-world"
[[agents]]
agent = "psrl"
[[agents]]
agent = "uniform"
"""


def test_table_json_and_picture(tmp_path: Path, call: Call) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    folder = tmp_path / "results"
    assert call("run", str(tmp_path / "small.toml"), "--out", str(folder), "--workers", "1")[0] == 0
    code, text, _ = call("theory", str(folder), "--runs", "2")
    assert code == 0
    assert "psrl in grid-world: mean of 2 runs" in text
    assert "R1 <= B L" in text
    assert "uniform has no posterior" in text
    assert (folder / "theory-psrl-in-grid-world.png").exists()
    code, text, _ = call("theory", str(folder), "--runs", "1", "--format", "json", "--out", str(tmp_path / "pictures"))
    rows = json.loads(text)["theory"]
    assert {row["cell"] for row in rows} == {"psrl in grid-world"}
    assert (tmp_path / "pictures" / "theory-psrl-in-grid-world.png").exists()
