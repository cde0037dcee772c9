"""DRN files: what is written is read back, and each fault is named with its line."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from mutants import check_mutants
from test_umb import without_what_files_cannot_say

from goalward import SSP
from goalward.errors import FileError
from strategies import models

TEXT = """// made by hand
@type: MDP
@value_type: rational
@parameters


// time: minutes
// price: coins
@reward_models
time price
@nr_states
4
@nr_choices
5
@model
state 0 [0, 1] init "at home" left
//[x=1\t& y=0]
\taction bus [1, 2.5]
\t\t1 : 1/2
\t\t3 : 1/2
\taction walk [1,10]
\t\t3 : 1
state 1
\taction walk
\t\t0 : 0.25
\t\t0 : 0.25
\t\t2 : 0.5

state 2 [0, -5] goal
\taction 0 [0, 0]
\t\t2 : 1
state 3 [0] goal "another goal"
\t\t3 : 1
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.drn"


def test_only_choices_without_a_label_get_made_up_names(path: Path) -> None:
    """In state 0, two choices have no label; those of state 1 keep theirs."""
    blank = "\taction __NOLABEL__ [0]\n"
    states = ["state 0 [1] init\n" + blank + "\t\t1 : 1\n" + blank + "\t\t2 : 1\n"]
    states += ["state 1 [1]\n\taction go [0]\n\t\t2 : 1\n" + blank + "\t\t1 : 1\n", "state 2 goal\n\t\t2 : 1\n"]
    path.write_text(
        "@type: MDP\n@parameters\n\n@reward_models\ncost\n@nr_states\n3\n@nr_choices\n5\n@model\n" + "".join(states)
    )
    model = SSP.load(path)
    assert model.action_names == ("", "go", "unlabelled")
    assert model.available.tolist() == [[True, False, True], [True, True, False]]
    assert [model.row(0, action)[0].tolist() for action in (0, 2)] == [[1], [2]]


def test_a_file_made_by_hand(path: Path) -> None:
    path.write_text(TEXT)
    ssp = SSP.load(path, cost="price")
    assert ssp.state_names == ("x=1 & y=0", "1")
    assert ssp.action_names == ("bus", "walk")
    assert ssp.costs.tolist() == [[3.5, 11.0], [np.inf, 0.0]]
    assert np.array_equal(ssp.to_dense(), [[[0, 0.5, 0.5], [0, 0, 1]], [[0, 0, 0], [0.5, 0, 0.5]]])
    assert ssp.initial_state == 0
    assert SSP.load(path, goal="another goal", start="x=1 & y=0", cost="time").states == 3
    assert SSP.load(path, goal=[2, "another goal"], cost="price") == ssp


def test_headers_may_be_longer_than_what_is_read_at_once(path: Path) -> None:
    comments = "// a comment on the model\n" * 30_000
    path.write_text(TEXT.replace("@model\n", f"{comments}@model\n"))
    long = SSP.load(path, cost="time")
    path.write_text(TEXT)
    assert long == SSP.load(path, cost="time")


def test_windows_line_ends(path: Path) -> None:
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert SSP.load(path, cost="price").costs[0, 0] == 3.5


@given(ssp=models())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_every_model_survives(ssp: SSP, tmp_path: Path) -> None:
    path = tmp_path / "model.drn"
    ssp.save(path)
    assert SSP.load(path) == without_what_files_cannot_say(ssp)


