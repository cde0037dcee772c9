"""Tables of transitions: CSV, Parquet and memory say the same, and each fault is named with its line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from mutants import check_mutants
from pyarrow import parquet
from test_umb import without_what_files_cannot_say

from goalward import SSP
from goalward.errors import CostError, FileError, ModelError, ShapeError, UnknownNameError
from strategies import models

HEADER = "state,action,next_state,probability,cost\n"
ROADS = """A,ferry,B,0.8,3
A,ferry,A,0.2,3
A,bridge,C,1,1
C,road,B,0.5,2
C,road,D,0.5,2
D,road,B,1,6
"""
TRANSITIONS = [
    ("A", "ferry", "B", 0.8, 3.0),
    ("A", "ferry", "A", 0.2, 3.0),
    ("A", "bridge", "C", 1.0, 1.0),
    ("C", "road", "B", 0.5, 2.0),
    ("C", "road", "D", 0.5, 2.0),
    ("D", "road", "B", 1.0, 6.0),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roads.csv"


def parts(ssp: SSP) -> tuple[object, ...]:
    return ssp, ssp.state_names, ssp.action_names


def test_csv_parquet_and_memory_say_what_tuples_say(path: Path) -> None:
    expected = parts(SSP.from_transitions(TRANSITIONS, goals=["B"], initial_state="C"))
    path.write_text(HEADER + ROADS)
    columns = dict(zip(HEADER.strip().split(","), map(list, zip(*TRANSITIONS, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), path.with_suffix(".parquet"))
    assert parts(SSP.load(path, goal="B", start="C")) == expected
    assert parts(SSP.load(path.with_suffix(".parquet"), goal=["B"], start="C")) == expected
    assert parts(SSP.from_table(columns, goal="B", start="C")) == expected
    assert parts(SSP.from_table(pa.table(columns), goal="B", start="C")) == expected


def test_names_are_texts_whatever_they_look_like(path: Path) -> None:
    path.write_text(HEADER + '007,"1,5",NA,1,1\nNA,nan,"",0.5,1\nNA,nan,true,0.5,1\n"",\'x\',true,1,1\n')
    ssp = SSP.load(path, goal="true")
    assert ssp.state_names == ("007", "NA", "")
    assert ssp.action_names == ("1,5", "nan", "'x'")


def test_numbers_can_be_names_in_memory() -> None:
    table = {"state": [3, 4], "action": [0, 0], "next_state": [4, 5], "probability": [1, 1], "cost": [1, 2.5]}
    ssp = SSP.from_table(table, goal=5, start=4)
    assert (ssp.state_names, ssp.action_names, ssp.initial_state) == (("3", "4"), ("0",), 1)
    assert SSP.from_table(
        pa.table(table | {"state": pa.array(["3", "4"]).dictionary_encode()}), goal=5
    ) == ssp._replace(initial_state=0)


def test_the_goal_is_called_goal_and_the_first_row_starts(path: Path) -> None:
    path.write_text(HEADER + "x,a,y,1,1\ny,a,goal,1,1\n")
    ssp = SSP.load(path)
    assert ssp.state_name(ssp.initial_state) == "x"


def test_other_columns_and_their_order_do_not_matter(path: Path) -> None:
    path.write_text("cost,note,probability,next_state,state,action\n2,hello,1,goal,x,a\n")
    assert SSP.load(path).costs.tolist() == [[2.0]]


def test_a_byte_order_mark_and_windows_line_ends(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + ROADS).replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert SSP.load(path, goal="B") == SSP.from_transitions(TRANSITIONS, goals=["B"])


def test_rows_of_files_may_be_long(tmp_path: Path) -> None:
    others = [f"feature_{number}" for number in range(3_000)]
    rows = [["state", "action", "next_state", "probability", "cost", *others], ["a", "go", "goal", "1", "1", *others]]
    (tmp_path / "wide.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    assert SSP.load(tmp_path / "wide.csv").states == 1


def test_duplicates_are_added_up(path: Path) -> None:
    path.write_text(HEADER + "A,go,B,0.25,1\n\nA,go,A,0.5,1\nA,go,B,0.25,3\n")
    ssp = SSP.load(path, goal="B")
    assert (ssp.to_dense().tolist(), ssp.costs.tolist()) == ([[[0.5, 0.5]]], [[1.5]])
    path.write_text(HEADER + "A,go,B,1,1\nA,go,B,1,1\n")
    with pytest.raises(FileError, match=r"row 2 .* sum to 2; they must sum to 1"):
        SSP.load(path, goal="B")


def test_two_goals_are_no_duplicates(path: Path) -> None:
    path.write_text(HEADER + "A,go,B,0.5,1\nA,go,C,0.5,1\n")
    assert SSP.load(path, goal=["B", "C"]).to_dense().tolist() == [[[0.0, 1.0]]]


COUNTS = "state,action,next_state,count,cost\nA,go,B,3,1\nA,go,A,1,5\nA,wait,A,0,1\nA,wait,B,2,1\n"


def test_counts_become_frequencies_or_posterior_means(path: Path) -> None:
    path.write_text(COUNTS)
    ssp = SSP.load(path, goal="B", normalize=True)
    assert ssp.to_dense().tolist() == [[[0.25, 0.75], [0.0, 1.0]]]
    assert ssp.costs.tolist() == [[2.0, 1.0]]
    ssp = SSP.load(path, goal="B", prior=0.5)
    assert ssp.to_dense() == pytest.approx(np.array([[[0.3, 0.7], [0.5 / 3, 2.5 / 3]]]))
    path.write_text(COUNTS + "A,go,B,2,1\n")
    assert SSP.load(path, goal="B", prior=0.5).to_dense()[0, 0] == pytest.approx([1.5 / 7, 5.5 / 7])


@given(ssp=models())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_every_model_survives(ssp: SSP, tmp_path: Path, ending: str) -> None:
    """States are numbered anew, the start first."""
    path = tmp_path / f"model{ending}"
    ssp.save(path)
    back = SSP.load(path)
    said = without_what_files_cannot_say(ssp)
    assert back.state_names is not None
    assert back.action_names is not None
    states = [int(name) for name in back.state_names]
    assert sorted(states) == list(range(ssp.states))
    assert states[0] == ssp.initial_state
    assert back.initial_state == 0
    used = np.flatnonzero(ssp.available.any(axis=0) | (np.arange(ssp.actions) == 0) & ~ssp.available.any(axis=1).all())
    actions = [used.tolist().index(int(name)) for name in back.action_names]
    assert np.array_equal(back.to_dense(), said.to_dense()[np.ix_(states, actions, [*states, ssp.states])])
    assert np.array_equal(back.costs, said.costs[np.ix_(states, actions)])


def test_names_survive_and_stay_different(path: Path) -> None:
    names = ["goal", "goal", 'quoted "x", y', "line\nbreak", ""]
    ssp = SSP.from_dense(np.full((5, 2, 6), 1 / 6), np.ones((5, 2)), state_names=names, action_names=["go", "go"])
    ssp.save(path)
    back = SSP.load(path)
    assert back == ssp
    assert back.state_names == ("goal_1", "goal_2", 'quoted "x", y', "line\nbreak", "")
    assert back.action_names == ("go", "go_1")
    with path.open(newline="") as file:
        assert next(csv.DictReader(file))["state"] == "goal_1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a CSV file with a table|has no column"),
        (HEADER, "the table has no rows"),
        (
            "state,action\nA,go\n",
            "the table has no column 'next_state', only state, action; the columns state, action, next_state",
        ),
        ("state,action,next_state,prob,cost\nA,go,B,1,1\n", "no column 'probability'; rename 'prob'|, only"),
        ("state,action,next,probability,cost\nA,go,B,1,1\n", "no column 'next_state'"),
        ("state,action,next_state,probability,cost,cost\nA,go,B,1,1,1\n", "two columns 'cost'; remove one"),
        ("state,action,next_state,probability,count,cost\nA,go,B,1,1,1\n", "'probability' and 'count'; remove"),
        (HEADER + "A,go,B,1,1\nA;go;B;1;1\n", "Row #3: Expected 5 columns, got 1"),
        (HEADER + "A,go,B,1,1\nA,go,B,1\n", "Row #3: Expected 5 columns, got 4"),
        (HEADER + "A,go,B,one,1\n", "Row #2: .* invalid value 'one'"),
        (HEADER + "A,go,B,1,1\n\nA,go,A,0,cheap\n", "Row #3: .* invalid value 'cheap'"),
        (HEADER + "A,go,B,1,1\nA,,A,1,1\n", "there is no action in row 3 .*; fill in the action"),
        (HEADER + "A,go,B,,1\n", "there is no probability in row 2"),
        (HEADER + "A,go,B,0.5,1\n", r"\(state 'A', action 'go'\) in row 2 .*sum to 0\.5; .* normalize=True"),
        (HEADER + "B,x,B,9,1\nA,go,B,0.5,1\n", "in row 3 .*sum to 0.5"),
        (HEADER + "A,go,B,1.5,1\n", r"transition \('A', 'go', 'B', 1\.5, 1\.0\) in row 2 .*has probability 1\.5"),
        (HEADER + '"A\n1",go,B,1,1\nA,go,B,-1,1\n', "in row 3 .* has probability -1"),
        (HEADER + "A,go,B,nan,1\n", "in row 2 .*has probability nan"),
        (
            HEADER + "A,go,B,1,1\nA,wait,A,1,-2\n",
            "in row 3 .*has cost -2; costs must be finite and not negative: to forbid",
        ),
        (HEADER + "A,go,B,1,inf\n", "in row 2 .*has cost inf"),
        (
            HEADER + "A,go,B,0.5,1\nA,go,C,0.5,1\n",
            "state 'C', reached from 'A' by 'go' in row 3 .*, has no transitions of",
        ),
        (HEADER + "B,go,B,1,1\n", "every transition starts in a goal"),
        (COUNTS, r"the table has counts; pass normalize=True \(--set normalize=true\) to use .* or prior=1.0"),
        (COUNTS.replace("3,1", "-3,1"), "the table has counts"),
    ],
)
def test_tables_that_are_wrong(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(FileError, match=rf"^{path}: .*({message})"):
        SSP.load(path, goal="B")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"no state is called goal; pass goal=.* states without outgoing transitions: 'B'"),
        ({"goal": "b"}, "no state is called 'b'; there are: A, B, C, D|did you mean 'B'"),
        ({"goal": ["B", "E"]}, "no state is called 'E'"),
        ({"goal": "B", "start": "AA"}, "'AA'; choose a non-goal state of the table: 'A', 'C', 'D'"),
        ({"goal": "B", "start": "B"}, "'B'; choose a non-goal state of the table: 'A', 'C', 'D'"),
        ({"goal": "B", "prior": 1.0}, "prior is only for tables of counts, but this table has probabilities"),
        ({"goal": "B", "cost": "time"}, r"\.csv files have no option cost"),
    ],
)
def test_choices_that_the_table_does_not_have(path: Path, options: dict[str, Any], message: str) -> None:
    path.write_text(HEADER + ROADS)
    with pytest.raises((FileError, ValueError), match=message):
        SSP.load(path, **options)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ("3,-1", {"normalize": True}, r"the count in row 3 .*is -1; counts must be finite and >= 0"),
        ("3,nan", {"prior": 1.0}, "the count in row 3 .*is nan"),
        ("0,0", {"normalize": True}, r"\(state 'A', action 'go'\) in row 2 .*sum to 0; pass prior=1.0"),
        ("1,2", {"prior": 0.0}, "prior is 0.0; it must be a positive number"),
        ("1,2", {"prior": float("nan")}, "prior is nan"),
    ],
)
def test_counts_that_are_wrong(path: Path, counts: str, options: dict[str, Any], message: str) -> None:
    first, second = counts.split(",")
    path.write_text(f"state,action,next_state,count,cost\nA,go,B,{first},1\nA,go,A,{second},1\n")
    with pytest.raises(FileError, match=message):
        SSP.load(path, goal="B", **options)


def test_near_misses_are_sought_among_the_first_of_many_names() -> None:
    table = {"state": np.arange(30_000), "action": ["go"] * 30_000, "next_state": np.arange(1, 30_001)}
    table |= {"probability": np.ones(30_000), "cost": np.ones(30_000)}
    with pytest.raises(UnknownNameError, match=r"no state is called 'x'; there are: 0, 1, 10, [^a-z]* and 29989 more"):
        SSP.from_table(table, goal="x")


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (7, ShapeError, "this is not a table .*; pass a mapping of columns, a data frame or a path"),
        ({"state": ["a"], "action": ["b", "c"]}, ShapeError, "not a table"),
        ({"state": [{}]}, ShapeError, "has type struct"),
        ({"state": ["a"], "cost": [1.0]}, ShapeError, "the table has no column 'action', only state, cost"),
        ({"state": [0.5]}, ShapeError, "the column 'state' has type double; names must be texts or integers"),
        ({"cost": ["1"]}, ShapeError, "the column 'cost' has type string; it must hold numbers"),
        ({"cost": [True]}, ShapeError, "the column 'cost' has type bool; it must hold numbers"),
        ({"next_state": [None]}, ShapeError, r"there is no next_state in row 0 \(counted from 0\)"),
        ({"cost": [-1.0]}, CostError, r"in row 0 \(counted from 0\) has cost -1"),
    ],
)
def test_what_is_no_table_in_memory(table: Any, error: type[ModelError], message: str) -> None:
    whole = {"state": ["a"], "action": ["go"], "next_state": ["b"], "probability": [1.0], "cost": [1.0]}
    with pytest.raises(error, match=message):
        SSP.from_table(whole | table if isinstance(table, dict) and len(table) == 1 else table, goal="b")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    for ending in (".csv", ".parquet"):
        path = tmp_path / f"model{ending}"
        with pytest.raises(FileError, match=f"^{path}: .*No such file"):
            SSP.load(path)
        path.mkdir()
        with pytest.raises(FileError, match=f"^{path}: "):
            SSP.load(path)
    latin = tmp_path / "latin.csv"
    latin.write_bytes(HEADER.encode() + b"caf\xe9,go,B,1,1\n")
    with pytest.raises(FileError, match=r"UTF-8|utf-8|UTF8"):
        SSP.load(latin, goal="B")


@pytest.mark.parametrize("seed", range(2))
def test_mutants_of_csv(path: Path, seed: int) -> None:
    refused, read = check_mutants(path, (HEADER + ROADS).encode(), seed, 600, goal="B")
    assert refused > 100
    assert read > 10


def test_a_damaged_name_in_a_parquet_file(path: Path) -> None:
    path = path.with_suffix(".parquet")
    columns = dict(zip(HEADER.strip().split(","), map(list, zip(*TRANSITIONS, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"ferry", b"f\xe9rry"))
    with pytest.raises(FileError, match=r"roads\.parquet: the file is damaged"):
        SSP.load(path, goal="B")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_goal_that_nothing_leads_to_survives(path: Path, ending: str) -> None:
    names = {"state_names": ["goal", "b"], "action_names": ["left", "right"]}
    ssp = SSP.from_dense([[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]]], np.ones((2, 2)), **names)  # type: ignore[arg-type]
    ssp.save(path.with_suffix(ending))
    back = SSP.load(path.with_suffix(ending))
    assert back == ssp
    assert (back.state_names, back.action_names) == (("goal_1", "b"), ("left", "right"))


def test_mutants_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "model.parquet"
    SSP.from_transitions(TRANSITIONS, goals=["B"]).save(path)
    refused, _ = check_mutants(path, path.read_bytes(), 0, 600)
    assert refused > 200
