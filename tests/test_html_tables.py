"""What a notebook shows of runs, solutions, studies and results: well formed, and free of other people's markup."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

import goalward as gw
from goalward.html_tables import line_html
from made_up_results import cell_results, study

HOSTILE = '"><img src=x onerror=alert(1)><script>'


def parsed(shown):
    """Return the root of what was shown; malformed markup raises ParseError."""
    return ET.fromstring(shown._repr_html_())


def tags(root):
    return {element.tag for element in root.iter()}


def test_runs():
    grid = gw.worlds.grid_world()
    run = gw.learn(gw.agents.PSRL(), grid, 30)
    root = parsed(run)
    text = "".join(root.itertext())
    assert "Run of psrl" in text
    assert "30 of 30" in text
    assert len(root.find(".//polyline").get("points").split()) == 30
    cut = gw.learn(gw.agents.PSRL(), grid, 30, max_steps=1)
    assert "max_steps ended the run" in "".join(parsed(cut).itertext())


def test_solutions_show_names_as_text():
    world = gw.SSP.from_transitions([(HOSTILE, HOSTILE, "goal", 1.0, 2.5)], goals=["goal"])
    root = parsed(gw.solve(world))
    assert not tags(root) & {"img", "script"}
    assert [cell.text for cell in root.iter("td")][-3:] == [HOSTILE, "2.5", HOSTILE]
    assert "1 more states" not in "".join(root.itertext())
    assert "88 more states" in "".join(parsed(gw.solve(gw.worlds.make("sparse-mdp"))).itertext())


def test_studies_and_results():
    root = parsed(gw.Study.load("paper-theory"))
    assert len(root.findall(".//tbody/tr")) >= 10
    results = study(cell_results(HOSTILE, HOSTILE, 2.0))
    root = parsed(results)
    assert not tags(root) & {"img", "script"}
    assert "4 of 4" in [cell.text for cell in root.iter("td")]


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0], [-1.0, 2.0]])
def test_curves_of_any_length(values):
    assert "nan" not in line_html(values, "x")


def test_a_table_of_results_shows_itself() -> None:
    shown = gw.Table([{"agent": "<i>", "regret": 1234.5}, {"agent": "b", "regret": math.nan}])._repr_html_()
    assert "&lt;i&gt;" in shown
    assert "1,234" in shown
    assert "nan" not in shown
