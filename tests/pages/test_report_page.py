"""The page of a study, in a real browser: curves and tables are those of the results, and partial results say so."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import goalward as gw
from browsing import wait_until
from goalward.cli import main
from goalward.errors import FileError, SettingError
from goalward.formatting import visible
from goalward.pages.report import report_of_folder
from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.workers import ThisProcess
from made_up_results import cell_results, study
from study_fixtures import STUDY

LONG = "a label that goes on and on and on, as labels made of settings do"


@pytest.fixture(scope="module")
def results():
    cells = [
        cell_results(world, agent, slope)
        for world in ("one", "two")
        for agent, slope in (("psrl", 1.0), ("uc-ssp", 3.0))
    ]
    return study(*cells, cell_results("two", "cut", 9.0, cut=40, caveat="not what the theory covers"))


@pytest.fixture(scope="module")
def path(results, tmp_path_factory):
    return gw.report(results).save(tmp_path_factory.mktemp("pages") / "report.html")


@pytest.fixture(scope="module")
def stored_folder(tmp_path_factory):
    """A results folder with a small study that was really run."""
    source = tmp_path_factory.mktemp("study") / "small.toml"
    source.write_text(STUDY, encoding="utf-8")
    store = Store.open(source.parent / "results", create=True)
    run_study(Study.load(source), store, ThisProcess)
    return store.folder


def curves(page, world):
    """Return what the chart of a world draws: the end of each agent's curve."""
    return page.eval_on_selector_all(
        f".world:nth-of-type({world}) .curve",
        "all => Object.fromEntries(all.map((c) => [c.dataset.agent, Number(c.dataset.last)]))",
    )


def test_curves_are_there_with_their_ends(visit, path):
    page = visit(path)
    assert curves(page, 1) == {"psrl": 250.0, "uc-ssp": 450.0}
    # The mean of four runs, up to the episode in which the first of them was cut off.
    assert curves(page, 2) == {"psrl": 250.0, "uc-ssp": 450.0, "cut": 10.5 * 40}
    assert page.locator(".world:nth-of-type(2) .cut").count() == 1
    assert page.locator(".band").count() == 5
    assert page.inner_text(".caveat >> nth=0") == "* cut: not what the theory covers"


def test_toggles_change_what_is_drawn(visit, path):
    page = visit(path)
    page.click(".agent-toggle[data-agent=psrl]")
    assert set(curves(page, 1)) == {"uc-ssp"}
    page.click("text=intervals")
    assert page.locator(".band").count() == 0
    page.click("text=single runs")
    assert page.locator(".world:nth-of-type(1) .runs").count() == 1
    assert page.get_attribute(".world:nth-of-type(1) .runs", "d").count("M") == 4
    linear = page.get_attribute(".world:nth-of-type(1) .line", "d")
    page.click("button[data-value=log]")
    assert page.get_attribute(".world:nth-of-type(1) .line", "d") != linear
    wait_until(page, "location.hash.includes('axes=log')")
    again = visit(path, page.evaluate("location.hash.slice(1)"))
    assert set(curves(again, 1)) == {"uc-ssp"}
    assert again.locator(".runs").count() == page.locator(".runs").count() == 3
    page.keyboard.press("1")
    assert set(curves(page, 1)) == {"psrl", "uc-ssp"}


def without_regret(cell):
    """Return a cell of a world whose optimal cost is not known: it has steps only."""
    unknown = {measure: np.full_like(curve, np.nan) for measure, curve in cell.curves.items() if measure != "steps"}
    values = cell.values | {measure: curve[:, -1] for measure, curve in unknown.items()}
    return replace(cell, curves=unknown | {"steps": cell.curves["steps"]}, values=values)


def test_worlds_without_regret_show_their_steps(visit, tmp_path):
    page = visit(gw.report(study(without_regret(cell_results("car", "psrl", 1.0)))).save(tmp_path / "car.html"))
    assert curves(page, 1) == {"psrl": 3.0}
    assert page.get_attribute(".world .line", "d") != ""
    assert "steps" in page.text_content(".world .axes")
    assert page.locator("button[data-value=regret]").count() == 0
    # Beside a world that has regret, the chart says why it is empty.
    both = study(cell_results("grid", "psrl", 1.0), without_regret(cell_results("car", "psrl", 1.0)))
    page = visit(gw.report(both).save(tmp_path / "both.html"))
    assert curves(page, 1) == {"psrl": 250.0}
    assert "not known" in page.text_content(".world:nth-of-type(2) .empty")
    page.click("button[data-value=steps]")
    assert (curves(page, 1), curves(page, 2)) == ({"psrl": 3.0}, {"psrl": 3.0})
    assert page.locator(".world .empty").count() == 0
    wait_until(page, "location.hash === '#measure=steps'")


def test_a_chart_without_a_finished_episode_says_so(visit, tmp_path):
    page = visit(gw.report(study(cell_results("grid", "psrl", 1.0, cut=0))).save(tmp_path / "page.html"))
    assert page.text_content(".world .empty") == "no episode was finished by all runs"


def test_values_appear_under_the_pointer(visit, path):
    page = visit(path)
    box = page.locator(".world:nth-of-type(1) .chart").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 60)
    shown = page.inner_text(".world:nth-of-type(1) .under-pointer")
    assert "uc-ssp" in shown
    assert "episode 9" in shown or "episode 100" in shown


