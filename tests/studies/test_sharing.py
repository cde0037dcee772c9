"""Several processes and people in one folder: nothing is made twice but what was in flight, and everybody is told."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from unittest.mock import patch

import pytest

from goalward.errors import SettingError, UnknownNameError
from goalward.studies import runner
from goalward.studies.presence import Presence, active
from goalward.studies.runner import Options, chosen_cells, jobs_of, run_study
from goalward.studies.status import check_studies, unused_files
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.workers import ThisProcess
from processes import start_goalward, wait_until


def test_two_people_make_no_run_twice(held):
    both = [start_goalward(held.folder, "run", "held.toml", "--out", "results", "--workers", "2") for _ in range(2)]
    wait_until(lambda: len(held.waiting()) >= 3, both[0])
    status = start_goalward(held.folder, "status", "results").communicate(timeout=60)[0]
    assert "processes now at work in this folder: 2 on " in status
    held.release()
    reports = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], reports
    made = [int(out.partition("made")[2].split()[0].replace("no", "0")) for out, _ in reports]
    assert sum(made) == 12
    assert all("12 of 12 runs are stored" in out for out, _ in reports)
    assert any("made by others" in out for out, _ in reports)
    assert list((held.folder / "results" / "active").iterdir()) == []


@pytest.mark.parametrize(("host", "present"), [(platform.node(), 0), ("another-machine", 1)])
def test_runs_of_a_process_that_was_killed_are_free_at_once(tmp_path, host, present):
    """On this machine one can ask; of others only the age of the file is known."""
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    store = Store.open(tmp_path / "results", create=True)
    (store.folder / "active").mkdir()
    (store.folder / "active" / "x.json").write_text(json.dumps({"host": host, "pid": killed.pid, "keys": ["a"]}))
    assert len(active(store.folder)) == present


def test_runs_that_somebody_stores_meanwhile_are_left_out(folder, run_here):
    study = Study.load(folder / "small.toml")
    _, other = run_here(study, "other")
    mine = Store.open(folder / "results", create=True)

    def copy(progress):
        if progress.done == 4:
            for job in jobs_of(study.design):
                if not mine.has(job.key):
                    mine.add(job.key, other.path(job.key).read_bytes())

    report = run_study(study, mine, ThisProcess, watch=copy)
    assert (report.done, report.stored, report.complete) == (4, 8, True)
    assert report.notes == ["8 made by others"]


def test_only_the_living_hold_runs_back(folder, run_here, monkeypatch):
    monkeypatch.setattr(runner, "CHECK_SECONDS", 0.05)
    study = Study.load(folder / "small.toml")
    store = Store.open(folder / "results", create=True)
    keys = [job.key for job in jobs_of(study.design)]
    other = Presence(store.folder, f"{study.design.reference.rpartition('/')[2]}-1of1")
    other.path = other.path.with_name(f"{other.name}-elsewhere-1.json")
    other.claim(keys[:5], workers=3)
    facts = json.loads(other.path.read_text()) | {"host": "elsewhere"}
    other.path.write_text(json.dumps(facts))
    seen = []

    def watch(progress):
        seen.append((progress.done, progress.others))
        if progress.done == 7:
            then = time.time() - 100  # the other process has died
            os.utime(other.path, (then, then))

    assert run_study(study, store, ThisProcess, watch=watch).complete
    assert max(others for _, others in seen) == 1
    other.leave()
    # What is not a file of a process is ignored.
    (store.folder / "active" / f"{other.name}-x.json").write_text("[3")
    mine = Presence(store.folder, other.name)
    assert mine.claim([]) == set()
    assert mine.claim(keys) == set()
    mine.leave()


def test_a_process_whose_file_was_cleared_still_sees_what_others_make(tmp_path):
    mine, other = (Presence(tmp_path, "x-1of1") for _ in range(2))
    other.path = other.path.with_name("x-1of1-elsewhere-1.json")
    other.claim(["a"])
    other.path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "workers": 1, "keys": ["a"]}))
    mine.claim([])
    mine.path.unlink()
    assert mine.claim(["a", "b"]) == {"a"}
    mine.leave()
    other.leave()


def test_a_run_has_one_owner_although_two_claim_it_at_once(tmp_path):
    """Threads stand for processes, each with a file of its own."""
    keys, taken, start = [f"key-{number}" for number in range(200)], [], threading.Barrier(4)

    def work(number):
        process = Presence(tmp_path, "x-1of1")
        process.path = process.folder / f"x-1of1-{number}.json"
        start.wait()
        process.claim([])
        made = []
        for key in keys:
            if key not in process.claim([key], made):
                made.append(key)
        taken.extend(made)
        process.over.set()

    with patch("platform.node", lambda: threading.current_thread().name):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken) == sorted(keys)


def test_a_lock_that_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / "active").mkdir()
    (tmp_path / "active" / "lock").touch()
    mine = Presence(tmp_path, "x")
    assert mine.claim(["key"]) == set()
    assert [facts["keys"] for facts in active(tmp_path)] == [["key"]]
    mine.leave()
    assert list((tmp_path / "active").iterdir()) == []


def test_designs_of_one_name_live_side_by_side(write_study, run_here):
    run_here(write_study("uniform"))
    _, store = run_here(write_study("psrl"))
    assert len(store.designs("own")) == 2
    assert not any(unused_files(store).values())


def test_choices_of_cells(folder):
    design = Study.load(folder / "small.toml").design
    assert chosen_cells(design, []) == [0, 1, 2, 3]
    assert chosen_cells(design, ["agent=psrl"]) == [1, 3]
    assert chosen_cells(design, ["agent=psrl", "world=gr*"]) == [1]
    assert chosen_cells(design, ["agent=psrl", "agent=uniform", "world=random-mdp-v1"]) == [2, 3]
    assert len(jobs_of(design, (1, 2), ["agent=psrl"])) == 3
    with pytest.raises(UnknownNameError, match="no agent of this study is called 'prsl'; did you mean 'psrl'"):
        chosen_cells(design, ["agent=prsl"])
    with pytest.raises(SettingError, match=r"expected agent=... or world=..., got 'psrl'"):
        chosen_cells(design, ["psrl"])


def test_some_cells_are_run_first_and_the_rest_later(folder, run_here, digests):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study, "whole")
    report, store = run_here(study, options=Options(only=["agent=psrl"]))
    assert (report.total, report.done, report.complete) == (6, 6, True)
    (status,) = check_studies(store, read=False)
    assert (status.stored, status.planned) == (6, 12)
    assert run_here(study)[0].done == 6
    assert digests(store) == digests(whole)
