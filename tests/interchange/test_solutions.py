"""Values and policies as CSV files, and the chain of a policy."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import goalward as gw
from goalward import SSP
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


@given(ssp=models())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_is_written_in_full(ssp: SSP, tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    solution = solve_all(ssp)
    solution.save(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, numbers in (("value", solution.values), ("lower", solution.lower), ("upper", solution.upper)):
        assert [float(row[name]) for row in rows] == numbers.tolist()
    actions = [ssp.action_name(action) if action >= 0 else "" for action in solution.policy]
    assert [row["action"] for row in rows] == actions


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


@pytest.mark.parametrize("ending", [".npz", ".json", "", ".umb"])
def test_other_endings(tmp_path: Path, ending: str) -> None:
    with pytest.raises(FileError, match=r"solutions are stored as \.csv, not as"):
        gw.solve(roads()).save(tmp_path / f"policy{ending}")


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    gw.solve(roads()).save(path)
    with pytest.raises(FileError, match=rf"^{path / path.name}: cannot be written"):
        gw.solve(roads()).save(path / path.name)
