"""One table in six formats."""

from __future__ import annotations

import csv
import io
import json
import math
from xml.etree import ElementTree as ET

import pytest

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
    assert r"psrl & 805 $\pm$ 44 & 1,234 \\" in TABLE.latex()


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


def test_a_terminal_shows_markup_as_text() -> None:
    from rich.console import Console

    console = Console(width=40, file=io.StringIO(), color_system=None)
    console.print(Table([{"agent": "[red]x[/red]", "text": "word " * 30}], title="[b]t[/b]"))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 40
    assert "[red]x[/red]" in "\n".join(lines)


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
