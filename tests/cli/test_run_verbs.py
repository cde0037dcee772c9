"""Runs of a results folder: list, export, repeat, remove; with damaged files and runs of no study about."""

from __future__ import annotations

import csv
import io
import json
import shutil
import threading
import weakref
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import goalward as gw
from goalward.results.export import TYPES, export_table
from goalward.studies.rerun import same_episodes
from goalward.studies.store import Store

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "compare-agents.md"


@pytest.fixture
def run(call, monkeypatch, folder):
    monkeypatch.chdir(folder)
    return call


@pytest.fixture
def store(run, folder) -> Store:
    """Return the small study with one run damaged, one failed, and twelve of a study whose design was removed."""
    older = (folder / "small.toml").read_text().replace("episodes = 30", "episodes = 20").replace('"psrl"', '"optimal"')
    (folder / "older.toml").write_text(older)
    gw.run("older.toml", "results/small", workers=1)
    shutil.rmtree("results/small/studies")
    gw.run("small.toml", "results/small", workers=1)
    store = Store.open("results/small")
    design = store.design()
    keys = design.keys(design.cells[0])
    content = store.path(keys[0]).read_bytes()
    store.path(keys[0]).write_bytes(content[:200] + b"x" + content[201:])
    store.path(keys[1]).unlink()
    store.add_failure(keys[1], {"error": "ValueError: no idea"})
    return store


def test_each_file_says_which_run_it_is(store) -> None:
    design = store.design()
    key = design.keys(design.cells[-1])[2]
    table = pq.read_table(store.path(key))
    facts = json.loads(table.schema.metadata[b"goalward"])
    assert facts["content"]["world"]["settings"]["states"] == 3
    assert facts["content"]["agent"]["settings"]["sharpness"] == 1.0
    assert facts["outcome"]["final_regret"] == table.column("regret")[-1].as_py()
    assert (facts["key"], len(table)) == (key, 30)


def test_export_has_the_sound_runs_of_the_study_and_no_others(run, store) -> None:
    code, out, _ = run("export", "results/small")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows[0].keys() == TYPES.keys()
    assert len(rows) == 10
    assert {row["key"] for row in rows} == {row["key"] for row in export_table(store).data()}
    results = gw.open_results("results/small")
    expected = {(row["world"], row["agent"], row["run"]): row["gap_regret"] for row in results.runs()}
    found = {(row["world"], row["agent"], int(row["run"])): float(row["gap_regret"]) for row in rows}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12)
    for row in rows:
        assert (store.folder / row["file"]).is_file()
    code, out, _ = run("export", "results/small", "--out", "small.parquet")
    assert (code, out) == (0, "10 runs written: small.parquet\n")
    schema = pq.read_table("small.parquet").schema
    assert {name: str(kind) for name, kind in zip(schema.names, schema.types, strict=True)} == TYPES
    code, _, err = run("export", "results/small", "--out", "x.bmp")
    assert code == 2
    assert ".csv" in err


def test_the_documented_query(run, store) -> None:
    duckdb = pytest.importorskip("duckdb")
    query = DOCS.read_text(encoding="utf-8").partition("```sql\n")[2].partition("```")[0]
    assert run("export", "results/small", "--out", "small.parquet")[0] == 0
    found = {(world, agent): (count, regret) for world, agent, count, regret in duckdb.sql(query).fetchall()}
    expected: dict[tuple[str, str], list[float]] = {}
    for row in gw.open_results("results/small").runs():
        expected.setdefault((row["world"], row["agent"]), []).append(row["gap_regret"])
    assert found.keys() == expected.keys()
    for name, regrets in expected.items():
        assert found[name] == (len(regrets), pytest.approx(np.mean(regrets)))
    assert found["grid", "uniform"][0] == 1
    row = export_table(store).data()[0]
    curve = duckdb.sql(f"SELECT episode, regret FROM 'results/small/{row['file']}'").fetchall()
    assert curve[-1] == (30, row["regret"])


