"""Time and memory of single operations, each measured in a fresh process: `python benchmarks/budgets.py NAME`.

    small-grid      microseconds of one `solve` of the 3 x 4 grid with compiled kernels; every call gets a new model
    small-dense     milliseconds of one `solve` of a dense model, started from the previous model's solution; each
                    model has 100 states, four actions and new rows from Dirichlet(1, ..., 1) over 101 successors
    compile         CPU seconds to compile the kernels of `solve`, `evaluate`, `hardness` and `structure`, without
                    imports; the caller must set GOALWARD_CACHE_DIR to an empty folder
    compile-all     the same for all kernels of the package, including those of agents, beliefs and learning
    memory-world    peak megabytes of a process that makes `worlds.grid_world(1000, 1000)` and solves it
    memory-rows     the same, but the process builds the grid as plain arrays and calls `SSP.from_rows`

The script prints one JSON line with the smallest and the median measurement.
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

    # A batch is long enough for the clock. Each call gets its own model, so that no cached result helps.
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
    """Return the peak memory of this process; on Linux, `getrusage` would include the memory of its parent."""
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
