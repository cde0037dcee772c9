"""`goalward claims` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from goalward.paper.claims.runs import RunSource
from goalward.studies.executors import ThisProcess
from goalward.studies.store import Store

Call = Callable[..., tuple[int, str, str]]

THEOREM = """
name = "claims-theorem"
[[worlds]]
world = "random-mdp-v1"
settings = { cost_min = 0.5, states = 2 }
draw = "seed"
[[agents]]
agent = "psrl"
"""


def test_table_json_and_markdown_agree(tmp_path: Path, call: Call) -> None:
    """The test that needs no study is real, and quick."""
    results, page, bounds = tmp_path / "results", tmp_path / "table.md", tmp_path / "bounds.md"
    (tmp_path / "theorem.toml").write_text(THEOREM)
    source = RunSource(Store.open(results, create=True), ThisProcess(), quick=True)
    source.results(str(tmp_path / "theorem.toml"), runs=2, episodes=60)
    given = ["claims", "--quick", "--only", "withheld", "--workers", "1", "--out", str(results)]
    code, table, progress = call(*given, "--table", page, "--bounds", bounds)
    assert (code, progress) == (0, "testing: withheld\n")
    code, text, _ = call(*given, "--format", "json")
    assert code == 0
    document = json.loads(text)
    (row,) = document["claims"]
    assert (row["key"], row["verdict"]) == ("withheld", "holds")
    assert table.startswith(f"holds: {row['claim']}\n  measured   4 of 4 runs the same, episode by episode")
    assert table.endswith(f"* 1 holds\n\nwritten: {page}\nwritten: {bounds}\n")
    assert "| measured | 4 of 4 runs the same" in page.read_text()
    assert bounds.read_text().splitlines()[4].startswith("| 2 | 2 | 60 |")


def test_bounds_without_runs_of_the_theorem_are_refused_before_the_work(tmp_path: Path, call: Call) -> None:
    given = ["claims", "--quick", "--only", "withheld", "--workers", "1", "--out", tmp_path / "results"]
    code, _, error = call(*given, "--bounds", tmp_path / "bounds.md")
    assert code == 2
    assert "testing: withheld" not in error
    assert "--only theorem-1" in error
    assert not (tmp_path / "results").exists()
