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
    ("RandomMDP", "ULCVI"): "c9b9d09bb563a80f89db4860ae546182",
    ("RandomMDP", "EB-SSP"): "6c13b975946580815c8fee9b018dc919",
    ("RandomMDP", "UC-SSP"): "b8240f3e28be257f025414e763882327",
    ("RandomMDP", "Bernstein-SSP"): "a7bd0eb6267abffc3364e8004ac227ba",
    ("RandomMDP", "PSRL-SSP"): "715ecfae005d71231df7efca15b78ea6",
    ("GridWorld", "ULCVI"): "845aa49fe043fa03d8e93eab33f2c432",
    ("GridWorld", "EB-SSP"): "b9c797edcd5ad3810e93ae7c8d9c5782",
    ("GridWorld", "UC-SSP"): "604b670fc35589028901166241b752dd",
    ("GridWorld", "Bernstein-SSP"): "b0c0ca51506c7065d8f8010a3e10a499",
    ("GridWorld", "PSRL-SSP"): "f919c8ffcf712a6fb8e24bde4de2b903",
}


def test_the_keys_of_the_paper_s_study_stay():
    design = Study.load("paper-theory").design
    keys = {(cell.world.label, cell.agent.label): design.keys(cell) for cell in design.cells}
    assert {labels: each[0] for labels, each in keys.items()} == FIRST_KEYS
    assert keys["GridWorld", "PSRL-SSP"][-1] == "174d97944a7e29a3688a324c37763172"


def test_the_keys_of_drawn_worlds_and_other_priors_stay():
    design = Study.load("claims-theorem").design
    assert design.keys(design.cells[0])[0] == "d09b2ee16705b151b2fe4c1c41b2981d"
    design = Study.load("claims-priors").design
    assert [design.keys(cell)[0] for cell in design.cells] == [
        "e70d656528e4e96a9fd0c14ef74927cc",
        "104ac6fd8e146ca8d190f33d14490fb5",
        "c0ec5a43d13cb37da1311a4c2cf81760",
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
