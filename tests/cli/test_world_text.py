import json

import numpy as np
import pytest

import goalward as gw
from goalward.cli import world_text
from goalward.json_documents import json_text
from goalward.worlds import grid_map, grid_world


@pytest.fixture(scope="module")
def walled():
    world = grid_map("S.#.\n..#.\n.G##", success=1.0)
    return world, gw.solve(world)


def test_solution_rows(walled):
    world, solution = walled
    lines = world_text.solution_table(world, solution, 1e-6, 3).splitlines()
    assert lines[0].split() == ["state", "place", "value", "lower", "upper", "action"]
    assert lines[1].split() == ["0", "row", "0,", "column", "0", "3.0000000", "3.0000000", "3.0000000", "right"]
    assert lines[3].split()[5:] == ["inf", "inf", "inf", "none"]
    assert len(lines) == 4


def test_states_without_label_have_no_column_for_it():
    world = gw.worlds.random_mdp(states=8, seed=5, rows="uniform")
    heading = world_text.solution_table(world, gw.solve(world), 1e-6, 1).splitlines()[0]
    assert heading.split() == ["state", "value", "lower", "upper", "action"]


@pytest.mark.parametrize(("tolerance", "digits"), [(0.5, 5), (1e-6, 8), (1e-12, 14), (1e-16, 17)])
def test_digits_follow_the_tolerance(tolerance, digits):
    assert world_text.digits_of(tolerance) == digits


def test_solution_facts_count_dead_ends(walled):
    world, solution = walled
    facts = dict(world_text.solution_facts(world, solution, 1e-6))
    assert facts["dead ends"] == "2 of 7 states, at infinite cost"
    assert facts["cost from the start"].startswith("3, proved to lie in ")
    assert "dead ends" not in dict(world_text.solution_facts(grid_world(), gw.solve(grid_world()), 1e-6))


def test_document_is_strict_json_and_complete(walled):
    world, solution = walled
    document = json.loads(json_text(world_text.solution_document(world, solution)))
    assert document["values"][2] is None
    assert document["policy"][2] == -1
    infinite = [np.inf if value is None else value for value in document["upper"]]
    np.testing.assert_array_equal(infinite, solution.upper)
    assert document["digest"] == world.digest


def test_model_and_structure_facts(walled):
    world, _ = walled
    facts = dict(world_text.model_facts(world))
    assert facts["states"] == "7 and the goal"
    assert facts["actions"] == "4: left, right, up, down"
    assert facts["costs"] == "1"
    found = dict(world_text.structure_facts(world, gw.structure(world)))
    assert found["dead ends"] == "2: row 0, column 3; row 1, column 3"
    assert found["not reachable"] == found["dead ends"]
    assert found["zero-cost loops"] == "none"
    assert found["goal reached surely"] == "yes"


def test_facts_of_a_model_with_missing_actions_and_free_loops():
    steps = [
        ("a", "go", "b", 1.0, 0.0),
        ("b", "go", "a", 1.0, 0.0),
        ("b", "leave", "end", 1.0, 2.5),
    ]
    world = gw.SSP.from_transitions(steps, goals=["end"])
    facts = dict(world_text.model_facts(world))
    assert facts["actions"] == "2: go, leave (1 pairs not available)"
    assert facts["costs"] == "0 to 2.5"
    assert dict(world_text.structure_facts(world, gw.structure(world)))["zero-cost loops"] == "1: {a; b}"


def test_hardness_facts_name_the_quantities():
    facts = world_text.hardness_facts(gw.hardness(grid_world()))
    assert [(name, value) for name, value, _ in facts][:4] == [
        ("B*", "6.0365"),
        ("T*", "6.0365"),
        ("D", "6.0365"),
        ("c_min", "1"),
    ]


def test_long_lists_of_states_are_cut():
    world = grid_world()
    assert world_text.counted_states(world, np.arange(5)).endswith("column 3; ...")
    assert world_text.counted_states(world, np.arange(0)) == "none"


def test_the_price_of_giving_up_is_a_fact_of_its_own():
    pits = grid_map("S.G\n.O.", success=1.0)
    facts = dict(world_text.model_facts(pits.with_give_up(20.0)))
    assert facts["costs"] == "1"
    assert facts["giving up"] == "20, back to the start"
    assert "giving up" not in dict(world_text.model_facts(pits))
