"""Continuous PSRL-SSP with its default settings in every goal task: steps per episode, processor time, memory.

``python benchmarks/continuous.py`` writes ``benchmarks/results/continuous.md``.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np

import goalward as gw
from processes import machine

TASKS = {"mountain-car": (20, 20), "Pendulum-v1": (5, 20), "navigation": (5, 20), "Acrobot-v1": (2, 40)}
"""Task: (seeds, episodes). Gymnasium tasks are made without their time limits."""
OUT = Path(__file__).parent / "results" / "continuous.md"


def row(name: str, seeds: int, episodes: int) -> str:
    """Learn a task with several seeds, and return a row of the table."""
    task = gw.worlds.load_world(name, ["max_episode_steps=-1"] if name.endswith("v1") else [])
    gw.learn(gw.agents.ContinuousPSRL(), task, 1, seed=0, max_steps=2)  # compiles the kernels
    steps, seconds = [], []
    for seed in range(seeds):
        start = time.process_time()
        run = gw.learn(gw.agents.ContinuousPSRL(), task, episodes, seed=seed)
        seconds.append(time.process_time() - start)
        assert not run.truncated
        steps.append(run.steps)
    table = np.array(steps)
    late = table[:, 5:]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = (
        f"`{name}`", f"{seeds} x {episodes}", f"{np.median(table[:, 0]):.0f} ({table[:, 0].max()})",
        f"{np.median(late):.0f}", f"{np.median(late, axis=1).max():.0f}", f"{late.max()}",
        f"{np.median(seconds):.1f} ({max(seconds):.1f})", f"{memory:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Write the table."""
    rows = []
    for name, sizes in TASKS.items():
        rows.append(row(name, *sizes))
        print(rows[-1], flush=True)
    heading = (
        "| task | seeds x episodes | first episode: median (largest) | median from episode 6 on |"
        " largest such median of a run |"
        " longest episode from 6 on | CPU s per run: median (largest) | peak MB of the process |"
    )
    lines = [
        "# Continuous PSRL-SSP with its default settings", "",
        f"Written by `python benchmarks/continuous.py`. {machine()}", "",
        heading, "|---|---|---|---|---|---|---|---|", *rows, "",
        "The middle columns count steps per episode. The memory includes the tasks of the rows above.",
    ]  # fmt: skip
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
