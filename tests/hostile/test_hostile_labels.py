"""Labels made of markup and control characters: the same label in every output, and nothing obeys it."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from goalward import SSP
from goalward.cli import main
from goalward.figures.regret import regret_figure
from goalward.formatting import latex_text, markdown_text, mathtext, visible
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
CONTROLS = {chr(code) for code in range(32) if code != 10}


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


@pytest.mark.parametrize("verb", ["export", "status", "summary"])
def test_terminal(results: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    text = printed(capsys, verb, str(results), "--format", "text")
    assert not set(text) & CONTROLS
    for label in LABELS:
        assert sum(visible(label) in line for line in text.splitlines()) >= 1, label


def test_json_and_csv_keep_the_label_itself(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "summary", str(results), "--format", "json"))["summary"]
    assert [row["agent"] for row in rows] == LABELS
    text = printed(capsys, "summary", str(results), "--format", "csv")
    assert [row["agent"] for row in csv.DictReader(io.StringIO(text, newline=""))] == LABELS
    printed(capsys, "summary", str(results), "--out", str(tmp_path / "summary.csv"))
    with (tmp_path / "summary.csv").open(newline="") as file:
        assert [row["agent"] for row in csv.DictReader(file)] == LABELS


def test_html_and_latex(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "summary", str(results), "--format", "html")
    shown = ["".join(cell.itertext()) for cell in ET.fromstring(f"<div>{page}</div>").iter("td")]
    assert {visible(label) for label in LABELS} <= set(shown)
    assert "<script" not in page
    document = printed(capsys, "status", str(results), "--format", "latex")
    for label in LABELS:
        assert latex_text(label) in document
    rows = document.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    rows = [row for row in rows if not row.startswith(r"\multicolumn")]  # the name of the study
    assert all(re.fullmatch(r"([^&]*[^\\]&){4}[^&]*\\\\", row.replace(r"\&", "")) for row in rows)


def test_markdown(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "summary", str(results), "--out", str(tmp_path / "summary.md"))
    text = (tmp_path / "summary.md").read_text()
    assert "<script>" not in text
    for label in LABELS:
        assert markdown_text(label) in text
        # What Markdown shows is the label: a backslash before a mark is taken away, an entity is a character.
        assert html.unescape(re.sub(r"\\([\\`*_|~$\]&])", r"\1", markdown_text(label))) == visible(label)


def test_export(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "export", str(results), "--out", str(tmp_path / "runs.csv"))
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert list(dict.fromkeys(row["agent"] for row in csv.DictReader(file))) == LABELS


@pytest.mark.parametrize(("first", "second"), list(itertools.pairwise(LABELS)))
def test_comparison(results: Path, capsys: pytest.CaptureFixture[str], first: str, second: str) -> None:
    text = printed(capsys, "summary", str(results), "--compare", first, second)
    assert not set(text) & CONTROLS
    assert visible(first) in text


def test_report(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "report", str(results), "--out", str(tmp_path / "report.html"))
    check_page(tmp_path / "report.html", LABELS)


def test_replay_of_a_hostile_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = tmp_path / f"{LABELS[4][1:4]}<script>.json"
    names = [*LABELS, "</script><script>alert(2)</script>"]
    P = np.zeros((len(names), 1, len(names) + 1))
    for state in range(len(names)):
        P[state, 0, state + 1] = 1.0
    SSP.from_dense(P, np.ones((len(names), 1)), state_names=names, action_names=["<b>"]).save(world)
    page = tmp_path / "watch.html"
    text = printed(capsys, "watch", str(world), "--episodes", "3", "--out", str(page))
    assert "written: " in text
    check_page(page, names)
    assert not set(printed(capsys, "solve", str(world)) + printed(capsys, "show", str(world))) & CONTROLS


def check_page(page: Path, labels: list[str]) -> None:
    """See that labels are in the data of a page, and that none of them is an element of it."""
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert len(re.findall(r"<script\b", text)) == len(re.findall(r"</script>", text))
    document = re.search(r'<script type="application/json" id="document">(.*?)</script>', text, re.DOTALL)
    assert document is not None
    found = set(strings(json.loads(document[1])))
    assert set(labels) <= found


def strings(data: Any) -> Iterator[str]:
    """Return all texts in plain data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from strings(part)


def test_figures(results: Path, tmp_path: Path) -> None:
    figure = regret_figure(open_results(results, None))
    figure.savefig(tmp_path / "figure.png")
    legend = figure.legends[0] if figure.legends else figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][: len(LABELS)] == [mathtext(label) for label in LABELS]
    assert figure.axes[0].get_title() == mathtext(LABELS[0])
