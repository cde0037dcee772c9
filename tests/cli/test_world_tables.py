"""A world and its solution as tables."""

import json

import numpy as np
import pytest

import goalward as gw
from goalward.cli import world as verbs
from goalward.worlds import grid_map, grid_world


@pytest.fixture(scope="module")
def walled():
    world = grid_map("S.#.\n..#.\n.G##", success=1.0)
    return world, gw.solve(world)


def texts(facts):
    """Return facts as people read them."""
    return dict(facts.cells(facts.rows))


def test_solution_rows(walled):
    lines = verbs.solution_table(*walled, 1e-6, 3).text().splitlines()
    assert lines[0].split() == ["state", "place", "value", "lower", "upper", "action"]
    assert lines[1].split() == ["0", "row", "0,", "column", "0", "3.0000000", "3.0000000", "3.0000000", "right"]
    assert lines[3].split()[5:] == ["inf", "inf", "inf", "none"]
    assert lines[4:] == ["", "* 4 more of 7 states: see --limit and --format json"]


def test_states_without_label_have_no_column_for_it():
    world = gw.worlds.random_mdp(states=8, seed=5, rows="uniform")
    table = verbs.solution_table(world, gw.solve(world), 1e-6, 1)
    assert table.headings == ["state", "value", "lower", "upper", "action"]


@pytest.mark.parametrize(("tolerance", "digits"), [(0.5, 5), (1e-6, 8), (1e-12, 14), (1e-16, 17)])
def test_digits_follow_the_tolerance(tolerance, digits):
    assert verbs.digits_of(tolerance) == digits


def test_solution_facts_count_dead_ends(walled):
    facts = texts(verbs.solution_facts(*walled, 1e-6))
    assert facts["dead ends"] == "2 of 7 states, at infinite cost"
    assert facts["cost from the start"].startswith("3, proved to lie in ")
    assert "dead ends" not in texts(verbs.solution_facts(grid_world(), gw.solve(grid_world()), 1e-6))


def test_json_is_strict_and_complete(walled):
    world, solution = walled
    states = json.loads(verbs.solution_table(world, solution, 1e-6, world.states).json())["states"]
    assert states[2]["value"] is None
    assert states[2]["action"] == "none"
    np.testing.assert_array_equal([np.inf if s["upper"] is None else s["upper"] for s in states], solution.upper)


def test_model_and_structure_facts(walled):
    world, _ = walled
    facts = texts(verbs.model_facts(world))
    assert facts["states"] == "7 and the goal"
    assert facts["actions"] == "4: left, right, up, down"
    assert facts["costs"] == "1"
    structure = texts(verbs.structure_facts(world, gw.structure(world)))
    assert structure["dead ends"] == "2: row 0, column 3; row 1, column 3"
    assert structure["not reachable"] == structure["dead ends"]
    assert structure["zero-cost loops"] == "none"
    assert structure["goal reached almost surely"] == "yes"


def test_facts_of_a_model_with_missing_actions_and_free_loops():
    steps = [
        ("a", "go", "b", 1.0, 0.0),
        ("b", "go", "a", 1.0, 0.0),
        ("b", "leave", "end", 1.0, 2.5),
    ]
    world = gw.SSP.from_transitions(steps, goals=["end"])
    facts = texts(verbs.model_facts(world))
    assert facts["actions"] == "2: go, leave (1 pair not available)"
    assert facts["costs"] == "0 to 2.5"
    assert texts(verbs.structure_facts(world, gw.structure(world)))["zero-cost loops"] == "1: {a; b}"


def test_hardness_names_the_quantities():
    lines = verbs.hardness_table(gw.hardness(grid_world())).text().splitlines()
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["B*", "6.0365"],
        ["T*", "6.0365"],
        ["D", "6.0365"],
        ["c_min", "1"],
    ]


def test_long_lists_of_states_are_cut():
    world = grid_world()
    assert verbs.counted_states(world, np.arange(5)).text.endswith("column 3; ...")
    assert verbs.counted_states(world, np.arange(0)).text == "none"


def test_the_price_of_giving_up_is_a_fact_of_its_own():
    pits = grid_map("S.G\n.O.", success=1.0)
    facts = texts(verbs.model_facts(pits.with_give_up(20.0)))
    assert facts["costs"] == "1"
    assert facts["giving up"] == "20, back to the start"
    assert "giving up" not in texts(verbs.model_facts(pits))
