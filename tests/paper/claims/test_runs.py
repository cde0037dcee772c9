"""Where the tests of claims get their runs from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from sources import SmallSource, made_up

from goalward.errors import TheoryError
from goalward.paper.claims.runs import RunSource, cell_of, drawn_worlds
from goalward.studies.executors import InProcess
from goalward.studies.store import Store
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
    with pytest.raises(TheoryError, match="the study made-up has no PSRL-SSP in GridWorld"):
        cell_of(made_up(), "GridWorld", "PSRL-SSP")


def test_runs_that_fail_leave_no_verdict(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(
        'name = "broken"\n[[worlds]]\nworld = "grid-world-v0"\n[[agents]]\nagent = "psrl"\n'
        "settings = { value_limit = 1e-9, max_rejections = 1 }\n"
    )
    with pytest.raises(
        TheoryError, match=r"2 runs of .*broken.toml failed, so there is no verdict: psrl in grid-world"
    ):
        SmallSource(tmp_path / "results", 0, 0).results(str(broken), runs=2, episodes=3)


def test_answers_come_in_order_and_the_pool_stays_open(tmp_path: Path) -> None:
    class Counting(InProcess):
        warmed = closed = jobs = 0

        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            self.jobs += 1
            return super().submit(function, *arguments)

        def warm(self, agents: Sequence[str]) -> None:
            self.warmed += 1

        def close(self) -> None:
            self.closed += 1

    pool = Counting()
    source = RunSource(Store.open(tmp_path, create=True), pool, quick=False)
    assert source.map(divmod, [(n, 3) for n in range(7)], size=2) == [divmod(n, 3) for n in range(7)]
    source.pool.close()
    assert source.map(pow, [(2, 5)]) == [32]
    assert (pool.warmed, pool.closed, pool.jobs) == (1, 0, 5)


def test_sizes(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    assert [RunSource(store, InProcess(), quick=quick).choose(3, 9) for quick in (True, False)] == [3, 9]
