"""The page of a goal task with continuous states: what it carries, and what a browser shows of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import goalward as gw
from browsing import wait_until
from goalward.agents import AggregatedPSRL, ContinuousPSRL
from goalward.cli import main
from goalward.continuous.task import ContinuousPlan
from goalward.errors import SettingError
from goalward.pages.page import Block
from goalward.pages.planes import values_document

FIELD = gw.ContinuousTask(
    [0.0, 0.0], [1.0, 2.0], ["right", "up"],
    lambda x, a, rng: x + (np.array([0.2, 0.0]) if a == 0 else np.array([0.0, 0.4])),
    goal=lambda x: (x[:, 0] >= 0.8) & (x[:, 1] >= 1.6), start=[0.1, 0.2], coordinates=["east", "north"],
)  # fmt: skip
LABELS = ["smooth", "cells"]


@pytest.fixture(scope="module")
def runs():
    chosen = (ContinuousPSRL(nodes=9), AggregatedPSRL(cells=4))
    return [gw.learn(agent, FIELD, 4, seed=0, max_steps=400, keep_replay=True) for agent in chosen]


@pytest.fixture(scope="module")
def path(runs, tmp_path_factory):
    return gw.watch(*runs, labels=LABELS, world="a field").save(tmp_path_factory.mktemp("pages") / "planes.html")


def test_the_page_carries_the_plans_and_the_steps(visit, path, runs):
    page = visit(path)
    for place, run in enumerate(runs):
        track = f"window.goalward.tracks[{place}]"
        assert page.evaluate(f"Array.from({track}.steps)") == run.steps.tolist()
        points = page.evaluate(f"Array.from({track}.path.points)")
        assert points == pytest.approx(run.trajectory.states.ravel(), abs=1e-6)
        for epoch in (0, len(run.plans) - 1):
            shown = page.evaluate(f"Array.from({track}.valuesAt({epoch}, 0), (v) => Number.isNaN(v) ? -1 : v)")
            plan = run.plans[epoch]
            nodes = 9 if place == 0 else 4
            expected = np.full((nodes, nodes), -1.0)
            axes = [np.unique(plan.points[:, axis]) for axis in range(2)]
            for point, value in zip(plan.points, plan.values, strict=True):
                expected[tuple(int(np.argmin(np.abs(axes[i] - point[i]))) for i in range(2))] = value
            assert shown == pytest.approx(expected.ravel(), rel=1e-6)


def test_sliders_and_keys_move_through_episodes_and_steps(visit, path, runs):
    # The page opens where the learning begins, and plays it.
    page = visit(path)
    assert page.inner_text(".epoch-label >> nth=0") == "episode 1 of 4"
    assert page.inner_text(".epoch-label >> nth=1") == f"step 0 of {max(run.steps[0] for run in runs)}"
    page.keyboard.press(" ")
    wait_until(page, "window.goalward.step > 3 || window.goalward.episode > 0")
    page = visit(path, "episode=2&step=0")
    section = "section.agent:nth-of-type({}) {}"
    assert page.inner_text(section.format(1, ".now")).startswith(f"episode 2: {runs[0].steps[1]} steps")
    assert "step 0: east 0.1, north 0.2; plays " in page.inner_text(section.format(1, ".why"))
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".epoch-label >> nth=0") == "episode 3 of 4"
    for place, run in enumerate(runs, 1):
        assert f"step {run.steps[2]}: " in page.inner_text(section.format(place, ".why"))
        assert "the goal is reached" in page.inner_text(section.format(place, ".why"))
    page.locator("input[aria-label=step]").fill("1")
    # The plan in force is that of the epoch in which the step was taken.
    for place, run in enumerate(runs, 1):
        at = run.steps[:2].sum() + 1
        epoch = int(np.flatnonzero(run.epochs.start_step <= at)[-1])
        assert page.get_attribute(section.format(place, ".plane"), "data-epoch") == str(epoch)
    page.keyboard.press("2")
    assert page.get_attribute("button[data-value=visits]", "aria-pressed") == "true"
    page.click("button[data-value=log]")
    ends = page.eval_on_selector_all(".regret .curve", "curves => curves.map((curve) => Number(curve.dataset.last))")
    assert ends == [run.steps[-1] for run in runs]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_it_fits_the_screen_and_paints_the_layer(visit, path, width, scheme):
    page = visit(path, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate("""() => {
        const canvas = document.querySelector('.plane canvas');
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(data.buffer)).size;
    }""")
    assert colours > 20


def test_values_on_a_plane_are_those_of_the_plan():
    rng = np.random.default_rng(0)
    table = rng.random((3, 4))
    points = np.array([[10.0 * j, 0.5 * k] for j in range(3) for k in range(4)])
    kept = rng.random(len(points)) < 0.8

    def drawn(points, values):
        block = Block()
        plan = ContinuousPlan(lambda x, u: 0, lambda x, a: False, points=points, values=values)
        document = values_document(block, [plan], 1000)
        return document and (document, np.frombuffer(block.contents[0], "<f4"))

    document, values = drawn(points[kept], table.ravel()[kept])
    assert document["axes"] == [[0, 10, 20], [0, 0.5, 1, 1.5]]
    np.testing.assert_allclose(values.reshape(3, 4), np.where(kept.reshape(3, 4), table, np.nan), rtol=1e-6)
    # Points that form no grid, or lie in more than two dimensions, have no picture.
    assert drawn(rng.random((20, 2)), np.ones(20)) is None
    assert drawn(np.eye(3), np.ones(3)) is None


def test_a_line_is_drawn_over_time(visit, tmp_path):
    line = gw.ContinuousTask(
        [0.0], [1.0], 2, lambda x, a, rng: x + (0.1 if a else -0.1), goal=lambda x: x[:, 0] >= 0.95, start=[0.1]
    )
    run = gw.learn(ContinuousPSRL(nodes=21), line, 2, seed=0, max_steps=200, keep_plans=True, keep_steps=True)
    page = visit(gw.watch(run).save(tmp_path / "line.html"))
    assert "time in the episode" in page.text_content(".plane svg")


def test_what_cannot_be_watched(runs):
    bare = gw.learn(ContinuousPSRL(nodes=9), FIELD, 1, seed=0, max_steps=50)
    with pytest.raises(SettingError, match=r"not a world of the registry; record the replay with learn\("):
        gw.watch(bare)
    with pytest.raises(SettingError, match="different worlds"):
        gw.watch(runs[0], gw.learn(gw.agents.PSRL(), gw.worlds.grid_world(), 2))


def test_the_verb(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as done:
        main(["watch", "mountain-car", "--agent-set", "nodes=9", "--episodes", "1", "--max-steps", "60"])
    assert done.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"continuous-psrl: 1 episode, 60 steps; cut off: .*", printed[0])
    assert (tmp_path / "watch.html").stat().st_size > 10_000
    with pytest.raises(SystemExit) as done:
        main(["watch", "mountain-car", "--live"])
    assert done.value.code == 2
    assert "mountain-car has no known model, so --live" in capsys.readouterr().err


def test_a_run_in_a_task_of_the_registry_is_carried_out_again():
    run = gw.learn(AggregatedPSRL(cells=3), gw.continuous.make("navigation"), 1, seed=1, max_steps=80)
    page = gw.watch(run)
    assert page.title == "aggregated-psrl in a task with continuous states"
    assert page.document["agents"][0]["truncation"] == run.truncation
