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
    ("RandomMDP", "ULCVI"): "d248a7a6cf5f0fa5046b4071e1ec3694",
    ("RandomMDP", "EB-SSP"): "1b3bd3e7b778db58135ac3b8be83060d",
    ("RandomMDP", "UC-SSP"): "6d523fee5450e723c6b833ed8680d1ed",
    ("RandomMDP", "Bernstein-SSP"): "e0379dee09894b70db59ebd8d3db511e",
    ("RandomMDP", "PSRL-SSP"): "3a7dd3a3e1a9f6372e37e9c14c5f1f99",
    ("GridWorld", "ULCVI"): "0a6c863240dd8d497edc179ce92e535b",
    ("GridWorld", "EB-SSP"): "4af4bbe7fc70c8058357403380e3c3e8",
    ("GridWorld", "UC-SSP"): "28e7359a09df9bead498a5e072786c0a",
    ("GridWorld", "Bernstein-SSP"): "5c7afdc1080c972f6ba06bed1f2a50d8",
    ("GridWorld", "PSRL-SSP"): "42bc6ef4d660c523e99627dd0cbdd823",
}


def test_the_keys_of_the_paper_s_study_stay():
    design = Study.load("paper-theory").design
    keys = {(cell.world.label, cell.agent.label): design.keys(cell) for cell in design.cells}
    assert {labels: each[0] for labels, each in keys.items()} == FIRST_KEYS
    assert keys["GridWorld", "PSRL-SSP"][-1] == "974ea43ec00e534f955a00e347684e7f"


def test_the_keys_of_drawn_worlds_and_other_priors_stay():
    design = Study.load("claims-theorem").design
    assert design.keys(design.cells[0])[0] == "bb0dfc324bbd02d3db7e245d3985579e"
    design = Study.load("claims-priors").design
    assert [design.keys(cell)[0] for cell in design.cells] == [
        "4c023f0b3aa353617cb465967bfbfd87",
        "6b4ca52c9e8b8a93db03216c0d7610ff",
        "2a6933e49a18b2fa025af7f6565b15a3",
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
