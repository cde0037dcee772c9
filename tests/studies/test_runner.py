"""The runner: nothing twice, nothing lost, the same bits whoever computes them."""

import shutil
import sys
import threading
import time
from collections import deque
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor

import pytest

from goalward.errors import FileError, SettingError
from goalward.results.results import load_results
from goalward.studies import worker as work
from goalward.studies.executors import InProcess, Processes, open_pool
from goalward.studies.run_file import decode
from goalward.studies.runner import jobs_of, run_study
from goalward.studies.session import Session
from goalward.studies.status import check_studies
from goalward.studies.store import MARKER, Store
from goalward.studies.study import Study
from processes import wait_until


def counting(pool=InProcess):
    """Return a way to open pools, and the list of runs that were handed to them."""
    handed = []

    class Counting(pool):
        def submit(self, function, jobs, attachments):
            handed.extend(job.key for job in jobs)
            return super().submit(function, jobs, attachments)

    return Counting, handed


def test_a_study_is_carried_out_once(folder, digests):
    study = Study.load(folder / "small.toml")
    store = Store.open(folder / "results", create=True)
    opened, handed = counting()
    report = run_study(study, store, opened)
    assert (report.total, report.stored, report.done, report.complete) == (12, 0, 12, True)
    assert len(handed) == len(set(handed)) == 12
    before = digests(store)
    assert len(set(before.values())) == 12
    again = run_study(study, store, lambda: pytest.fail("there is nothing to do"))
    assert (again.stored, again.done, again.complete) == (12, 0, True)
    assert digests(store) == before


def test_a_run_that_two_labels_share_is_carried_out_once(folder, digests):
    grid = {"world": "grid-world", "settings": {"rows": 2, "columns": 2}, "label": "one"}
    swept = {"world": "grid-world", "settings": {"rows": 2}, "sweep": {"columns": [2, 3]}}
    document = {"name": "shared", "runs": 2, "episodes": 5, "worlds": [grid, swept], "agents": [{"agent": "uniform"}]}
    study = Study.from_dict(document)
    store = Store.open(folder / "results", create=True)
    opened, handed = counting()
    report = run_study(study, store, opened)
    assert len(handed) == len(set(handed)) == 4
    assert (report.total, report.done, report.complete, study.design.size) == (4, 4, True, 6)
    found = digests(store)
    assert found["one", "uniform", 1] == found["grid-world columns=2", "uniform", 1]
    assert len(found) == 6
    # status and results count as run does.
    assert load_results(store, study.design).count() == (4, 4)
    store.path(handed[0]).unlink()
    assert load_results(store, study.design).count() == (3, 4)


def test_no_shipped_study_hands_out_a_run_twice():
    design = Study.load("claims-theorem").design
    jobs = jobs_of(design)
    assert (len(jobs), len({job.key for job in jobs}), design.size) == (280, 280, 320)
    shards = [job.key for number in (1, 2, 3) for job in jobs_of(design, (number, 3))]
    assert sorted(shards) == sorted(job.key for job in jobs)


def test_adding_an_agent_changes_no_other_result(folder, digests, run_here):
    report, store = run_here(Study.load(folder / "small.toml"))
    before = digests(store)
    text = (folder / "small.toml").read_text()
    (folder / "small.toml").write_text(text.replace("[[agents]]", '[[agents]]\nagent = "tsde"\n\n[[agents]]', 1))
    report, store = run_here(Study.load(folder / "small.toml"))
    assert (report.stored, report.done) == (12, 6)
    after = digests(store)
    assert len(after) == 18
    assert after.items() >= before.items()
    alone = (folder / "small.toml").read_text().replace('[[agents]]\nagent = "uniform"\n', "")
    (folder / "alone.toml").write_text(alone)
    _, other = run_here(Study.load(folder / "alone.toml"), "alone")
    assert digests(other).items() <= after.items()


def test_runs_depend_on_the_seed_of_the_study_and_on_nothing_else(folder, digests, run_here):
    _, store = run_here(Study.load(folder / "small.toml"))
    (folder / "more.toml").write_text((folder / "small.toml").read_text().replace("runs = 3", "runs = 4"))
    _, more = run_here(Study.load(folder / "more.toml"), "more")
    assert digests(more).items() > digests(store).items()
    (folder / "seed.toml").write_text((folder / "small.toml").read_text().replace("runs = 3", "runs = 3\nseed = 1"))
    _, seed = run_here(Study.load(folder / "seed.toml"), "seed")
    assert not set(digests(seed).values()) & set(digests(store).values())


def test_agents_face_the_same_luck_and_drawn_worlds_differ(folder):
    design = Study.load(folder / "small.toml").design
    by_label = {(cell.world.label, cell.agent.label): design.specs(cell) for cell in design.cells}
    for world in ("grid", "drawn"):
        uniform, psrl = by_label[world, "uniform"], by_label[world, "psrl"]
        assert [(c.seed, c.world) for c in uniform] == [(c.seed, c.world) for c in psrl]
    assert len({spec.world["settings"]["seed"] for spec in by_label["drawn", "psrl"]}) == 3
    assert by_label["grid", "psrl"][0].seed != by_label["drawn", "psrl"][0].seed


