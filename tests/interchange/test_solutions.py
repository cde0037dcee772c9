"""Values and policies on disk: what is written is read back, what does not fit the model is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import goalward as gw
from goalward import SSP, Solution
from goalward.errors import FileError
from goalward.planning.solve import solve_all
from oracles import Exact
from strategies import models

ROADS = [
    ("A", "ferry", "B", 0.8, 3.0),
    ("A", "ferry", "A", 0.2, 3.0),
    ("A", "bridge", "C", 1.0, 1.0),
    ("C", "road", "B", 0.5, 2.0),
    ("C", "road", "pit", 0.5, 2.0),
    ("pit", "road", "pit", 1.0, 6.0),
]


def roads() -> SSP:
    return SSP.from_transitions(ROADS, goals=["B"])


def same(one: Solution, other: Solution) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("values", "policy", "lower", "upper")
    )


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    solution = gw.solve(roads())
    solution.save(path)
    back = Solution.load(path, roads())
    assert same(back, solution)
    assert (back.method, back.ssp) == ("read from policy.csv", roads())
    assert back.width == pytest.approx(solution.width)
    assert gw.solve(roads(), start=back).values.tolist() == pytest.approx(solution.values.tolist())


@given(ssp=models())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_solution_survives(ssp: SSP, tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    solution = solve_all(ssp)
    solution.save(path)
    assert same(Solution.load(path, ssp), solution)


def test_what_the_files_say(tmp_path: Path) -> None:
    solution = gw.solve(roads())
    solution.save(tmp_path / "policy.csv")
    with (tmp_path / "policy.csv").open(newline="") as file:
        rows = {row["state"]: row for row in csv.DictReader(file)}
    assert {name: row["action"] for name, row in rows.items()} == {"A": "ferry", "C": "", "pit": ""}
    assert (float(rows["A"]["value"]), rows["pit"]["value"]) == (solution.values[0], "inf")


def test_the_chain_of_a_policy() -> None:
    """Its values are those of the policy, by exact arithmetic too; without a policy there is no way out."""
    solution = gw.solve(roads())
    chain = solution.chain()
    assert (chain.states, chain.actions, chain.state_names) == (3, 1, ("A", "C", "pit"))
    assert chain.to_dense()[0, 0].tolist() == [0.2, 0.0, 0.0, 0.8]
    assert chain.available[:, 0].tolist() == [True, False, False]
    values, _ = Exact.of(chain).best()
    assert [None if value is None else float(value) for value in values] == [3.75, None, None]


def test_an_action_without_a_name(tmp_path: Path) -> None:
    ssp = SSP.from_dense(
        [[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]] * 2], [[1.0, 1.0], [1.0, 1.0]], action_names=["", "b"]
    )
    solution = gw.solve(ssp)
    solution.save(tmp_path / "policy.csv")
    assert Solution.load(tmp_path / "policy.csv", ssp).policy.tolist() == solution.policy.tolist() == [0, -1]


@pytest.mark.parametrize("ending", [".npz", ".json", "", ".umb"])
def test_other_endings(tmp_path: Path, ending: str) -> None:
    with pytest.raises(FileError, match=r"a solution is stored as \.csv; the ending is"):
        gw.solve(roads()).save(tmp_path / f"policy{ending}")
    with pytest.raises(FileError, match=r"a solution is stored as \.csv; the ending is"):
        Solution.load(tmp_path / f"policy{ending}", roads())


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    with pytest.raises(FileError, match=rf"^{path}: No such file or directory"):
        Solution.load(path, roads())
    gw.solve(roads()).save(path)
    with pytest.raises(FileError, match=rf"^{path / path.name}: cannot be written"):
        gw.solve(roads()).save(path / path.name)


def test_the_solution_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    gw.solve(roads()).save(path)
    other = gw.worlds.random_mdp(states=8, seed=5, rows="uniform")
    with pytest.raises(FileError, match=rf"^{path}: .*(another model|no state is called|no action is called)"):
        Solution.load(path, other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("state,action", "state,action_name", "the table has no column 'action'"),
        ("state,action", "action,state", "no state is called 'ferry'"),
        ("A,ferry", "AA,ferry", r"no state is called 'AA'; did you mean 'A'\? in row 2"),
        ("A,ferry", "A,fairy", r"no action is called 'fairy'; did you mean 'ferry'\? in row 2"),
        ("A,ferry", "A,road", "state 'A' has an action that is not available there"),
        ("A,ferry", "A,", "no action is called ''"),
        ("C,", "pit,", "state 'C' has 0 rows; each state needs one"),
        ("C,,inf,inf,inf\n", "", "state 'C' has 0 rows"),
        ("C,,inf,inf,inf", "C,,inf,inf,inf\nC,,inf,inf,inf", "state 'C' has 2 rows"),
        ("C,,inf,inf,inf", "C,,inf", ".*Row #3: Expected 5 columns, got 3"),
        ("C,,inf,inf,inf", "C,,x,y,z", ".*Row #3: .* invalid value 'x'"),
        ("C,,inf,inf,inf", "C,,inf,inf,1", "state 'C' must have bounds of which the lower is not above the upper"),
        ("C,,inf,inf,inf", "C,road,nan,0,1", "state 'C' must have bounds .* no negative numbers"),
        ("C,,inf,inf,inf", "C,road,-1,0,1", "state 'C' must have bounds"),
    ],
)
def test_csv_files_that_are_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "policy.csv"
    gw.solve(roads()).save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=rf"^{path}: {message}"):
        Solution.load(path, roads())


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"[" * 100_000, b"PK\3\4"])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "policy.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"^{path}: "):
        Solution.load(path, roads())
