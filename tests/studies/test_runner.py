"""The runner: nothing twice, nothing lost, the same bits whoever computes them."""

import shutil
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import pytest

import goalward as gw
from goalward.errors import FileError, SettingError, WorkerError
from goalward.results.results import load_results
from goalward.studies import runner
from goalward.studies import worker as work
from goalward.studies.run_file import decode
from goalward.studies.runner import Options, jobs_of, run_study
from goalward.studies.status import check_studies
from goalward.studies.store import MARKER, Store
from goalward.studies.study import Study
from goalward.studies.worker_process import RunResult
from goalward.studies.workers import Processes, ThisProcess, open_workers
from processes import wait_until


def counting():
    """Return a way to open workers, and the list of runs that were handed to them."""
    handed = []

    class Counting(ThisProcess):
        def submit(self, batch):
            if batch.function is work.carry_out:
                handed.extend(task.key for task in batch.tasks)
            return super().submit(batch)

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
    assert found["one", "uniform", 1] == found["grid-world, columns 2", "uniform", 1]
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
    report = run_study(study, store, lambda: open_workers(2))
    assert report.complete
    assert digests(store) == digests(alone)


def test_shards_make_up_the_study(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study)
    for number in (3, 1, 2):
        report, shared = run_here(study, "shards", options=Options(shard=(number, 3)))
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
    report = run_study(study, store, lambda: open_workers(workers))
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
    again = run_study(mended, store, ThisProcess)
    assert again.stored == 2
    assert {failure.agent for failure in again.failures} == {"Leaves"}


def test_a_run_that_kills_its_worker_is_found_out(write_study, folder, digests):
    study = write_study("agents.py:Kills", "uniform", "psrl")
    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, lambda: Processes(2))
    assert {(failure.agent, failure.run) for failure in report.failures} == {("Kills", 0), ("Kills", 1)}
    assert all("the process of this run died" in failure.error for failure in report.failures)
    assert report.done == 4


KILLS_ONCE = """
import os, signal
from pathlib import Path
from goalward.agents import PSRL

class KillsOnce(PSRL):
    def plan(self, state):
        if not Path({marker!r}).exists():
            Path({marker!r}).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().plan(state)
"""


def test_a_worker_that_is_killed_once_costs_no_run(write_study, folder, digests, run_here):
    """The run that it was making is tried once more, and the others of its batch are made by the next process."""
    (folder / "once.py").write_text(KILLS_ONCE.format(marker=str(folder / "killed")))
    study = write_study("once.py:KillsOnce", "uniform")
    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, lambda: Processes(2))
    assert (report.complete, report.notes) == (True, ["1 handed out again"])
    _, whole = run_here(study, "whole")
    assert digests(store) == digests(whole)


def test_an_executor_of_the_user_is_used_and_left_open(folder, digests, run_here):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study)
    with ThreadPoolExecutor(2) as threads:
        assert open_workers(threads).size == 2
        results = gw.run(study, folder / "own", workers=threads)
        assert threads.submit(int).result() == 0
    assert results.count() == (12, 12)
    assert digests(Store.open(folder / "own")) == digests(whole)


class Fails(ThisProcess):
    """Answers a few calls, and then nothing but an error that no run has raised."""

    def __init__(self, error, calls=2):
        super().__init__()
        self.error, self.calls = error, calls

    def submit(self, batch):
        if batch.function is work.carry_out:
            self.calls -= 1
            if self.calls < 0:
                future = Future()
                future.set_exception(self.error)
                return future
        return super().submit(batch)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ModuleNotFoundError("No module named 'goalward'"), "install the same goalward on every worker"),
        (TypeError("cannot pickle 'lock'"), "TypeError: cannot pickle 'lock'; stored runs are kept"),
        (WorkerError("a worker has another version"), "a worker has another version; stored runs"),
        (BrokenExecutor("a thread died"), "a worker died, and this executor cannot be started again"),
    ],
)
def test_no_run_is_blamed_for_what_is_not_its_fault(folder, error, sentence):
    study = Study.load(folder / "small.toml")
    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, Fails(error))
    assert (report.done, report.failures, report.complete) == (2, [], False)
    assert sentence in report.stopped
    assert check_studies(store)[0].failures == []
    assert run_study(study, store, ThisProcess).complete


def test_a_batch_that_ends_the_workers_of_a_cluster_is_tried_run_by_run(folder):
    study = Study.load(folder / "small.toml")
    killer = jobs_of(study.design)[1].key

    class Cluster(ThisProcess):
        def submit(self, batch):
            keys = [task.key for task in batch.tasks] if batch.function is work.carry_out else []
            if killer not in keys:
                return super().submit(batch)
            future = Future()
            if len(keys) > 1:
                future.set_result([RunResult(error="the workers died", died=True)] * len(keys))
            else:
                future.set_result([RunResult(error="the workers died")])
            return future

    store = Store.open(folder / "results", create=True)
    report = run_study(study, store, Cluster)
    assert (report.done, [failure.run for failure in report.failures]) == (11, [1])
    assert report.failures[0].error == "the workers died"


def test_a_scheduler_that_does_not_take_runs_stops_the_study(folder):
    class Lost(ThisProcess):
        def submit(self, batch):
            if batch.function is work.carry_out:
                raise WorkerError("the scheduler cannot be reached any more")
            return super().submit(batch)

    report = run_study(Study.load(folder / "small.toml"), Store.open(folder / "results", create=True), Lost)
    assert (report.done, report.failures) == (0, [])
    assert report.stopped.startswith("the scheduler cannot be reached any more; stored runs")


