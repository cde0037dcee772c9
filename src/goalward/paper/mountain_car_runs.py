"""The runs of the mountain-car experiment: PSRL-SSP, its rivals and the random policy in SSP-MountainCar.

The car has no true model (`goalward.worlds.ssp_mountain_car`), so these runs have no regret and are not a study: what
counts is what an episode costs. Each run is one JSON file, written whole, and is not carried out again
while it asks for the same. A run of any seed and limit has the same bits on every machine.

Nothing tells the rivals B* and T*, which the aggregated car does not have. EB-SSP finds a bound by doubling; ULCVI is
told 250 for both, the cost of an episode that the paper's figure ends with.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from goalward import agents
from goalward.arrays import Floats
from goalward.errors import FileError, UnknownNameError
from goalward.files import parse_json, read_bytes, write_bytes
from goalward.learning.learn import learn
from goalward.long_work import phase
from goalward.seeds import run_seed
from goalward.settings import checked_integer
from goalward.studies.executors import open_pool
from goalward.worlds.ssp_mountain_car import SSPMountainCar

__all__ = ["DRIVERS", "MAX_STEPS", "PUBLISHED", "CarRun", "Driver", "drive_all"]

VERSION = 2
"""Of the files: one of another version is carried out again."""
MAX_STEPS = 100_000_000
"""Where a run ends: some agents drive in circles for ever longer, see docs/experiments.md."""
PUBLISHED = (3000.0, 250.0)
"""What an episode of PSRL-SSP costs at the beginning and at the end of the paper's figure, read by eye."""


@dataclass(frozen=True)
class Driver:
    """An agent of the experiment, and the cells that it sees."""

    label: str
    agent: str
    settings: dict[str, Any]
    max_steps: int = MAX_STEPS
    cells: tuple[int, int] = (18, 7)

    @property
    def name(self) -> str:
        """The name of the agent, with its cells if they are not those of the paper: what a file is called."""
        return self.agent if self.cells == (18, 7) else f"{self.agent}-{self.cells[0]}x{self.cells[1]}"


DRIVERS = (
    Driver("PSRL-SSP", "psrl", {}, 30_000_000),
    # An even number of cells for the velocity shows which way the car moves; see docs/experiments.md.
    Driver("PSRL-SSP, 18 x 8 cells", "psrl", {}, 30_000_000, (18, 8)),
    Driver("PSRL-SSP, TSDE's epochs", "tsde", {}),
    Driver("UC-SSP", "uc-ssp", {}),
    Driver("Bernstein-SSP", "bernstein-ssp", {}),
    Driver("EB-SSP", "eb-ssp", {"B_star": "doubling"}),
    Driver("ULCVI", "ulcvi", {"B_star": 250.0, "T_star": 250.0}),
    # It changes its mind at every step, so a step takes it twenty times as long as the others.
    Driver("VI-SSP", "vi-ssp", {}, 20_000_000),
    Driver("uniformly random", "uniform", {}),
)


@dataclass(frozen=True, eq=False)
class CarRun:
    """One run: what each episode that reached the goal cost, and what ended the run if not all did.

    `seconds` is processor time.
    """

    label: str
    name: str
    agent: str
    number: int
    episodes: int
    max_steps: int
    steps: int
    seconds: float
    truncation: str
    costs: list[float]

    @property
    def averages(self) -> Floats:
        """The mean cost of the first k episodes, for every k."""
        return np.cumsum(self.costs) / np.arange(1, len(self.costs) + 1)


class Board:
    """How far each run is, in a file that the processes of a pool share: episodes and steps, run by run."""

    def __init__(self, path: str, runs: int):
        self.counts = np.memmap(path, dtype=np.int64, mode="r+", shape=(runs, 2))

    def note(self, place: int, episodes: int, steps: int) -> bool:
        """Note how far a run is; return that it goes on."""
        self.counts[place] = episodes, steps
        return True