def test_tables_are_those_of_the_summary(visit, path, results):
    page = visit(path)
    first = page.locator("table.summary").nth(0).locator("tbody tr").nth(1).locator("td")
    assert [first.nth(place).inner_text() for place in (0, 1, 3)] == ["uc-ssp", "4", "450"]
    page.click("text=What the columns mean")
    assert "the median of the regret over runs" in page.inner_text(".terms")


def test_tables_are_there_without_scripts(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    assert page.locator("table.summary").nth(0).locator("tbody tr").nth(1).inner_text().split()[:2] == ["uc-ssp", "4"]
    assert "switched off" in page.inner_text("noscript")
    context.close()


def test_it_fits_a_phone_and_the_dark(visit, path):
    page = visit(path, viewport={"width": 390, "height": 844}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("text=theme: system")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_labels_from_users_stay_text(visit, tmp_path):
    labels = ["<script>window.hit=1</script>", '"><img src=x onerror="window.hit=1">', LONG, "x\x1b[31my\r\x00\nz"]
    hostile = study(*(cell_results(labels[1], label, 1.0 + place) for place, label in enumerate(labels)))
    page = visit(gw.report(hostile).save(tmp_path / "p.html"), viewport={"width": 800, "height": 900})
    assert page.evaluate("window.hit") is None
    assert set(curves(page, 1)) == set(labels)
    assert page.inner_text(".world h2") == labels[1]
    page.click(".agent-toggle >> nth=1")
    wait_until(page, "location.hash.includes('hide=')")
    again = visit(tmp_path / "p.html", page.evaluate("location.hash.slice(1)"))
    assert set(curves(again, 1)) == {labels[0], *labels[2:]}
    assert page.locator(".summary .named").all_inner_texts() == [visible(label) for label in labels]
    assert page.evaluate("document.documentElement.scrollWidth") <= 800


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_no_chart_clips_the_names_of_agents(visit, tmp_path, width):
    cells = [cell_results("one", label, 1.0 + place) for place, label in enumerate(["WWWWWW Q-LEARNING MMMMMM", LONG])]
    page = visit(gw.report(study(*cells)).save(tmp_path / "p.html"), viewport={"width": width, "height": 900})
    chart, *names = (page.locator(".chart, .curve-label").nth(place).bounding_box() for place in range(3))
    assert all(chart["x"] <= box["x"] for box in names)
    assert all(box["x"] + box["width"] <= chart["x"] + chart["width"] + 3 for box in names)  # 3: the rim of letters


def test_stored_studies(visit, stored_folder, tmp_path):
    """A complete study; then one with a damaged, a failed and a missing run; then claims beside it."""
    folder = tmp_path / "results"
    shutil.copytree(stored_folder, folder)
    page = report_of_folder(folder)
    assert page.content["studies"][0]["problems"] == []
    open_page = visit(page.save(tmp_path / "whole.html"))
    stored = gw.open_results(folder)
    ends = {cell.cell.agent.label: cell.curves["regret"].mean(axis=0)[-1] for cell in stored.worlds()["grid"]}
    assert curves(open_page, 1) == pytest.approx(ends, rel=1e-12)
    assert "[[worlds]]" in open_page.text_content("pre")

    store, design = Store.open(folder), stored.design
    keys = design.keys(design.cells[0])
    store.path(keys[0]).write_bytes(b"not a run")
    store.path(keys[1]).unlink()
    store.path(keys[2]).unlink()
    store.add_failure(keys[2], {"error": "<b>no</b>"})
    page = report_of_folder(folder)
    problems = page.content["studies"][0]["problems"]
    assert problems[0].startswith("This study is partial: 9 of 12 runs are stored.")
    assert problems[1:] == [
        "Failed runs: 1. goalward status shows why, and goalward run --retry-failed retries them.",
        "Damaged files of runs: 1.",
    ]
    open_page = visit(page.save(tmp_path / "partial.html"))
    assert open_page.locator(".banner").count() == 3
    assert "9 of 12 runs" in open_page.inner_text(".banner >> nth=0")
    assert set(curves(open_page, 1)) == {"psrl"}


def test_a_hundred_runs_fit_five_megabytes():
    random = np.random.default_rng(0)
    cells = []
    for agent in range(25):
        cell = cell_results("world", f"agent {agent}", 1.0)
        curves = random.random((4, 800)).cumsum(axis=1)
        more = {
            "points": np.arange(1, 801),
            "curves": dict.fromkeys(cell.curves, curves),
            "episodes_done": np.full(4, 800),
        }
        cells.append(replace(cell, **more))
    page = gw.report(study(*cells))
    assert page.content["studies"][0]["stored"] == 100
    assert len(page.html.encode()) < 5e6


def test_folders_that_cannot_be_reported(tmp_path, stored_folder, capsys):
    with pytest.raises(FileError, match="No such folder; create a results folder with goalward run"):
        report_of_folder(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="not a results folder; create a results folder with goalward run"):
        report_of_folder(tmp_path / "empty")
    folder = tmp_path / "results"
    shutil.copytree(stored_folder, folder)
    os.rename(folder / "studies" / "small", folder / "studies" / "other")
    with pytest.raises(FileError, match=r"other/\w+\.toml: the file name does not match the study small/\w+"):
        report_of_folder(folder)
    shutil.copytree(folder / "studies" / "other", folder / "studies" / "small")
    with pytest.raises(SystemExit) as done:
        main(["report", str(folder), "--study", "small"])
    assert done.value.code == 0
    assert f"written: {folder / 'report.html'}" in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(SettingError, match="report needs results"):
        gw.report([])