READ = """
import sys
from goalward.cli import main

for verb in (["status"], ["status", "--prune", "--yes"], ["summary"], ["export", "--all"], ["report"], ["plot"]):
    try:
        main([verb[0], "results", *verb[1:]])
    except SystemExit as exit:
        assert not exit.code, (verb, exit.code)
assert not any(name.startswith("goalward_agent_") for name in sys.modules)
"""


def test_reading_a_folder_does_not_execute_the_files_in_it(run, folder, run_python) -> None:
    """People look at folders of strangers."""
    (folder / "own.py").write_text("from goalward.agents import PSRL\n\nclass Own(PSRL):\n    pass\n")
    (folder / "own.toml").write_text(
        'name = "own"\nruns = 2\nepisodes = 5\n[[worlds]]\nworld = "grid-world"\n[[agents]]\nagent = "own.py:Own"\n'
    )
    assert run("run", "own.toml", "--out", "results", "--workers", "1")[0] == 0
    (attached,) = folder.glob("results/attachments/*.py")
    attached.write_text("raise SystemExit('executed')\n")
    assert "executed" not in run_python(READ)
    code, _, err = run("run", "results", "--again", first_key("results"))
    assert (code, "the content does not match the file name" in err) == (2, True), "no changed file runs"


def first_key(folder: str) -> str:
    return str(export_table(Store.open(folder)).data()[0]["key"])


def test_runs_are_listed_with_their_state(run, store) -> None:
    code, out, _ = run("export", "results/small", "--all", "--format", "text")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["key", "study", "world", "agent", "episodes", "run", "state", "regret"]
    assert [line[6] for line in lines[1:4]] == ["damaged", "failed", "stored"]
    assert len(lines) == 13
    code, out, _ = run("export", "results/small", "--all", "--format", "json")
    document = json.loads(out)["runs"]
    assert [row["state"] for row in document].count("stored") == 10
    assert document[1]["regret"] is None


def test_a_run_is_repeated_and_compared(run, store) -> None:
    key = export_table(store).data()[-1]["key"]
    code, out, _ = run("run", "results/small", "--again", key[:14])
    assert code == 0
    assert out.startswith(f"psrl in drawn, run 2 of small, key {key}\n")
    assert out.endswith("same as the stored run\n")
    code, out, _ = run("run", "results/small", "--again", key, "--format", "json")
    assert json.loads(out)["repeated"]["same"] is True
    code, _, err = run("run", "results/small", "--again", "zzz")
    assert code == 2
    assert "no run of results/small has a key that begins with 'zzz'" in err
    assert not same_episodes(store.read(key), gw.learn(gw.agents.PSRL(), gw.worlds.grid_world(2, 2), 30))


def test_a_failed_run_can_be_repeated_too(run, store) -> None:
    design = store.design()
    code, out, _ = run("run", "results/small", "--again", design.keys(design.cells[0])[1])
    assert code == 0
    assert out.endswith("the run is not stored yet; goalward run stores it\n")


def test_runs_of_no_study_are_counted_and_removed(run, store, folder) -> None:
    runs = sorted((folder / "results/small/runs").glob("*/*.parquet"))
    named = {key for cell in store.design().cells for key in store.design().keys(cell)}
    left = [path for path in runs if path.stem not in named]
    assert len(left) == 12
    left[0].write_bytes(b"rubbish")
    code, out, _ = run("status", "results/small")
    assert code == 1
    assert "12 runs without a study; goalward status results/small --prune deletes them" in out
    before = export_table(store)
    code, out, _ = run("status", "results/small", "--prune", "--yes")
    assert (code, out.split()) == (
        0,
        ["removed", "12", "runs,", "0", "failures,", "0", "attachments,", *out.split()[-2:]],
    )
    assert not any(path.exists() for path in left)
    assert export_table(store).csv() == before.csv()
    assert run("status", "results/small", "--prune")[1].split() == ["removed", "nothing"]


