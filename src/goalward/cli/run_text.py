"""One run as text and as plain data."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from goalward.acting.stop import Ended
from goalward.figures.symbols import CAUSES, cause_name
from goalward.formatting import number
from goalward.learning.run import Run
from goalward.settings import plain
from goalward.text_tables import columns

__all__ = ["run_document", "run_table"]


def checkpoints(run: Run) -> list[int]:
    """Return the numbers of episodes after which a run is shown: the powers of ten and the last one."""
    count = len(run.costs)
    return sorted({10**power for power in range(len(str(count))) if 10**power < count} | ({count} if count else set()))


def curve(run: Run) -> list[dict[str, Any]]:
    known = not math.isnan(run.optimal_value)
    costs = np.cumsum(run.costs)
    points = []
    for count in checkpoints(run):
        point: dict[str, Any] = {"episodes": count, "cost": float(costs[count - 1])}
        if known:
            point |= {"regret": float(run.regret[count - 1]), "gap_regret": float(run.gap_regret[count - 1])}
        point["epochs"] = int(np.count_nonzero(run.epochs.start_episode < count))
        points.append(point)
    return points


def causes(run: Run) -> dict[str, int]:
    """Return how many epochs each cause ended; where several conditions held at once, they are one cause."""
    return dict(Counter(map(cause_name, run.epochs.ended.tolist())).most_common())


def run_table(run: Run, seconds: float) -> str:
    """Write how a run went for a terminal."""
    known = not math.isnan(run.optimal_value)
    heading = ("episodes", "cost", "per episode", *(("regret", "gap regret") if known else ()), "epochs")
    rows = [heading]
    for point in curve(run):
        regrets = (f"{point['regret']:,.1f}", f"{point['gap_regret']:,.1f}") if known else ()
        mean = number(point["cost"] / point["episodes"], 4)
        rows.append((f"{point['episodes']:,}", number(point["cost"], 6), mean, *regrets, f"{point['epochs']:,}"))
    facts = [
        ("steps", f"{run.total_steps:,} in {number(seconds)} s: {run.total_steps / seconds:,.0f} steps per second"),
        ("epochs ended by", ", ".join(f"{name} {count:,}" for name, count in causes(run).items())),
        *([("optimal cost", f"{number(run.optimal_value, 6)} per episode")] if known else []),
        *([("told", ", ".join(f"{name} = {short(value)}" for name, value in run.agent.given.items()))]
          if run.agent.given else []),
        *((name.replace("_", " "), short(value)) for name, value in run.notes.items()),
    ]  # fmt: skip
    if run.truncated:
        reached = int(np.count_nonzero(run.reached))
        outside = [CAUSES[flag] for flag in Ended if flag & run.ended and flag is not Ended.EPISODES]
        why = f"{' and '.join(outside)} ended the run" if outside else "the environment cut the others off"
        facts.append(("truncated", f"{reached:,} of {run.episodes:,} episodes reached the goal; {why}"))
    return columns(rows, right=range(len(heading))) + "\n\n" + columns(facts)


def run_document(run: Run, seconds: float) -> dict[str, Any]:
    """Return how a run went as plain data."""
    return {
        "agent": run.agent.name,
        "settings": run.agent.settings(),
        "given": {name: plain(value) for name, value in run.agent.given.items()},
        "seed": run.seed,
        "episodes": run.episodes,
        "reached": int(np.count_nonzero(run.reached)),
        "truncated": run.truncated,
        "ended": [flag.name for flag in Ended if flag & run.ended],
        "steps": run.total_steps,
        "optimal_value": run.optimal_value,
        "curve": curve(run),
        "epochs": len(run.epochs),
        "epochs_ended_by": causes(run),
        "notes": run.notes,
        "seconds": seconds,
        "steps_per_second": run.total_steps / seconds,
    }


def short(value: object) -> str:
    if isinstance(value, float):
        return number(value, 6)
    return f"{value:,}" if isinstance(value, int) else str(value)
