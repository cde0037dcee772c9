"""Results of every version stay readable: a sample of each is kept under samples/, beginning with version 4."""

import shutil
from pathlib import Path

import pytest

import goalward as gw
from goalward.results.export import export_table
from goalward.studies import design, run_spec
from goalward.studies.rerun import repeat
from goalward.studies.status import check_studies, unused_files
from goalward.studies.store import Store

SAMPLES = sorted((Path(__file__).parent / "samples").glob("results-*"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("newer", [False, True])
def test_a_stored_sample_can_be_read_exported_and_drawn(sample, tmp_path, monkeypatch, newer):
    if newer:  # as the next version of goalward will see it
        for module in (run_spec, design):
            monkeypatch.setattr(module, "RESULTS_VERSION", 1_000)
    store = Store.open(shutil.copytree(sample, tmp_path / "results"))
    (status,) = check_studies(store)
    assert (status.stored, status.planned, status.sound) == (8, 8, True)
    assert not any(unused_files(store).values())
    results = gw.open_results(store.folder)
    assert results.agents() == ["psrl, concentration 0.1", "psrl, concentration 1"]
    rows = export_table(store).rows
    assert {(row["tags"], row["host"], row["state"]) for row in rows} == {("kept", "sample", "stored")}
    regrets = [row["regret"] for row in results.runs().rows]
    assert regrets == [row["regret"] for row in rows]
    assert len(set(regrets)) == 8
    assert gw.plot(results).axes


@pytest.mark.parametrize("sample", [path for path in SAMPLES if path.name == f"results-{run_spec.RESULTS_VERSION}"])
def test_runs_of_the_present_version_can_be_repeated(sample):
    store = Store.open(sample)
    assert repeat(store, next(iter(store.sizes()))).same
