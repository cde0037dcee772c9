"""The lesson of the tutorials, rehearsed: its numbers are read from the page at the moments that it names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward.cli import main

LESSON = " ".join((Path(__file__).parents[2] / "docs" / "tutorials" / "lesson.md").read_text(encoding="utf-8").split())
FIRST, SECOND = (f"section.agent:nth-of-type({place})" for place in (1, 2))
START, LEFT_OF_GOAL = 0, 10


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Run the command of the lesson."""
    command = re.search(r"goalward (watch grid-world .*?) --out lesson.html --open", LESSON)[1].split()
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    with pytest.raises(SystemExit) as done:
        main([*command, "--out", str(path)])
    assert done.value.code == 0
    assert path.stat().st_size < 1e6
    return path


def view(name):
    """Return a view whose address the lesson has."""
    assert f"#{name}" in LESSON
    return name


def number_in(page, agent, state):
    return page.get_attribute(f"{agent} .cell[data-state='{state}']", "data-text")


def said(sentence):
    """Whether the lesson has a sentence."""
    return sentence.replace("*", "") in LESSON.replace("*", "").replace("`", "")


def test_a_hopeful_plan_and_the_first_goal(visit, path):
    page = visit(path, view("epoch=1"))
    caption = page.inner_text(f"{FIRST} .why")
    best = re.search(r"the best policy pays ([\d.]+\d)", caption)[1]
    assert said(f"At the start, psrl expects {number_in(page, FIRST, START)}, although the best policy pays {best}.")
    action, chance = re.search(
        r"imagines that “(\w+)” in row 0, column 0, .* leads to the goal \((\d+ %); in truth 0 %\)", caption
    ).groups()
    imagined = f"psrl imagines that {action} leads from the start to the goal with a chance of {chance}"
    assert said(f"{imagined}. In truth it never does.")
    numbers = set(page.eval_on_selector_all(f"{SECOND} .cell", "cells => cells.map((cell) => cell.dataset.text)"))
    assert numbers == {"0"}
    assert said("q-learning expects 0 everywhere")
    steps = page.evaluate("window.goalward.replays.map((replay) => replay.episodeSteps[0])")
    assert said(f"The first trip takes psrl {steps[0]} steps and q-learning {steps[1]}.")
    page.click(".events >> text=first goal")
    epoch = re.match(r"epoch (\d+)", page.inner_text(".epoch-label"))[1]
    step = re.search(r"step (\d+): .* reaches the goal", page.inner_text(f"{FIRST} .step"))[1]
    assert said(f"psrl is in epoch {epoch}, at step {step}.")
    before = number_in(page, FIRST, START)
    page.keyboard.press("ArrowRight")
    action, row, column = re.search(
        r"learnt that “(\w+)” in row (\d), column (\d) led to the goal", page.inner_text(f"{FIRST} .why")
    ).groups()
    assert said(
        f"psrl has now learnt that {action} in row {row}, column {column} leads to the goal,"
        f" and it expects to pay {number_in(page, FIRST, START)} instead of {before}"
    )


def test_where_it_has_been_and_what_it_believes(visit, path):
    page = visit(path, view("epoch=60&layer=visits"))
    assert said(
        f"psrl has been at the start {number_in(page, FIRST, START)} times, and in the cell left of the goal once"
    )
    assert number_in(page, FIRST, LEFT_OF_GOAL) == "1"
    page.click("button[data-value=uncertainty]")
    assert said(
        f"Its uncertainty is {number_in(page, FIRST, START)} at the start"
        f" and {number_in(page, FIRST, LEFT_OF_GOAL)} in that cell."
    )
    page = visit(path, view("epoch=10&cell=2,2&action=1"))
    assert page.locator("#cell .actions tr:has-text('right') td").nth(1).inner_text() == "0"
    belief = page.evaluate("window.goalward.replays[0].posterior(41).map(({ mean }) => mean)")
    assert len(belief) == 12
    assert {f"{100 * mean:.0f} %" for mean in belief} == {"8 %"}
    assert said("believes that right leads to each of twelve places with a chance of 8 %")
    page = visit(path, view("epoch=end&cell=2,2&action=1"))
    tried = page.locator("#cell .actions tr:has-text('right') td").nth(1).inner_text()
    believed = page.evaluate("window.goalward.replays[0].posterior(41).find(({ successor }) => successor === 11).mean")
    chance = f"with a chance of {100 * believed:.0f} %"
    assert said(f"it has tried right {tried} times and believes that it leads to the goal {chance}")
    truth = dict(zip(*gw.worlds.grid_world().row(LEFT_OF_GOAL, 1), strict=True))[11]
    assert said(f"The upright line marks the truth, {100 * truth:.0f} %.")


def test_the_price_of_learning(visit, path):
    page = visit(path)
    mine, rival = page.evaluate("window.goalward.replays.map(({ curve }) => Array.from(curve.gap_regret))")
    half = 1 + int(np.argmax(np.array(mine) >= mine[-1] / 2))
    assert said(f"psrl has lost half of its {mine[-1]:.0f} by episode {half}.")
    assert said(f"In 300 episodes, psrl loses {mine[-1]:.0f} and q-learning {rival[-1]:.0f}.")
    verdict = page.inner_text(".verdict-line")
    assert f"psrl lost {mine[-1]:.0f}, and q-learning lost {rival[-1]:.0f}" in verdict
    assert verdict.endswith(
        "In the last 30 episodes both took about the same: psrl 6.37, q-learning 6.23 steps per trip."
    )


def test_the_worksheet(visit, path):
    """A wall left of the goal turns the arrows that led there, in the true world."""
    page = visit(path, "epoch=end&cell=2,2&model=truth")
    page.click("button.strong")
    before = page.eval_on_selector_all(f"{FIRST} .cell", "cells => cells.map((cell) => cell.dataset.actions)")
    page.click(".what-if .toggle")
    after = page.eval_on_selector_all(f"{FIRST} .cell", "cells => cells.map((cell) => cell.dataset.actions)")
    turned = [f"row {state // 4}, column {state % 4}" for state in range(10) if before[state] != after[state]]
    assert said(f"To 6: the arrow in {' and in '.join(turned)} turns up.")
    names = gw.worlds.grid_world().action_names
    assert {names[int(after[state])] for state in range(10) if before[state] != after[state]} == {"up"}
