"""`goalward claims` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goalward.claims.run_source import RunSource
from goalward.cli import main
from goalward.execution.pools import InProcess
from goalward.results.store import Store

THEOREM = """
name = "claims-theorem"
[[worlds]]
world = "random-mdp-v0"
settings = { rows = "dirichlet", cost_min = 0.5, states = 2 }
draw = "seed"
[[agents]]
agent = "psrl"
"""


def test_table_json_and_markdown_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test that needs no study is real, and quick."""
    monkeypatch.setenv("COLUMNS", "100")
    results, page, bounds = tmp_path / "results", tmp_path / "table.md", tmp_path / "bounds.md"
    (tmp_path / "theorem.toml").write_text(THEOREM)
    source = RunSource(Store.open(results, create=True), InProcess(), quick=True)
    source.results(str(tmp_path / "theorem.toml"), runs=2, episodes=60)
    given = ["claims", "--quick", "--only", "withheld", "--workers", "1", "--out", str(results)]
    printed = []
    for extra in (["--markdown", str(page), "--bounds", str(bounds)], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main([*given, *extra])
        assert left.value.code == 0
        printed.append(capsys.readouterr())
    table, document = printed[0].out, json.loads(printed[1].out)
    assert "testing: withheld" in printed[0].err
    (row,) = document
    assert (row["key"], row["verdict"]) == ("withheld", "holds")
    assert table.startswith(f"holds          {row['claim']}\n               4 of 4 runs the same, episode by episode")
    assert table.endswith(f"1 holds\n\nwritten: {page}\n\nwritten: {bounds}\n")
    assert "**holds** | 4 of 4 runs the same" in page.read_text()
    assert bounds.read_text().splitlines()[4].startswith("| 2 | 2 | 60 |")


def test_a_folder_without_runs_of_the_theorem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["claims", "--quick", "--only", "withheld", "--workers", "1", "--out", str(tmp_path / "r")]
    with pytest.raises(SystemExit) as left:
        main([*given, "--bounds", str(tmp_path / "bounds.md")])
    assert left.value.code == 2
    assert "goalward claims --only theorem-1 makes them" in capsys.readouterr().err
