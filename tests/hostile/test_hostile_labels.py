"""Labels made of markup and control characters: the same label in every output, and nothing obeys it."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import pytest

from goalward.cli import main
from goalward.escapes import markdown, mathtext, visible
from goalward.report.regret_figures import regret_figure
from goalward.results.results import open_results

LABELS = [
    "$x_1$",
    r"\frac{1}{2}",
    "a|b",
    "<script>alert(1)</script>",
    "[red]x[/red]",
    "x\x1b[31my",
    "two\nlines",
    "_a_*b*",
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    agents = "".join(f"[[agents]]\nagent = 'uniform'\nlabel = {json.dumps(label)}\n" for label in LABELS)
    world = f"[[worlds]]\nworld = 'grid-world'\nlabel = {json.dumps(LABELS[0])}\n"
    (folder / "study.toml").write_text(f"name = 'labels'\nruns = 2\nepisodes = 5\n{world}{agents}")
    with pytest.raises(SystemExit) as end:
        main(["run", str(folder / "study.toml"), "--out", str(folder / "results"), "--workers", "1"])
    assert end.value.code == 0
    return folder / "results"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main(list(arguments))
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "summary"])
def test_terminal(results: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    text = printed(capsys, verb, str(results))
    assert not set(text) & {chr(code) for code in range(32) if code != 10}
    for label in LABELS:
        assert sum(visible(label) in line for line in text.splitlines()) >= 1, label


def test_json_and_csv_keep_the_label_itself(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "summary", str(results), "--json"))["rows"]
    assert [row["agent"] for row in rows] == LABELS
    printed(capsys, "summary", str(results), "--csv", str(tmp_path / "summary.csv"))
    with (tmp_path / "summary.csv").open(newline="") as file:
        assert [row["agent"] for row in csv.DictReader(file)] == LABELS


def test_markdown(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "summary", str(results), "--markdown", str(tmp_path / "summary.md"))
    text = (tmp_path / "summary.md").read_text()
    assert "<script>" not in text
    for label in LABELS:
        assert markdown(label) in text
        # What Markdown shows is the label: a backslash before a mark is taken away, an entity is a character.
        assert html.unescape(re.sub(r"\\([\\`*_|~$\]&])", r"\1", markdown(label))) == visible(label)


def test_figures(results: Path, tmp_path: Path) -> None:
    figure = regret_figure(open_results(results, None))
    figure.savefig(tmp_path / "figure.png")
    legend = figure.legends[0] if figure.legends else figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][: len(LABELS)] == [mathtext(label) for label in LABELS]
    assert figure.axes[0].get_title() == mathtext(LABELS[0])
