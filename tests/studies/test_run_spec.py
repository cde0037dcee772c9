"""Runs as plain data: their keys stay, and their documents say all of them."""

import json
from dataclasses import replace

import pytest

from goalward.errors import FileError
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import RunSpec, key_of
from goalward.studies.study import Study

SPEC = RunSpec(
    {"id": "grid-world-v0", "settings": {"rows": 3}}, {"name": "psrl", "settings": {"scale": 0.5}}, 10, None, seed=1
)

# A key that moves makes every stored run of that kind worthless. If results must move, raise RESULTS_VERSION.
FIRST_KEYS = {
    ("RandomMDP", "ULCVI"): "496a49d2f1aecd25e30f24f0c88cbf0c",
    ("RandomMDP", "EB-SSP"): "1c0d62c6c08f03af8320c854a0103fef",
    ("RandomMDP", "UC-SSP"): "7590e64f0083ff3ed221d45402b9eabb",
    ("RandomMDP", "Bernstein-SSP"): "eb785e46df66cc7473cb10eb34c02ac5",
    ("RandomMDP", "PSRL-SSP"): "e2937296cdbe52f4ca29e3a2018a519c",
    ("GridWorld", "ULCVI"): "723c9bd0b22514a19f1b9129ceb13aa0",
    ("GridWorld", "EB-SSP"): "b74778f9920f7426c51554aa33dd0cfc",
    ("GridWorld", "UC-SSP"): "2725e10500001140b314e76595e92d4a",
    ("GridWorld", "Bernstein-SSP"): "1873f65d50ece3eed8ff2f5319bc6f8b",
    ("GridWorld", "PSRL-SSP"): "5f44b9ad3b35a38731d58be04af2e88b",
}


def test_the_keys_of_the_paper_s_study_stay():
    design = Study.load("paper-theory").design
    keys = {(cell.world.label, cell.agent.label): design.keys(cell) for cell in design.cells}
    assert {labels: each[0] for labels, each in keys.items()} == FIRST_KEYS
    assert keys["GridWorld", "PSRL-SSP"][-1] == "bc1b694c92f8b49ca98c11c727c958f7"


def test_the_keys_of_drawn_worlds_and_other_priors_stay():
    design = Study.load("claims-theorem").design
    assert design.keys(design.cells[0])[0] == "a2b3554ff5dd51b4323b7a65b1404be1"
    design = Study.load("claims-priors").design
    assert [design.keys(cell)[0] for cell in design.cells] == [
        "0a8bf3103fd832fe52a7df16f8b20f05",
        "c85b9a0a0e136c5054bdb907d3cacf20",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"world": {"id": "grid-world-v0", "settings": {"rows": 4}}},
        {"agent": {"name": "psrl", "settings": {"scale": 0.25}}},
        {"episodes": 11},
        {"max_steps": 10},
        {"seed": 2},
    ],
)
def test_whatever_decides_a_run_is_part_of_its_key(change):
    other = replace(SPEC, **change)
    assert other.key != SPEC.key
    assert len(other.key) == 32
    assert replace(other, **{name: getattr(SPEC, name) for name in change}).key == SPEC.key


def test_the_document_of_a_run_decides_its_key():
    document = json.loads(json.dumps(SPEC.document()))
    assert key_of(document) == SPEC.key
    assert RunSpec(max_steps=None, **document).key == SPEC.key


def test_what_a_run_needs_beside_its_document():
    assert (SPEC.model_digest, SPEC.sources) == (None, set())
    file, prior = "c" * 64, {"kind": f"{'d' * 64}.py:Own"}
    own = replace(SPEC, world={"digest": "ab"}, agent={"name": f"{file}.py:Own", "settings": {"prior": prior}})
    assert (own.model_digest, own.sources) == ("ab", {file, "d" * 64})


def test_runs_of_another_version_are_not_carried_out():
    older = replace(SPEC, results=0)
    assert older.key != SPEC.key
    with pytest.raises(FileError, match="the run has results version 0, but this goalward makes version"):
        older.build(Attachments())


@pytest.mark.parametrize(
    "worlds",
    [[{"world": "grid-world"}], [{"world": "random-mdp", "draw": "seed"}], [{"world": "grid-world", "draw": "prior"}]],
)
@pytest.mark.parametrize("more", [{}, {"max_steps": 9}])
def test_keys_of_a_whole_cell_are_those_of_its_runs(worlds, more):
    agent = {"agent": "psrl", "settings": {"prior": "dirichlet"}}
    design = Study.from_dict({"name": "x", "runs": 3, "worlds": worlds, "agents": [agent], **more}).design
    (cell,) = design.cells
    assert design.keys(cell) == [spec.key for spec in design.specs(cell)]
    assert len(set(design.keys(cell))) == 3