def test_nothing_is_removed_without_consent(run, store, folder, monkeypatch) -> None:
    before = sorted(folder.glob("results/small/runs/*/*.parquet"))
    for options in ([], ["--format", "json"]):
        code, _, err = run("status", "results/small", "--prune", *options)
        assert code == 2
        assert "12 runs, 0 failures, 0 attachments" in err
        assert "add --yes" in err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter([False, True])
    monkeypatch.setattr("typer.confirm", lambda question, err: next(answers))
    assert run("status", "results/small", "--prune")[1].split() == ["removed", "nothing"]
    assert sorted(folder.glob("results/small/runs/*/*.parquet")) == before
    assert "12 runs, 0 failures, 0 attachments" in run("status", "results/small", "--prune")[1]
    assert len(list(folder.glob("results/small/runs/*/*.parquet"))) == len(before) - 12


def test_a_smaller_rerun_loses_nothing(run, folder) -> None:
    (folder / "smaller.toml").write_text((folder / "small.toml").read_text().replace("runs = 3", "runs = 1"))
    (folder / "shorter.toml").write_text((folder / "small.toml").read_text().replace("episodes = 30", "episodes = 7"))
    references = []
    for name in ("small", "smaller", "shorter"):
        assert run("run", f"{name}.toml", "--out", "results", "--workers", "1")[0] == 0
        references.append(gw.Study.load(f"{name}.toml").design.reference)
    code, out, err = run("status", "results", "--format", "json")
    (status,) = json.loads(out)["studies"]
    assert (code, status["stored"], status["runs"], json.loads(out)["notes"]) == (0, 12, 12, [])
    assert status["design"] == references[2]
    assert all(reference in err for reference in references)
    assert run("status", "results", "--prune")[1].split() == ["removed", "nothing"]
    verbs = ["summary"], ["plot", "--out", "x.svg"], ["summary", "--compare", "psrl", "uniform"], ["report"], ["export"]
    for verb, *options in verbs:
        code, _, err = run(verb, "results", *options)
        assert (code, references[2] in err, references[0] in err) == (0, True, True)
    assert "means after 7 episodes" in run("summary", "results")[1]
    code, out, err = run("summary", "results", "--study", references[0])
    assert (code, "means after 30 episodes" in out, err) == (0, True, "")
    assert "some means are over 1 run" in run("summary", "results", "--study", references[1])[1]
    for reference, rows in zip(references, (12, 4, 12), strict=True):
        assert run("export", "results", "--study", reference)[1].count("\n") == rows + 1
    design = gw.open_results("results", references[0]).design
    assert run("run", "results", "--again", design.keys(design.cells[0])[2])[1].endswith("same as the stored run\n")


def test_nothing_is_removed_where_a_study_cannot_be_read(run, store, folder) -> None:
    (path,) = folder.glob("results/small/studies/small/*.toml")
    path.write_text("{")
    before = sorted((folder / "results/small/runs").glob("*/*.parquet"))
    assert run("status", "results/small", "--prune", "--yes")[0] == 2
    assert sorted((folder / "results/small/runs").glob("*/*.parquet")) == before


@pytest.mark.parametrize(
    "verb", [("status", "--check", "many"), ("export", "many"), ("run", "many.toml", "--out", "many")]
)
def test_stored_runs_do_not_pile_up_in_memory(run, folder, monkeypatch, verb) -> None:
    worlds = '[[worlds]]\nworld = "grid-world"\nsettings = { rows = 2, columns = 2 }\n'
    (folder / "many.toml").write_text(
        f'name = "many"\nruns = 300\nepisodes = 1\n{worlds}[[agents]]\nagent = "uniform"\n'
    )
    gw.run("many.toml", "many", workers=1)
    lock, in_memory, most = threading.Lock(), 0, 0
    find = Store.find

    def release() -> None:
        nonlocal in_memory
        with lock:
            in_memory -= 1

    def counted_find(self: Store, key: str) -> object:
        nonlocal in_memory, most
        stored = find(self, key)
        weakref.finalize(stored, release)
        with lock:
            in_memory += 1
            most = max(most, in_memory)
        return stored

    monkeypatch.setattr(Store, "find", counted_find)
    assert run(*verb)[0] == 0
    assert 0 < most <= 100