def test_a_connection_that_is_lost_for_a_moment_blames_no_run(folder, digests, run_here, monkeypatch):
    monkeypatch.setattr(runner, "CHECK_SECONDS", 0.0)
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study)

    class Drops(Fails):
        """Refuses a batch, and loses another one."""

        def submit(self, batch):
            if batch.function is work.carry_out and self.calls == 5:
                self.calls -= 1
                raise ConnectionError
            future = super().submit(batch)
            self.calls = 100 if self.calls < 0 else self.calls
            return future

    store = Store.open(folder / "dropped", create=True)
    report = run_study(study, store, Drops(ConnectionError(), 7))
    assert (report.complete, report.failures) == (True, [])
    assert report.notes
    assert digests(store) == digests(whole)


def test_threads_may_share_what_is_made(folder):
    study = Study.load(folder / "small.toml")
    jobs = jobs_of(study.design)
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(
            threads.map(
                lambda job: work.build(study.design.spec(study.design.cells[job.cell], job.run), study.attachments),
                jobs * 40,
            )
        )
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
    report = run_study(study, store, ThisProcess)
    assert (report.done, report.complete) == (5, False)
    assert "no space" in report.stopped
    assert all(store.read(key) for key in added)
    # No run is to blame: the report and the folder name no failure, and the rest is made once there is room.
    assert report.failures == check_studies(store)[0].failures == []
    monkeypatch.undo()
    assert run_study(study, store, ThisProcess).complete


def test_a_failure_that_cannot_be_recorded_is_not_reported_as_recorded(write_study, folder, monkeypatch):
    study = write_study("agents.py:Raises")
    store = Store.open(folder / "results", create=True)

    def refuse(key, failure):
        raise FileError("no space")

    monkeypatch.setattr(store, "add_failure", refuse)
    report = run_study(study, store, ThisProcess)
    assert (report.done, report.failures, report.complete) == (0, [], False)
    assert "no space" in report.stopped


@pytest.mark.parametrize("removed", [".", MARKER, "runs"])
def test_a_results_folder_that_is_removed_during_the_study(folder, digests, run_here, removed):
    # Whole or in part: rm -r stops half-way if a file appears in a folder that it has just emptied.
    study = Study.load(folder / "small.toml")
    path = folder / "results" / removed

    def remove(progress):
        if progress.done == 6 and path.exists():
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
        if progress.done == 6 and (folder / "results").exists():
            (folder / "results").rename(folder / "elsewhere")

    report, _ = run_here(study, watch=move)
    assert (report.complete, report.failures) == (False, [])
    assert not (folder / "results").exists()
    (folder / "elsewhere").rename(folder / "results")
    again, _ = run_here(study)
    assert (again.complete, again.stored) == (True, 6)


def test_progress_is_reported(folder, run_here):
    seen = []
    run_here(Study.load(folder / "small.toml"), watch=lambda progress: seen.append((progress.done, progress.ended)))
    assert (seen[0], seen[-1]) == ((0, 0), (12, 12))


def test_interrupts_stop_everything(folder):
    class Interrupted(ThisProcess):
        stopped = False

        def submit(self, batch):
            raise KeyboardInterrupt

        def close(self):
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


def test_which_workers():
    assert isinstance(open_workers(1), ThisProcess)
    with pytest.raises(SettingError, match="workers is 0; it must be an integer of at least 1"):
        open_workers(0)
    with pytest.raises(SettingError, match="not both"):
        open_workers(2, "tcp://127.0.0.1:1")


def test_a_run_in_a_thread_counts_its_own_time_and_leaves_standard_output_alone(held):
    # A worker of a Dask cluster carries out several runs at once, in threads.
    study = Study.load(held.folder / "held.toml")
    by_agent = {}
    for job in jobs_of(study.design):
        cell = study.design.cells[job.cell]
        by_agent[cell.agent.label] = study.design.spec(cell, job.run)
    rest = work.identity(), study.attachments
    work.carry_out(by_agent["psrl"], *rest)  # the kernels are loaded before the time counts
    before = sys.stdout
    with ThreadPoolExecutor(1) as threads:
        outcome = threads.submit(work.carry_out, by_agent["Held"], *rest)
        try:
            wait_until(held.waiting)
            assert sys.stdout is before
            start = time.process_time()
            while time.process_time() - start < 0.5:
                pass
        finally:
            held.release()
    assert decode(outcome.result().file).document["timing"]["cpu_seconds"] < 0.4


def test_an_executor_that_is_shut_down_from_outside_stops_the_study(folder):
    study = Study.load(folder / "small.toml")
    with ThreadPoolExecutor(1) as threads:

        def shut_down(progress):
            if progress.done:
                threads.shutdown(wait=False, cancel_futures=True)

        with pytest.warns(UserWarning, match="the executor accepts no more runs"):
            results = gw.run(study, folder / "results", workers=threads, watch=shut_down)
    stored, planned = results.count()
    assert 0 < stored < planned
    assert gw.run(study, folder / "results", workers=1).count() == (12, 12)


def test_files_that_are_edited_while_a_study_runs_change_nothing(write_study, folder, run_here, digests):
    study = write_study("agents.py:Plain", extra="max_steps = 30")
    _, before = run_here(study, "before")

    def edit(progress):
        (folder / "agents.py").write_text("raise SystemExit")
        (folder / "own.toml").write_text("name = 3")

    report, after = run_here(study, "after", watch=edit)
    assert report.complete
    assert digests(after) == digests(before)
