"""How far studies are: failed runs and damaged files are named, and nothing is changed."""

import json

import pytest

from goalward.errors import FileError
from goalward.studies.status import check_studies
from goalward.studies.store import Store


def test_failed_runs_are_named(write_study, run_here):
    _, store = run_here(write_study("agents.py:Raises", "uniform"))
    (status,) = check_studies(store)
    assert not status.sound
    assert [(each.world, each.agent, each.run, each.error) for each in status.failures] == [
        ("grid", "Raises", 0, "ValueError: no idea"),
        ("grid", "Raises", 1, "ValueError: no idea"),
    ]
    assert [json.loads(each.path.read_text())["run"] for each in status.failures] == [0, 1]


def test_all_studies_of_a_folder_are_checked(write_study, run_here):
    run_here(write_study("uniform", name="one"))
    _, store = run_here(write_study("psrl", name="two"))
    both = check_studies(store)
    assert [each.design.name for each in both] == ["one", "two"]
    assert all(each.sound for each in both)
    key = both[1].design.keys(both[1].design.cells[0])[0]
    store.path(key).write_bytes(b"rubbish")
    assert [each.sound for each in check_studies(store, "one")] == [True]
    (damaged,) = check_studies(store, "two")
    assert (damaged.sound, len(damaged.damaged)) == (False, 1)


def test_a_folder_without_studies(tmp_path):
    with pytest.raises(FileError, match="holds no study"):
        check_studies(Store.open(tmp_path, create=True))
