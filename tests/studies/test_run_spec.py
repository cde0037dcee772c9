"""Runs as plain data: their keys stay, and their documents say all of them."""

import json
from dataclasses import replace

import pytest

from goalward.errors import FileError
from goalward.studies.run_spec import RunSpec, key_of
from goalward.studies.study import Study

SPEC = RunSpec(
    {"id": "grid-world-v0", "settings": {"rows": 3}}, {"name": "psrl", "settings": {"scale": 0.5}}, 10, None, seed=1
)

# A key that moves makes every stored run of that kind worthless. If results must move, raise RESULTS_VERSION.
FIRST_KEYS = {
    ("RandomMDP", "ULCVI"): "beed2412f9eaa4d8d036713a49b0277a",
    ("RandomMDP", "EB-SSP"): "62e3586cb68412e2deb1306075cb237a",
    ("RandomMDP", "UC-SSP"): "ba2257c51def389b2f3f143206ff1f32",
    ("RandomMDP", "Bernstein-SSP"): "0dbf7ae863a41be2f2585fec963f517d",
    ("RandomMDP", "PSRL-SSP"): "e192c18ff0e811a09d02321154c5e0a6",
    ("GridWorld", "ULCVI"): "f69c17fcd24648cc5b9a4875bad7c50c",
    ("GridWorld", "EB-SSP"): "242760ea740116e237a7cdef5ebfe001",
    ("GridWorld", "UC-SSP"): "0f9034a56d2c77713ff2704e9925e31e",
    ("GridWorld", "Bernstein-SSP"): "29a05571d08b84ee1755590fe7247cb8",
    ("GridWorld", "PSRL-SSP"): "047ca3455903a2298cb5f69d194605f3",
}


def test_the_keys_of_the_paper_s_study_stay():
    design = Study.load("paper-theory").design
    keys = {(cell.world.label, cell.agent.label): design.keys(cell) for cell in design.cells}
    assert {labels: each[0] for labels, each in keys.items()} == FIRST_KEYS
    assert keys["GridWorld", "PSRL-SSP"][-1] == "31e95ea8039109b0906fddbe19cdf132"


def test_the_keys_of_drawn_worlds_and_other_priors_stay():
    design = Study.load("claims-theorem").design
    assert design.keys(design.cells[0])[0] == "4bc298631d6c3fdb9f9795afb5e9b327"
    design = Study.load("claims-priors").design
    assert [design.keys(cell)[0] for cell in design.cells] == [
        "9e4b3ef8ac6abd36ae8ae3bc458ce566",
        "6e3b82c47a9ccc4aeddc7e6edfa7c783",
        "14e8928255ddcaaa4fda0813b4f6fd61",
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
    assert (SPEC.model_digest, SPEC.agent_source) == (None, None)
    own = replace(SPEC, world={"digest": "ab"}, agent={"name": "Own", "source": "cd", "settings": {}})
    assert (own.model_digest, own.agent_source) == ("ab", "cd")


def test_documents_of_no_run():
    with pytest.raises(FileError, match="the run was made with results version 0, this goalward makes version"):
        RunSpec.from_document(SPEC.document() | {"results": 0})
    incomplete = SPEC.document()
    del incomplete["seed"]
    with pytest.raises(FileError, match="the run does not say its seed"):
        RunSpec.from_document(incomplete)