def test_two_workers_make_the_same_bits(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, alone = run_here(study)
    store = Store.open(folder / "two", create=True)
    report = run_study(study, store, lambda: open_pool(2))
    assert report.complete
    assert digests(store) == digests(alone)


def test_shards_make_up_the_study(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study)
    for number in (3, 1, 2):
        report, shared = run_here(study, "shards", shard=(number, 3))
        assert report.complete
        assert report.done == 4
    assert digests(shared) == digests(whole)
    keys = [job.key for number in range(1, 6) for job in jobs_of(study.design, (number, 5))]
    assert sorted(keys) == sorted(job.key for job in jobs_of(study.design))
    with pytest.raises(SettingError, match="shard is 4/3; it must be i/n"):
        jobs_of(study.design, (4, 3))


def test_damaged_files_are_run_again(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, store = run_here(study)
    before = digests(store)
    key = jobs_of(study.design)[5].key
    store.path(key).write_bytes(b"rubbish")
    report, _ = run_here(study)
    assert len(report.damaged) == 1
    assert report.done == 1
    assert digests(store) == before


@pytest.mark.parametrize("workers", [1, 2])
def test_failures_do_not_stop_the_others(write_study, folder, workers):
    study = write_study("agents.py:Raises", "agents.py:Leaves", "agents.py:Plain", "uniform")
    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, lambda: open_pool(workers))
    assert not report.complete
    assert (report.done, len(report.failures)) == (4, 4)
    assert {(failure.agent, failure.error) for failure in report.failures} == {
        ("Raises", "ValueError: no idea"),
        ("Leaves", "SystemExit: 3"),
    }
    recorded = store.failure(study.design.keys(study.design.cells[0])[0])
    assert 'raise ValueError("no idea")' in recorded["traceback"]
    assert "agents.py" in recorded["traceback"]
    # Once the file is mended, only its own runs are made.
    path = folder / "agents.py"
    path.write_text(path.read_text().replace('raise ValueError("no idea")', "return super().plan(state)"))
    mended = Study.load(folder / "own.toml")
    again = run_study(mended, store, InProcess)
    assert again.stored == 2
    assert {failure.agent for failure in again.failures} == {"Leaves"}


def test_a_run_that_kills_its_worker_is_found_out(write_study, folder, digests):
    study = write_study("agents.py:Kills", "uniform", "psrl")
    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, lambda: Processes(2))
    assert {(failure.agent, failure.run) for failure in report.failures} == {("Kills", 0), ("Kills", 1)}
    assert all("the worker process died during this run" in failure.error for failure in report.failures)
    assert report.done == 4


def test_a_worker_that_dies_between_two_batches_costs_nothing(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study)

    class Breaks(InProcess):
        """Refuses the fifth batch: a worker died while nobody waited for it."""

        workers, fails_as_one = 3, True
        batches = restarts = 0

        def submit(self, function, jobs, attachments):
            Breaks.batches += 1
            if Breaks.batches == 5:
                raise BrokenExecutor
            return super().submit(function, jobs, attachments)

        def restart(self):
            Breaks.restarts += 1

    store = Store.open(folder / "broken", create=True)
    report = run_study(study, store, Breaks)
    assert Breaks.restarts == 1
    assert (report.done, report.failures) == (12, [])
    assert digests(store) == digests(whole)


def test_a_suspect_runs_alone(folder):
    study = Study.load(folder / "small.toml")
    suspect, other, *rest = jobs_of(study.design)
    store = Store.open(folder / "results", create=True)
    session = Session(study.design, study.attachments, store, rest, 12, None)
    session.suspects = deque([suspect])
    session.attempts[suspect.key] = 2

    class Wide(InProcess):
        workers = 4

    pool = Wide()
    for _ in range(2):
        session.hand_out(pool)
        assert list(session.in_flight.values()) == [[suspect]]
    # Nor does it start beside a batch that is going on.
    session.take_in(next(iter(session.in_flight)))
    session.hand_out(pool)
    assert len(session.in_flight) == 4
    session.suspects.append(other)
    session.hand_out(pool)
    assert len(session.in_flight) == 4


def test_threads_may_share_what_is_made(folder):
    study = Study.load(folder / "small.toml")
    jobs = jobs_of(study.design)
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda job: work.build(job.spec, study.attachments), jobs * 40))
    assert [agent.name for _, agent in outcomes[:12]] == [study.design.cells[job.cell].agent.label for job in jobs]
    assert len(work._built) <= work.MOST_BUILT


