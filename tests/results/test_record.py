"""Runs as files: everything comes back, nothing damaged passes."""

import hashlib
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goalward as gw
from goalward.errors import FileError
from goalward.results import record
from goalward.results.record import decode, encode, recorded, verify
from goalward.studies.run_spec import RunSpec

SPEC = RunSpec({"id": "grid-world-v0", "settings": {}}, {"name": "psrl", "settings": {}}, 40, None, seed=3)
TIMING = {"seconds": 1.0}


@pytest.fixture(scope="module")
def run():
    return gw.learn(gw.agents.make("psrl"), gw.worlds.grid_world(2, 3), 40, seed=3)


@pytest.fixture(scope="module")
def file(run):
    return encode(run, SPEC, TIMING)


def test_everything_comes_back(run, file):
    stored = decode(file)
    assert stored.episodes.tolist() == list(range(1, 41))
    assert np.array_equal(stored.column("cost"), run.costs)
    assert np.array_equal(stored.column("steps"), run.steps)
    assert np.array_equal(stored.regret(), run.regret)
    assert np.array_equal(stored.regret("gap_regret"), run.gap_regret)
    assert list(stored.epochs()) == list(run.epochs)
    assert (stored.document["key"], stored.document["content"]) == (SPEC.key, SPEC.document())
    assert stored.document["agent_settings"] == run.agent.settings()
    outcome = stored.outcome
    assert (outcome["episodes_done"], outcome["truncated"], outcome["ended"]) == (40, False, "EPISODES")
    assert outcome["final_regret"] == run.regret[-1]
    assert outcome["total_steps"] == run.steps.sum()
    assert outcome["ended_by"]["EPISODES"] == 1


def test_other_tools_read_it(run, file, tmp_path):
    path = tmp_path / "run.parquet"
    path.write_bytes(file)
    table = pq.read_table(path)
    assert table.num_rows == 1
    row = table.to_pylist()[0]
    assert row["agent"] == "psrl"
    assert row["regret"] == run.regret.tolist()


def test_the_data_does_not_depend_on_the_document(run, file):
    other = encode(run, SPEC, {"seconds": 3.0})
    assert other != file
    assert decode(other).document["data_sha256"] == decode(file).document["data_sha256"]


def test_a_truncated_run_says_so():
    run = gw.learn(gw.agents.make("uniform"), gw.worlds.grid_world(3, 4), 100, seed=0, max_steps=50)
    outcome = decode(encode(run, SPEC, TIMING)).outcome
    assert outcome["truncated"]
    assert outcome["ended"] == "MAX_STEPS"
    assert outcome["episodes_done"] == run.reached.sum() < outcome["episodes"]


def test_infinite_regret_is_no_problem_for_the_document():
    # From the start, action 1 may fall into a state without a way out.
    world = gw.SSP.from_transitions(
        [("a", "x", "g", 1.0, 1.0), ("a", "y", "g", 0.5, 0.0), ("a", "y", "b", 0.5, 0.0), ("b", "x", "b", 1.0, 1.0)],
        goals=["g"],
    )
    run = gw.learn(gw.agents.make("uniform"), world, 20, seed=1, max_steps=100)
    stored = decode(encode(run, SPEC, TIMING))
    assert np.isinf(run.gap_regret[-1])
    assert stored.outcome["final_gap_regret"] is None
    assert np.isinf(stored.regret("gap_regret")[-1])


@pytest.mark.parametrize("count", [1, 2, 20_000, 20_001, 10**7])
def test_recorded_episodes(count):
    kept = recorded(count)
    assert kept[0] == 0
    assert kept[-1] == count - 1
    assert (np.diff(kept) > 0).all()
    if count <= 20_000:
        assert len(kept) == count
    else:
        assert 1_500 < len(kept) <= 2_000
        # Half of the points are linear and half logarithmic: no gap is wide on both scales.
        assert np.diff(kept).max() <= count / 999 + 1
        assert (np.diff(kept)[kept[:-1] > 200] <= 0.02 * kept[:-1][kept[:-1] > 200] + 1).all()


def test_long_runs_are_thinned(monkeypatch, run):
    monkeypatch.setattr(record, "MOST_EPISODES", 10)
    monkeypatch.setattr(record, "GRID_POINTS", 8)
    stored = decode(encode(run, SPEC, TIMING))
    kept = stored.episodes
    assert len(kept) <= 8
    assert np.array_equal(stored.regret(), run.regret[kept - 1])
    assert stored.outcome["total_epochs"] == len(run.epochs) > len(stored.epochs())


@given(st.data())
def test_one_changed_bit_is_found(file, data):
    place = data.draw(st.integers(0, len(file) - 1))
    damaged = bytearray(file)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(FileError):
        decode(bytes(damaged))


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_files_cut_short_are_found(file, length):
    with pytest.raises(FileError, match="checksum"):
        verify(file[:length])


def test_another_format_is_named(run, monkeypatch):
    monkeypatch.setattr(record, "FORMAT_VERSION", 7)
    later = encode(run, SPEC, TIMING)
    monkeypatch.undo()
    with pytest.raises(FileError, match="it has format 7; this goalward reads format 1"):
        decode(later)


def test_what_is_no_run_is_refused():
    def checked(content):
        return content.replace(record.BLANK, record.MARK + hashlib.sha256(content).hexdigest().encode())

    with pytest.raises(FileError, match="no run of goalward's"):
        decode(checked(b"no parquet " + record.BLANK))


def test_the_document_is_strict_json(file):
    metadata = decode(file).file.metadata.metadata
    json.loads(metadata[b"goalward"], parse_constant=lambda name: pytest.fail(name))
