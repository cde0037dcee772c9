"""Where the tests of claims get their runs from."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from sources import SmallSource, made_up

from goalward.errors import TheoryError
from goalward.paper.claims.runs import RunSource, cell_of, drawn_worlds
from goalward.studies.store import Store
from goalward.studies.worker_process import Batch
from goalward.studies.workers import Processes, ThisProcess
from goalward.worlds import random_mdp
from study_fixtures import STUDY


def test_a_study_is_run_in_the_size_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    source = SmallSource(tmp_path / "results", 0, 0)
    results = source.results(str(tmp_path / "small.toml"), runs=3, episodes=20)
    assert (results.design.name, results.design.runs) == ("claims-small-20", 3)
    cell = cell_of(results, "drawn", "psrl")
    assert (cell.cell.episodes, len(cell.runs)) == (20, 3)
    worlds = drawn_worlds(results, cell)
    seeds = [spec.world["settings"]["seed"] for spec in results.design.specs(cell.cell)]
    assert [world.digest for world in worlds] == [random_mdp(states=3, seed=seed).digest for seed in seeds]
    assert len(set(seeds)) == 3


def test_cells_that_a_study_does_not_have() -> None:
    with pytest.raises(TheoryError, match="the study made-up has no agent PSRL-SSP in the world GridWorld"):
        cell_of(made_up(), "GridWorld", "PSRL-SSP")


def test_runs_that_fail_leave_no_verdict(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(
        'name = "broken"\n[[worlds]]\nworld = "grid-world-v0"\n[[agents]]\nagent = "psrl"\n'
        "settings = { value_limit = 1e-9, max_rejections = 1 }\n"
    )
    with pytest.raises(
        TheoryError, match=r"there is no verdict from .*broken.toml: 2 of 2 runs are missing: psrl in grid-world"
    ):
        SmallSource(tmp_path / "results", 0, 0).results(str(broken), runs=2, episodes=3)


def test_answers_come_in_order_and_the_workers_stay_open(tmp_path: Path) -> None:
    class Counting(ThisProcess):
        closed = calls = 0

        def submit(self, batch: Batch) -> Future[list[Any]]:
            self.calls += 1
            return super().submit(batch)

        def close(self) -> None:
            self.closed += 1

    workers = Counting()
    source = RunSource(Store.open(tmp_path, create=True), workers)
    assert source.map(divmod, [(n, 3) for n in range(7)]) == [divmod(n, 3) for n in range(7)]
    assert source.map(pow, [(2, 5)]) == [32]
    assert (workers.closed, workers.calls) == (0, 1 + 7 + 1 + 1)


def kill_once(path: str, number: int) -> int:
    """End the worker process, the first time."""
    if number == 3 and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_killed_worker_costs_no_answer(tmp_path: Path) -> None:
    workers = Processes(2)
    try:
        tasks = [(str(tmp_path / "killed"), number) for number in range(8)]
        source = RunSource(Store.open(tmp_path / "results", create=True), workers)
        assert source.map(kill_once, tasks) == list(range(8))
        assert (tmp_path / "killed").exists()
    finally:
        workers.close()
