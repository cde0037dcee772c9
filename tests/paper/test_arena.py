"""The arena as a study, worlds that agents refuse, and the tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from goalward import agents
from goalward.errors import SettingError
from goalward.paper.arena import (
    COMPANY,
    LEFT_OUT,
    REFERENCE,
    arena_study,
    arena_tables,
    largest_values,
    long_study,
    publish_arena,
    without_refused,
)
from goalward.paper.ratios import Ratios, compare_all
from goalward.studies.run_spec import make_world
from goalward.studies.study import Study
from goalward.table import render
from made_up_results import cell_results, study

PICKY = """
from dataclasses import dataclass
from goalward.agents import Agent, Plan
from goalward.errors import CostError

class Picky(Agent):
    def begin(self, task, rng):
        super().begin(task, rng)
        if task.states == 8:
            raise CostError("eight states are too many")

    def plan(self, state):
        return Plan(self.task.available / self.task.available.sum(axis=1, keepdims=True))

    def observe(self, steps):
        pass
"""


def test_every_registered_agent_takes_part() -> None:
    """Those that studies/arena.toml does not name take part as well, unless LEFT_OUT says why not."""
    design = arena_study().design
    names = {cell.agent.identity["name"] for cell in design.cells}
    assert names | LEFT_OUT.keys() == set(agents.known())
    assert not names & LEFT_OUT.keys()
    assert REFERENCE in {cell.agent.label for cell in design.cells}


def test_the_worlds_differ_in_character() -> None:
    study = arena_study()
    worlds = {cell.world.label: cell.world for cell in study.design.cells}
    assert len(worlds) >= 24
    assert Counter(world.group for world in worlds.values()) == {"choosing": 12, "reporting": 12}
    models = [make_world(world.identity, study.attachments) for world in worlds.values()]
    assert len({model.digest for model in models}) == len(models)
    assert (min(model.states for model in models), max(model.states for model in models)) == (6, 100)
    assert (min(model.actions for model in models), max(model.actions for model in models)) == (2, 8)
    costs = [model.costs[model.available] for model in models]
    assert any(each.min() < 0.02 and each.max() > 0.9 for each in costs)


def test_another_size() -> None:
    study = arena_study(["tsde"], runs=5, episodes=7)
    assert (study.design.name, study.design.runs) == ("arena-tsde", 5)
    assert {cell.episodes for cell in study.design.cells} == {7}


def test_an_agent_of_one_s_own_and_worlds_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "picky.py").write_text(PICKY)
    monkeypatch.chdir(tmp_path)
    study = arena_study(["picky.py:Picky"])
    assert {cell.agent.label for cell in study.design.cells} == {*COMPANY, "Picky"}
    document = study.spec.model_dump(exclude_unset=True)
    document["worlds"] = document["worlds"][:3]
    rest, refused = without_refused(Study.from_dict(document))
    assert refused == {("RandomMDP", "Picky"): "eight states are too many"}
    assert [cell.world.label for cell in rest.design.cells if cell.agent.label == "Picky"] == ["GridWorld", "river"]
    assert {cell.world.label for cell in rest.design.cells if cell.agent.label != "Picky"} == {
        "GridWorld",
        "RandomMDP",
        "river",
    }


def test_an_agent_that_refuses_everything_is_left_out() -> None:
    document = {
        "name": "few",
        "worlds": [{"world": "grid-world-v0"}],
        "agents": [{"agent": "psrl"}, {"agent": "continuous-psrl", "label": "bad"}],
    }
    rest, refused = without_refused(Study.from_dict(document))
    assert list(refused) == [("grid-world", "bad")]
    assert [cell.agent.label for cell in rest.design.cells] == ["psrl"]


def test_agents_that_do_not_exist() -> None:
    with pytest.raises(SettingError, match="no agent is called 'psrll'"):
        arena_study(["psrll"])


def test_the_second_stage_is_for_those_below_twice_the_reference() -> None:
    first = arena_study(["tsde", "uniform", "kl-index"], episodes=7)
    labels = {REFERENCE: 8.5, "neighbourhoods": 15.0, "tsde": 16.0, "uniform": 19.0, "kl-index": 3.0}
    ratios = compare_all(study(*(cell_results("one", agent, slope) for agent, slope in labels.items())), REFERENCE)
    long = long_study(first, ratios)
    assert {cell.agent.label for cell in long.design.cells} == {REFERENCE, "neighbourhoods", "tsde", "kl-index"}
    assert {cell.episodes for cell in long.design.cells} == {70}
    assert long.design.name == f"{first.design.name}-long"
    assert long.spec.max_steps == 10 * first.spec.max_steps
    assert len({cell.world.label for cell in long.design.cells}) == 24


def test_largest_values_of_worlds() -> None:
    document = {"name": "few", "worlds": [{"world": "river-swim-v0"}], "agents": [{"agent": "psrl"}]}
    assert largest_values(Study.from_dict(document)) == {"river-swim": pytest.approx(19.44444916658875)}


def test_runs_that_stick_are_marked() -> None:
    cells = [
        cell_results("one", agent, slope, runs=1) for agent, slope in (("base", 1.0), ("stuck", 8.0), ("slow", 4.9))
    ]
    ratios = compare_all(study(*cells), "base", largest_values={"one": 100.0})
    text = render(arena_tables(ratios))
    assert "8.0!" in text
    assert "4.9!" not in text


@pytest.fixture
def ratios() -> Ratios:
    cells = [cell_results(world, "base", 8.5) for world in ("one", "two")]
    cells += [cell_results("one", "a|b", 3.5, caveat="no theorem"), cell_results("two", "cut", 8.5, cut=50)]
    return compare_all(
        study(*cells), "base", refusals={("two", "a|b"): "costs above 1", ("one", "cut"): "costs above 1"}
    )


def test_text(ratios: Ratios) -> None:
    text = render(arena_tables(ratios))
    assert "2 worlds: gap regret after 100 episodes relative to base, mean of 4 runs with 95 % intervals" in text
    assert "2 a|b *" in text
    assert "0.50 [" in text
    assert "refused" in text
    assert "a|b refuses two: costs above 1" in text
    assert "a|b: no theorem" in text
    assert "3 cut" in text
    assert ">0." in text
    assert "count with their regret until then" in text


def test_plain_data(ratios: Ratios) -> None:
    document = json.loads(render([ratios.table, *arena_tables(ratios)], "json"))
    assert document["agents"][0]["agent"] == "a|b"
    assert [row["world"] for row in document["worlds"]] == ["one", "two"]
    assert [cell["refusal"] for cell in document["cells"] if cell["refusal"]] == ["costs above 1"] * 2


def test_files(ratios: Ratios, tmp_path) -> None:
    table, page, web_page = publish_arena(ratios, tmp_path, "arena")
    assert (table.name, page.name, web_page.name) == ("arena.csv", "arena.md", "arena.html")
    assert table.read_text().startswith("world,agent,ratio,ratio_low,ratio_high,regret,regret_low,")
    assert r"2 a\|b \*" in page.read_text()
