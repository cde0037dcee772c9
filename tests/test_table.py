"""One table in six formats."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

import goalward as gw
from goalward.errors import FileError, UnknownNameError
from goalward.formatting import Interval
from goalward.table import FORMATS, Cell, Column, Table, render, save
from made_up_results import cell_results, study

HOSTILE = '"><img src=x onerror=alert(1)><script>'
TABLE = Table(
    [
        {"agent": "psrl", "regret": Interval(804.96, 761.2, 848.7, 20), "runs": 1234, "hidden": 0.123456789},
        {
            "agent": Cell("a|b", "a|b *"),
            "regret": Interval(math.inf, math.nan, math.nan, 1),
            "runs": None,
            "hidden": 2.0,
        },
    ],
    ["agent", Column("regret", "mean regret"), "runs"],
    title="two agents",
    notes=["* marks a caveat"],
)


def test_people_see_the_named_columns_rounded() -> None:
    assert TABLE.text() == (
        "two agents\n"
        "  agent   mean regret    runs\n"
        "  psrl       805 ± 44   1,234\n"
        "  a|b *           inf\n\n"
        "* * marks a caveat"
    )
    assert TABLE.markdown().splitlines()[2:6] == [
        "| agent | mean regret | runs |",
        "| --- | ---: | ---: |",
        "| psrl | 805 ± 44 | 1,234 |",
        r"| a\|b \* | inf |  |",
    ]


NASTY = Table(
    [
        {"world": "50 % of $x_1$", "agent": r"\input{a}&#~^|<>[]*{}", "regret": Interval(-1234.5, -1290.5, -1178.5, 9)},
        {"world": "50 % of $x_1$", "agent": "[b]", "regret": Interval(0.512, 0.4, 0.9, 9)},
        {"world": "S² A ± 1", "agent": "*", "regret": Interval(2.65e-13, -5e-13, 1e-12, 3)},
        {"world": "S² A ± 1", "agent": "d", "regret": Interval(math.nan, math.nan, math.nan, 1)},
    ],
    ["agent", "regret"],
    title="95 % intervals",
    notes=["# is a caveat"],
    group="world",
)  # fmt: skip
LONG = Table(
    [
        {
            "cell": f"cell {cell}",
            "statement": "epochs L <= sqrt(2 S A K log T) + S A log T",
            "measured": Interval(1.85e-13, 1e-14, 3.6e-13, 3),
            "bound": 2.15e9 if row else 1023.0,
            "ratio": 1.42e-7,
            "note": "in expectation over worlds of the prior, which are drawn anew for each of the runs",
        }
        for cell in range(4)
        for row in range(13)
    ],
    ["statement", "measured", "bound", "ratio", "note"],
    title="mean of 3 runs",
    notes=["the only note"],
    group="cell",
)
FACTS = Table.facts({"states": 4, "a_b": "long text & more"}, title="50 %")


def test_latex_aligns_numbers_and_escapes_names() -> None:
    text = TABLE.latex()
    assert r"psrl & 805 & ${}\pm 44$ & 1{,}234 \\" in text
    assert r"a\textbar{}b {*} & \multicolumn{2}{c}{inf} & \multicolumn{1}{c}{} \\" in text
    assert r"\begin{tabular}{lD{.}{.}{3.0}@{\,}lD{.}{.}{5.0}}" in text
    assert r"{[}b] & 0.51 & $[0.40, 0.90]$ \\" in NASTY.latex()
    assert r"2.65 \times 10^{-13}" in NASTY.latex()


def test_latex_stays_on_the_page() -> None:
    """Groups that do not fit on one page are tables of their own; long texts are broken, wide tables made smaller."""
    text = LONG.latex()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 4
    assert [text.count(rf"\emph{{cell {cell}}}") for cell in range(4)] == [1, 1, 1, 1]
    assert text.count("the only note") == 1
    assert text.count(r"p{0.35\linewidth}") == 8
    assert text.count(r"\resizebox") == text.count(r"\end{tabular}}") == 4
    assert text.count(r"\\") == 4 * (13 + 2)
    short = replace(LONG, rows=LONG.rows[:26]).latex()
    assert short.count(r"\begin{table}") == 1
    assert r"\resizebox" not in TABLE.latex()


@pytest.mark.parametrize("table", [TABLE, NASTY, Table([], ["agent"])], ids=["plain", "nasty", "empty"])
def test_rows_of_latex_fill_the_columns(table: Table) -> None:
    begin, *body = re.split(r"\\(?:top|mid|bottom)rule\n", table.latex())
    kinds = begin[begin.index("{tabular}{") + 10 : begin.rindex("}")]
    width = len(re.sub(r"@\{[^}]*\}|D\{.\}\{.\}\{[^}]*\}", lambda found: "r" * found[0].startswith("D"), kinds))
    rows = [row for part in body[:-1] for row in part.splitlines()]
    assert len(rows) == len(table) + (2 if table is NASTY else 0) + 1
    for row in rows:
        assert row.endswith(r" \\")
        cells = re.split(r"(?<!\\)&", row)
        spans = [re.search(r"\\multicolumn\{(\d+)\}", cell) for cell in cells]
        assert sum(int(span[1]) if span else 1 for span in spans) == width


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles(tmp_path) -> None:
    document = [r"\documentclass{article}", r"\usepackage{booktabs,dcolumn,graphicx}", r"\begin{document}"]
    document += [table.latex() for table in (TABLE, NASTY, FACTS, LONG)]
    (tmp_path / "tables.tex").write_text("\n".join([*document, r"\end{document}"]))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tables.tex"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:]
    assert "Overfull" not in found.stdout
    assert "too large" not in found.stdout


def test_only_columns_of_numbers_are_aligned_at_the_right() -> None:
    """Column 12 says nothing about columns 1 and 2."""
    row = {f"c{number}": 1.5 if number in (12, 23) else "text" for number in range(25)}
    rules = Table([row], list(row)).markdown().splitlines()[1].strip("| ").split(" | ")
    assert [number for number, rule in enumerate(rules) if rule == "---:"] == [12, 23]


def test_programs_get_every_value_with_all_digits() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert list(rows[0]) == ["agent", "regret", "regret_low", "regret_high", "runs", "hidden"]
    assert rows[0]["hidden"] == "0.123456789"
    assert (rows[1]["agent"], rows[1]["regret_low"], rows[1]["runs"]) == ("a|b", "", "")
    document = json.loads(TABLE.json())
    assert document["rows"][0]["regret_high"] == 848.7
    assert document["rows"][1]["regret"] is None
    assert document["notes"] == ["* marks a caveat"]
    assert TABLE["regret"] == [804.96, math.inf]
    with pytest.raises(UnknownNameError, match="no column is called 'regrett'"):
        TABLE["regrett"]


def test_facts_are_one_object_and_leave_out_what_is_empty() -> None:
    facts = Table.facts({"states": Cell(4, "4 and the goal"), "cost": None, "seed": 7}, "model", "grid")
    assert facts.text() == "grid\n  states   4 and the goal\n  seed     7"
    assert json.loads(facts.json())["model"] == {"states": 4, "cost": None, "seed": 7}
    assert render([facts, TABLE], "csv") == TABLE.csv().rstrip("\n")
    assert list(json.loads(render([facts, TABLE], "json"))) == ["model", "rows", "notes"]


def test_groups_head_blocks_for_people_only() -> None:
    rows = [{"world": world, "agent": agent} for world in ("one", "two") for agent in "ab"]
    table = Table(rows, ["agent"], title="agents", group="world")
    assert table.text().startswith("one: agents\n  agent\n  a\n  b\n\ntwo: agents\n")
    assert len(table.data()) == 4


def test_long_tables_are_cut_for_people_only() -> None:
    table = Table([{"n": n} for n in range(30)], most=20)
    assert "and 10 more; --format json lists all" in table.text()
    assert len(json.loads(table.json())["rows"]) == 30


@pytest.mark.parametrize("format", FORMATS)
def test_control_characters_never_come_out(format: str) -> None:
    table = Table([{HOSTILE: "x\x1b[31my\nz"}], title="\x1b[0m", notes=["\x07"])
    shown = render([table], format)
    assert "\x1b" not in shown.replace(json.dumps("\x1b"), "") or format == "csv"
    assert "<script>" not in shown or format in ("text", "csv", "json", "latex", "markdown")
    assert format not in ("html", "markdown") or "<script" not in shown


def test_a_terminal_folds_long_texts() -> None:
    rows = [{"agent": "[red]x[/red]", "text": "word " * 30, "n": 1}]
    console = Console(file=io.StringIO(), width=50, force_terminal=True)
    console.print(*Table(rows, title="[b]t[/b]", notes=["a note"]).terminal(50), sep="\n")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())  # type: ignore[attr-defined]
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 50
    assert all(text in shown for text in ("[b]t[/b]", "[red]x[/red]", "* a note"))
    assert len(lines) > 5
    assert shown.count("word") == 30
    assert "\x1b[1" in console.file.getvalue()  # type: ignore[attr-defined]


def test_files(tmp_path) -> None:
    for ending in (".txt", ".md", ".csv", ".json", ".html", ".tex", ".parquet"):
        save([TABLE], tmp_path / f"new/table{ending}")
        assert (tmp_path / f"new/table{ending}").stat().st_size > 50
    with pytest.raises(FileError, match="the ending is"):
        TABLE.save(tmp_path / "table.xls")
    with pytest.raises(FileError, match="cannot be written"):
        TABLE.save(tmp_path / "new/table.csv/table.csv")


# What notebooks show: well formed, and free of other people's markup.


def parsed(shown):
    """Return the root of what was shown; malformed markup raises ParseError."""
    return ET.fromstring(shown._repr_html_())


def tags(root):
    return {element.tag for element in root.iter()}


def test_runs() -> None:
    grid = gw.worlds.grid_world()
    run = gw.learn(gw.agents.PSRL(), grid, 30)
    root = parsed(run)
    text = "".join(root.itertext())
    assert "Run of psrl" in text
    assert "30 of 30" in text
    cut = gw.learn(gw.agents.PSRL(), grid, 30, max_steps=1)
    assert "max_steps ended the run" in "".join(parsed(cut).itertext())


def test_solutions_show_names_as_text() -> None:
    world = gw.SSP.from_transitions([(HOSTILE, HOSTILE, "goal", 1.0, 2.5)], goals=["goal"])
    root = parsed(gw.solve(world))
    assert not tags(root) & {"img", "script"}
    assert [cell.text for cell in root.iter("td")][-3:] == [HOSTILE, "2.5", HOSTILE]
    assert "1 more states" not in "".join(root.itertext())
    assert "88 more states" in "".join(parsed(gw.solve(gw.worlds.make("sparse-mdp"))).itertext())


def test_studies_and_results() -> None:
    root = parsed(gw.Study.load("paper-theory"))
    assert len(root.findall(".//tbody/tr")) >= 10
    root = parsed(study(cell_results(HOSTILE, HOSTILE, 2.0)))
    assert not tags(root) & {"img", "script"}
    assert any("4 of 4 runs stored" in text for text in root.itertext())
    assert not tags(parsed(Table([{"agent": HOSTILE, "regret": math.nan}]))) & {"img", "script"}


def test_notebooks_show_models_and_what_is_computed_of_them():
    grid = gw.worlds.grid_world()
    hostile = gw.SSP.from_transitions([(HOSTILE, "go", "home", 1.0, 3.0)], goals=["home"])
    shown = {
        hostile: [HOSTILE, "3"],
        grid: ["11"],
        gw.hardness(grid): ["6.04"],
        gw.structure(grid): ["11", "True"],
        gw.evaluate(grid, gw.solve(grid).policy): ["6.03648"],
        gw.agents.find("ulcvi").from_settings({}, grid, 10): ["ULCVI", "0.1"],
    }
    for thing, expected in shown.items():
        words = " ".join(ET.fromstring(f"<div>{thing._repr_html_()}</div>").itertext())
        assert [value for value in expected if value not in words] == [], words