def test_a_disk_that_fills_up(folder, monkeypatch):
    study = Study.load(folder / "small.toml")
    store = Store.open(folder / "results", create=True)
    add, added, lock = store.add, [], threading.Lock()

    def fill_up(key, content):
        with lock:
            if len(added) == 5:
                raise FileError("no space")
            added.append(key)
        add(key, content)

    monkeypatch.setattr(store, "add", fill_up)
    report = run_study(study, store, InProcess)
    assert (report.done, report.complete) == (5, False)
    assert "no space" in report.stopped
    assert all(store.read(key) for key in added)
    # No run is to blame: the report and the folder name no failure, and the rest is made once there is room.
    assert report.failures == check_studies(store)[0].failures == []
    monkeypatch.undo()
    assert run_study(study, store, InProcess).complete


def test_a_failure_that_cannot_be_recorded_is_not_reported_as_recorded(write_study, folder, monkeypatch):
    study = write_study("agents.py:Raises")
    store = Store.open(folder / "results", create=True)

    def refuse(key, failure):
        raise FileError("no space")

    monkeypatch.setattr(store, "add_failure", refuse)
    report = run_study(study, store, InProcess)
    assert (report.done, report.failures, report.complete) == (0, [], False)
    assert "no space" in report.stopped


@pytest.mark.parametrize("removed", [".", MARKER, "runs"])
def test_a_results_folder_that_is_removed_during_the_study(folder, digests, run_here, removed):
    # Whole or in part: rm -r stops half-way if a file appears in a folder that it has just emptied.
    study = Study.load(folder / "small.toml")
    path = folder / "results" / removed

    def remove(progress):
        if progress.done.total() == 6 and path.exists():
            path.unlink() if path.is_file() else shutil.rmtree(path.resolve())

    report, _ = run_here(study, watch=remove)
    there = len(list(folder.glob("results/runs/*/*.parquet")))
    assert (report.stored + report.done, report.complete, report.failures) == (there, False, [])
    assert there < 12
    assert "removed" in report.stopped
    # The same study can be run again.
    again, store = run_here(study)
    assert again.complete
    _, whole = run_here(study, "whole")
    assert digests(store) == digests(whole)


def test_a_results_folder_that_is_moved_back_is_used(folder, run_here):
    study = Study.load(folder / "small.toml")

    def move(progress):
        if progress.done.total() == 6 and (folder / "results").exists():
            (folder / "results").rename(folder / "elsewhere")

    report, _ = run_here(study, watch=move)
    assert (report.complete, report.failures) == (False, [])
    assert not (folder / "results").exists()
    (folder / "elsewhere").rename(folder / "results")
    again, _ = run_here(study)
    assert (again.complete, again.stored) == (True, 6)


def test_progress_is_reported(folder, run_here):
    seen = []
    run_here(
        Study.load(folder / "small.toml"), watch=lambda progress: seen.append((dict(progress.done), progress.failed))
    )
    assert seen[0] == ({}, 0)
    assert seen[-1] == ({"uniform": 6, "psrl": 6}, 0)


def test_interrupts_stop_everything(folder):
    class Interrupted(InProcess):
        stopped = False

        def submit(self, function, jobs, attachments):
            raise KeyboardInterrupt

        def stop(self):
            Interrupted.stopped = True

    with pytest.raises(KeyboardInterrupt):
        run_study(Study.load(folder / "small.toml"), Store.open(folder / "results", create=True), Interrupted)
    assert Interrupted.stopped


def test_wrong_values_are_found_before_the_first_run(folder, run_here):
    text = (folder / "small.toml").read_text()
    (folder / "wrong.toml").write_text(text + "settings = { max_rejections = -1 }\n")
    with pytest.raises(FileError, match="max_rejections is -1"):
        run_here(Study.load(folder / "wrong.toml"))
    assert not (folder / "results" / "runs").exists()


def test_which_pool():
    assert isinstance(open_pool(1), InProcess)
    with pytest.raises(SettingError, match="workers is 0; it must be at least 1"):
        open_pool(0)
    with pytest.raises(SettingError, match="not both"):
        open_pool(2, "tcp://127.0.0.1:1")


def test_a_run_in_a_thread_counts_its_own_time_and_leaves_standard_output_alone(held):
    # A worker of a Dask cluster carries out several runs at once, in threads.
    study = Study.load(held.folder / "held.toml")
    by_agent = {job.agent_label: job for job in jobs_of(study.design)}
    work.carry_out([by_agent["psrl"]], study.attachments)  # the kernels are loaded before the time counts
    before = sys.stdout
    with ThreadPoolExecutor(1) as threads:
        outcome = threads.submit(work.carry_out, [by_agent["Held"]], study.attachments)
        try:
            wait_until(held.waiting)
            assert sys.stdout is before
            start = time.process_time()
            while time.process_time() - start < 0.5:
                pass
        finally:
            held.release()
    (done,) = outcome.result()
    assert decode(done.file).document["timing"]["cpu_seconds"] < 0.4
