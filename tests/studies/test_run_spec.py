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
    ("RandomMDP", "ULCVI"): "d7654caff1eed83ff4f1b2a1ca0ef537",
    ("RandomMDP", "EB-SSP"): "8b4c1596d4da7f6f62220237bfd0dba2",
    ("RandomMDP", "UC-SSP"): "59d8fb8f92678ff645ea7822d9460fd1",
    ("RandomMDP", "Bernstein-SSP"): "dd3dea9a027574e6b06d542330a60985",
    ("RandomMDP", "PSRL-SSP"): "e2937296cdbe52f4ca29e3a2018a519c",
    ("GridWorld", "ULCVI"): "ab0c16db1407e8e67daec27eac3236cd",
    ("GridWorld", "EB-SSP"): "6466a24f4793eefaea4d94a4deca7328",
    ("GridWorld", "UC-SSP"): "8834bf7be6c0b4a5ceed281e7b196fe9",
    ("GridWorld", "Bernstein-SSP"): "f337efe4a9184ecca7fb47dd84b1a4b0",
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
        "93ef40e8e568dafc73747bd2a07bb4df",
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


def test_a_document_makes_the_run_again():
    document = json.loads(json.dumps(SPEC.document()))
    again = RunSpec.from_document(document)
    assert (again, again.key) == (SPEC, SPEC.key)
    assert key_of(document) == SPEC.key
    assert len({again, SPEC}) == 1


def test_what_a_run_needs_beside_its_document():
    assert (SPEC.model_digest, SPEC.sources) == (None, set())
    file, prior = "c" * 64, {"kind": f"{'d' * 64}.py:Own"}
    own = replace(SPEC, world={"digest": "ab"}, agent={"name": f"{file}.py:Own", "settings": {"prior": prior}})
    assert (own.model_digest, own.sources) == ("ab", {file, "d" * 64})


def test_documents_of_no_run():
    older = RunSpec.from_document(SPEC.document() | {"results": 0})
    assert older.key != SPEC.key
    with pytest.raises(FileError, match="the run was made with results version 0, this goalward makes version"):
        older.build(Attachments())
    incomplete = SPEC.document()
    del incomplete["seed"]
    with pytest.raises(FileError, match="the run does not say its seed"):
        RunSpec.from_document(incomplete)
