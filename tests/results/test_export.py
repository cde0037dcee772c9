"""Exports: one row for each run with what questions need, and the visits of state-action pairs."""

from collections import Counter

import pytest

import goalward as gw
from goalward.results.export import TYPES, export_table, visits_table
from goalward.studies.store import Store

STUDY = {
    "name": "swept",
    "runs": 2,
    "episodes": 10,
    "worlds": [{"world": "grid-world", "settings": {"rows": 2}, "sweep": {"columns": [2, 3], "success": [0.5, 1]}}],
    "agents": [
        {"agent": "psrl", "settings": {"prior": "dirichlet"}, "sweep": {"prior.concentration": [0.1, 1.0]}},
        {"agent": "uniform"},
    ],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    gw.run(STUDY, folder, workers=1)
    return Store.open(folder)


def test_swept_settings_and_facts_about_worlds_are_columns(store):
    table = export_table(store)
    assert len(table) == 2 * 2 * 2 * 3
    swept = {"world.columns": "double", "world.success": "double", "agent.prior.concentration": "double"}
    assert table.types == TYPES | swept
    assert {(row["world.columns"], row["world.success"]) for row in table} == {(2, 0.5), (2, 1), (3, 0.5), (3, 1)}
    assert {row["agent.prior.concentration"] for row in table if row["agent"] == "uniform"} == {None}
    for row in table:
        world = gw.worlds.grid_world(2, row["world.columns"], row["world.success"])
        hard = gw.hardness(world)
        assert [row[name] for name in ("B_star", "T_star", "D", "c_min")] == [hard.B_star, hard.T_star, hard.D, 1.0]
        assert (row["world_digest"], row["states"], row["actions"]) == (world.digest, world.states, world.actions)
        assert row["total_epochs"] >= 1


def test_visits_are_those_of_the_steps(store):
    visits = visits_table(store).rows
    exported = {row["key"]: row for row in export_table(store).rows}
    counted = Counter()
    for row in visits:
        counted[row["key"]] += row["visits"]
    assert counted == {key: row["steps"] for key, row in exported.items()}
    key = next(key for key, row in exported.items() if row["agent"] == "uniform")
    row = exported[key]
    world = gw.worlds.grid_world(2, row["world.columns"], row["world.success"])
    run = gw.learn(gw.agents.make("uniform"), world, 10, seed=row["seed"], keep_steps=True)
    pairs = Counter(zip(run.trajectory.states.tolist(), run.trajectory.actions.tolist(), strict=True))
    assert {(row["state"], row["action"]): row["visits"] for row in visits if row["key"] == key} == pairs
    names = {row["state_name"] for row in visits if row["key"] == key}
    assert names <= {world.state_name(state) for state in range(world.states)}


@pytest.mark.parametrize("library", ["duckdb", "pandas", "polars"])
def test_other_tools_read_the_file(store, tmp_path, library):
    reader = pytest.importorskip(library)
    table = export_table(store)
    table.save(tmp_path / "runs.parquet")
    frame = reader.read_parquet(str(tmp_path / "runs.parquet"))
    regrets = frame.fetchall() if library == "duckdb" else frame["regret"].to_list()
    found = [row[list(table.types).index("regret")] for row in regrets] if library == "duckdb" else regrets
    assert found == [row["regret"] for row in table]