def test_names_are_made_fit_for_lines(path: Path) -> None:
    """Action names lose spaces and stay different; names of states lose line breaks, which would forge a line."""
    ssp = SSP.from_dense(
        [[[0.0, 1.0]] * 5],
        [[1.0, 2.0, 3.0, 4.0, 5.0]],
        state_names=["here\nstate 1 goal"],
        action_names=["go on", "go  on", "go_on", "", "\n"],
    )
    ssp.save(path)
    back = SSP.load(path)
    assert back == ssp
    assert back.state_names == ("here state 1 goal",)
    assert back.action_names == ("go_on", "go_on_1", "go_on_2", "", "_")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "@type: MDP",
            "@type: CTMC",
            "@type is 'CTMC'; goalward reads only the types MDP and DTMC; export the embedded",
        ),
        ("@type: MDP", "@type: POMDP", "@type is 'POMDP'; .* or the underlying MDP"),
        ("@type: MDP", "@type: Markov Automaton", "'Markov Automaton'; .* export the embedded"),
        ("@type: MDP\n", "", "@type is ''"),
        ("@type: MDP", "@type: MDP\n@type: MDP", "line 3: @type appears twice"),
        ("rational", "double-interval", "@value_type is 'double-interval'; it must be double or rational"),
        ("@parameters\n", "@parameters\np q", "has parameters; give them values and export the model again"),
        ("@model", "@modle", "line 15: '@modle' is not a line of a DRN header"),
        ("@nr_states\n4", "@nr_states\n5", "@nr_states says 5, but the file has 4; export the model"),
        ("@nr_choices\n5", "@nr_choices\n9", "@nr_choices says 9, but the file has 5"),
        ("state 1\n", "state 2\n", "line 23: 'state 2' is out of order"),
        ("state 1\n", "state 1 !0.5\n", "line 23: the state has a rate"),
        ("state 1\n", "state 1 {3}\n", "line 23: the state has a rate, an observation"),
        ("state 0", "action 0\nstate 0", "line 16: an action before the first state"),
        ("state 0", "1 : 1\nstate 0", "line 16: '1 : 1' is neither a state nor an action nor a branch"),
        ("[1,10]", "[1,10", "line 21: '\\[1,10' follows the action"),
        ("[1,10]", "[1,10] x", "line 21: 'x' follows the action"),
        ("[1,10]", "[1,ten]", "'ten' is not a number; intervals and parameters are not supported"),
        ("[1,10]", "[1,-10]", "choice 1 of state 0 has cost -10; costs must be finite and not negative"),
        ("0 : 0.25", "0 : [0.2, 0.3]", r"line 25: '\[0.2, 0.3\]' is not a number"),
        ("0 : 0.25", "0 : 1/0", "line 25: '1/0' is not a number"),
        ("0 : 0.25", "0 : $quarter", "line 25: '\\$quarter' is not a number"),
        ("0 : 0.25", "0 0.25", "line 25: '0 0.25' is neither a state nor an action nor a branch"),
        ("0 : 0.25", "zero : 0.25", "line 25: a branch leads to 'zero'; it must be the number of a state"),
        ("0 : 0.25", "-1 : 0.25", "line 25: a branch leads to '-1'"),
        ("0 : 0.25", f"{10**30} : 0.25", "line 25: a branch leads to '1000"),
        ("0 : 0.25", f"{'9' * 9000} : 0.25", "line 25: a branch leads to '999"),
        ("0 : 0.25", "4 : 0.25", "a branch leads to state 4, but there are only 4 states"),
        ("0 : 0.25", "0 : 0.2", "the probabilities of choice 0 of state 1 sum to 0.95; .* normalize=True"),
        ("0 : 0.25", "0 : 1e400", "has probability inf"),
        ("0 : 0.25", "0 : -0.25", "has probability -0.25"),
        (" init", "", "0 initial states; pass the number of one state as start="),
    ],
)
def test_lines_that_are_wrong(path: Path, old: str, new: str, message: str) -> None:
    assert TEXT.count(old) >= 1
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(FileError, match=rf"^{path}: .*{message}"):
        SSP.load(path, cost="price")


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"hello", b"@model", b"\n" * 1000, b"\x1f\x8b\x08", b"\xfd7zXZ\0"]
)
def test_foreign_files(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"^{path}: "):
        SSP.load(path)


@pytest.mark.parametrize("seed", range(3))
def test_mutants(path: Path, seed: int) -> None:
    refused, read = check_mutants(path, TEXT.encode(), seed, 1000, cost="price")
    assert refused > 300
    assert read > 90


def test_a_small_file_of_many_empty_lines_takes_little_memory(path: Path) -> None:
    path.write_bytes(gzip.compress(b"\n" * (1 << 24)))
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match="has no line @model"):
            SSP.load(path)
        assert tracemalloc.get_traced_memory()[1] < 3 << 24
    finally:
        tracemalloc.stop()


def test_empty_lines_count_as_lines(path: Path) -> None:
    path.write_text("\n \n\n" + TEXT.replace("state 1", "\n\nstate 7"))
    with pytest.raises(FileError, match="line 28: 'state 7' is out of order"):
        SSP.load(path)
