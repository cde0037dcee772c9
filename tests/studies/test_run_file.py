"""Runs as files: everything comes back, nothing damaged passes."""

import hashlib
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goalward as gw
from goalward.errors import FileError
from goalward.studies import run_file as record
from goalward.studies.run_file import decode, encode, recorded, verify
from goalward.studies.run_spec import RunSpec

SPEC = RunSpec({"id": "grid-world-v0", "settings": {}}, {"name": "psrl", "settings": {}}, 40, None, seed=3)
TIMING = {"cpu_seconds": 1.0}


def with_checksum(content):
    return content.replace(record.BLANK, record.MARK + hashlib.sha256(content).hexdigest().encode())


@pytest.fixture(scope="module")
def run():
    return gw.learn(gw.agents.make("psrl"), gw.worlds.grid_world(2, 3), 40, seed=3)


@pytest.fixture(scope="module")
def file(run):
    return encode(run, SPEC, TIMING)


def test_everything_comes_back(run, file):
    stored = decode(file)
    assert stored.column("episode").tolist() == list(range(1, 41))
    assert np.array_equal(stored.column("cost"), run.costs)
    assert np.array_equal(stored.column("steps"), run.steps)
    assert np.array_equal(stored.column("regret"), run.regret)
    assert np.array_equal(stored.column("gap_regret"), run.gap_regret)
    begun = [int((run.epochs.start_episode < episode).sum()) for episode in range(1, 41)]
    assert stored.column("epochs").tolist() == begun
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
    assert table.column_names == ["episode", "cost", "steps", "regret", "gap_regret", "epochs"]
    assert table.column("regret").to_pylist() == run.regret.tolist()


def test_the_data_does_not_depend_on_the_document(run, file):
    other = encode(run, SPEC, {"cpu_seconds": 3.0})
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
    assert np.isinf(stored.column("gap_regret")[-1])


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
    kept = stored.column("episode")
    assert len(kept) <= 8
    assert np.array_equal(stored.column("regret"), run.regret[kept - 1])
    assert stored.outcome["total_epochs"] == stored.column("epochs")[-1] == len(run.epochs)


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
    with pytest.raises(FileError, match="the file has format 7; this goalward reads format 3"):
        decode(later)


def test_what_is_no_run_is_refused():
    with pytest.raises(FileError, match="the file is not a run"):
        decode(with_checksum(b"no parquet " + record.BLANK))


def forged(file, change):
    """Return a file with another document and a checksum that fits it."""
    table = pq.ParquetFile(pa.BufferReader(file))
    document = json.loads(table.metadata.metadata[b"goalward"])
    data = change(document, table.read()) or table.read()
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, data.schema, store_schema=False) as writer:
        writer.write_table(data)
        writer.add_key_value_metadata({"goalward": json.dumps(document), "goalward.checksum": record.BLANK.decode()})
    return with_checksum(sink.getvalue())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document, _: document.pop("outcome"), "no int called outcome.episodes"),
        (lambda document, _: document["outcome"].pop("ended_by"), "no dict called outcome.ended_by"),
        (lambda document, _: document.update(timing=3), "no float called timing.cpu_seconds"),
        (lambda document, _: document["outcome"].update(truncated=0), "no bool called outcome.truncated"),
        (lambda document, _: document["outcome"].update(episodes=True), "no int called outcome.episodes"),
        (lambda _, table: table.drop_columns(["gap_regret"]), "the columns do not fit a run of 40 episodes"),
        (lambda _, table: pa.concat_tables([table, table]), "the columns do not fit a run of 40 episodes"),
        (lambda document, _: document["outcome"].update(episodes=7), "do not fit a run of 7 episodes"),
        (
            lambda _, table: table.set_column(2, "steps", pa.array([None] * 40, pa.int64())),
            "do not fit a run of 40 episodes",
        ),
    ],
)
def test_a_file_is_used_only_if_all_of_it_is_there(file, change, message):
    def changed(document, table):
        made = change(document, table)
        return made if isinstance(made, pa.Table) else None

    assert decode(forged(file, lambda *_: None)).key == SPEC.key
    with pytest.raises(FileError, match=message):
        decode(forged(file, changed))


def test_the_document_is_strict_json(file):
    metadata = decode(file).file.metadata.metadata
    json.loads(metadata[b"goalward"], parse_constant=lambda name: pytest.fail(name))