def drive(
    driver: Driver, number: int, episodes: int, max_steps: int, board: tuple[str, int] | None = None, place: int = 0
) -> CarRun:
    """Carry out one run; `board` is the file and the size of a `Board`, on which it notes how far it is."""
    agent = agents.find(driver.agent)(**driver.settings)
    seed = run_seed(0, "mountain-car", number)
    # A run of a few steps comes first, so that the time is not that of compiling.
    learn(agent, SSPMountainCar(*driver.cells), episodes, seed, max_steps=2)
    began = time.process_time()
    watch = partial(Board(*board).note, place) if board else None
    run = learn(agent, SSPMountainCar(*driver.cells), episodes, seed, max_steps=max_steps, watch=watch)
    seconds = time.process_time() - began
    costs = run.costs[run.reached].tolist()
    return CarRun(
        driver.label, driver.name, driver.agent, number, episodes, max_steps, run.total_steps, seconds, run.truncation,
        costs,
    )  # fmt: skip


def drive_all(
    folder: Path,
    episodes: int = 2000,
    runs: int = 1,
    *,
    only: Iterable[str] = (),
    max_steps: int | None = None,
    workers: int | None = None,
    watch: Callable[[CarRun], object] | None = None,
) -> list[CarRun]:
    """Carry out what the folder does not hold yet; return all runs in the order of `DRIVERS`.

    `only` names some of the agents. `watch` is called with every run that is finished.
    """
    checked_integer("episodes", episodes, 1)
    checked_integer("runs", runs, 1)
    known = {driver.name: driver for driver in DRIVERS}
    names = list(only) or list(known)
    for name in names:
        if name not in known:
            raise UnknownNameError("agent of this figure", name, known)
    jobs = [(known[name], number, max_steps or known[name].max_steps) for number in range(runs) for name in names]
    places = [folder / f"{driver.name}-{number}.json" for driver, number, _ in jobs]
    found = [stored(place, driver, episodes, limit) for place, (driver, _, limit) in zip(places, jobs, strict=True)]
    pool = open_pool(workers)

    def keep(i: int, run: CarRun) -> None:
        found[i] = run
        driving.advance(driving.done + 1)
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(places[i], json.dumps({"version": VERSION, **asdict(run)}).encode())
        if watch is not None:
            watch(run)

    missing = [i for i, run in enumerate(found) if run is None]
    with tempfile.NamedTemporaryFile() as file, phase("driving the car", len(missing), "runs") as driving:
        shared = file.name, len(jobs)
        file.truncate(2 * 8 * len(jobs))
        board = Board(*shared)

        def parts() -> list[str]:
            going = [i for i in missing if found[i] is None and board.counts[i, 1]]
            return [
                progress_line(jobs[i][0], int(board.counts[i, 0]), int(board.counts[i, 1]), episodes, jobs[i][2])
                for i in going
            ]

        driving.parts = parts
        try:
            waiting = {}
            for i in missing:
                driver, number, limit = jobs[i]
                future = pool.submit(drive, driver, number, episodes, limit, shared, i)
                if future.done():  # in this process: kept before the next one begins
                    keep(i, future.result())
                else:
                    waiting[future] = i
            for future in as_completed(waiting):
                keep(waiting[future], future.result())
        except BaseException:
            pool.stop()
            raise
        pool.close()
    order = list(known)
    return sorted((run for run in found if run is not None), key=lambda run: (order.index(run.name), run.number))


def progress_line(driver: Driver, done: int, steps: int, episodes: int, limit: int) -> str:
    """Say how far a run is.

    >>> progress_line(DRIVERS[3], 12, 480_100, 2000, 100_000_000)
    'UC-SSP: 12 of 2,000 episodes, 480,100 of at most 100,000,000 steps'
    """
    return f"{driver.label}: {done:,} of {episodes:,} episodes, {steps:,} of at most {limit:,} steps"


def stored(place: Path, driver: Driver, episodes: int, limit: int) -> CarRun | None:
    """Return the run in a file, None if there is none that asks for the same."""
    try:
        document = parse_json(place, read_bytes(place))
        if document.pop("version") != VERSION:
            return None
        run = CarRun(**document)
    except (FileError, TypeError, KeyError, AttributeError):
        return None
    asked = (driver.label, driver.name, episodes, limit)
    return run if (run.label, run.name, run.episodes, run.max_steps) == asked else None
