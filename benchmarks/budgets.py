"""What the planner may cost in itself, each figure from a fresh process: `python benchmarks/budgets.py NAME`.

    small-grid      microseconds of one `solve` of the 3 x 4 grid, compiled; every call gets a model not seen before
    small-dense     milliseconds of one `solve` of a 100-state dense model, started from the solution of the last one:
                    rows drawn anew from Dirichlet(1, ..., 1) over 101 successors, four actions
    compile         CPU seconds to compile the kernels of `solve`, `evaluate`, `hardness` and `structure` on an empty
                    cache, imports not counted; the caller passes an empty GOALWARD_CACHE_DIR
    compile-all     the same for all kernels of the package: those of agents, beliefs and learning too
    memory-world    peak megabytes of a process that makes `worlds.grid_world(1000, 1000)` and solves it
    memory-rows     the same with the grid made as plain arrays and checked by `SSP.from_rows`

Prints one JSON line with the smallest and the median figure.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import models


def small_grid() -> list[float]:
    import goalward as gw

    # A batch is long enough for the clock; models are made before, so that nothing remembered helps.
    gw.solve(gw.worlds.grid_world())
    figures = []
    for _ in range(100):
        batch = [gw.worlds.grid_world() for _ in range(100)]
        before = time.process_time()
        for ssp in batch:
            gw.solve(ssp)
        figures.append((time.process_time() - before) / len(batch) * 1e6)
    return figures


def small_dense() -> list[float]:
    import goalward as gw

    costs = np.random.default_rng(0).uniform(0.5, 1.5, (100, models.ACTIONS))
    samples = [gw.SSP.from_dense(models.dense(100, seed), costs) for seed in range(40)]
    solution = gw.solve(samples[0])
    figures = []
    for ssp in samples[1:]:
        before = time.process_time()
        solution = gw.solve(ssp, start=solution)
        figures.append((time.process_time() - before) * 1e3)
    return figures


def compile_planner() -> list[float]:
    from goalward.learning.warm_up import plan_on_toys

    before = time.process_time()
    plan_on_toys()
    return [time.process_time() - before]


def compile_all() -> list[float]:
    from goalward import jit
    from goalward.learning.warm_up import warm_up

    jit.kernels()  # imports every module that has kernels
    before = time.process_time()
    warm_up()
    return [time.process_time() - before]


def memory_world() -> list[float]:
    import goalward as gw

    gw.solve(gw.worlds.grid_world(1000, 1000))
    return [peak_megabytes()]


def memory_rows() -> list[float]:
    import goalward as gw

    model = models.grid(1000)
    ssp = gw.SSP.from_rows(**model | {"initial_state": 0})
    del model
    gw.solve(ssp)
    return [peak_megabytes()]


def peak_megabytes() -> float:
    """Return the peak of this program's memory; `getrusage` would also count the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


BUDGETS: dict[str, Callable[[], list[float]]] = {
    "small-grid": small_grid,
    "small-dense": small_dense,
    "compile": compile_planner,
    "compile-all": compile_all,
    "memory-world": memory_world,
    "memory-rows": memory_rows,
}

if __name__ == "__main__":
    figures = BUDGETS[sys.argv[1]]()
    print(json.dumps({"least": min(figures), "median": statistics.median(figures)}))
