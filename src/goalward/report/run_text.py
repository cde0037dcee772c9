"""One run in words and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goalward.agents.base import plain
from goalward.learning.rollout import Ended
from goalward.learning.run import Run
from goalward.report.world_text import columns

__all__ = ["run_document", "run_table"]

CAUSES = {
    Ended.AFTER_VISITS: "visits",
    Ended.BEFORE_VISITS: "visits ahead",
    Ended.GOALS: "goals",
    Ended.STEPS: "steps",
    Ended.EPISODES: "the end of the run",
    Ended.MAX_STEPS: "the step limit",
    Ended.STOPPED: "an interruption",
    Ended.DEAD_END: "a dead end",
}


def checkpoints(run: Run) -> list[int]:
    """Return numbers of episodes at which to look at a run: the powers of ten and the last one."""
    count = len(run.costs)
    return sorted({10**power for power in range(len(str(count))) if 10**power < count} | ({count} if count else set()))


def curve(run: Run) -> list[dict[str, Any]]:
    """Return how a run stood after some numbers of episodes."""
    known = not math.isnan(run.optimal_value)
    costs = np.cumsum(run.costs)
    points = []
    for count in checkpoints(run):
        point: dict[str, Any] = {"episodes": count, "cost": float(costs[count - 1])}
        if known:
            point |= {"regret": float(run.regret[count - 1]), "gap_regret": finite(run.gap_regret[count - 1])}
        point["epochs"] = int(np.count_nonzero(run.epochs.start_episode < count))
        points.append(point)
    return points


def causes(run: Run) -> dict[str, int]:
    """Return how many epochs each condition ended, alone or with others."""
    found = {name: int(np.count_nonzero(run.epochs.ended_by(flag))) for flag, name in CAUSES.items()}
    return {name: count for name, count in found.items() if count}


def run_table(run: Run, seconds: float) -> str:
    """Write how a run went."""
    known = not math.isnan(run.optimal_value)
    heading = ("episodes", "cost", "per episode", *(("regret", "gap regret") if known else ()), "epochs")
    rows = [heading]
    for point in curve(run):
        regrets = (f"{point['regret']:,.1f}", number(point["gap_regret"])) if known else ()
        mean = f"{point['cost'] / point['episodes']:.4g}"
        rows.append((f"{point['episodes']:,}", f"{point['cost']:,.6g}", mean, *regrets, f"{point['epochs']:,}"))
    facts = [
        ("steps", f"{run.total_steps:,} in {seconds:.3g} s: {run.total_steps / seconds:,.0f} steps per second"),
        ("epochs ended by", ", ".join(f"{name} {count:,}" for name, count in causes(run).items())),
        *([("optimal cost", f"{run.optimal_value:.6g} per episode")] if known else []),
        *([("told", ", ".join(f"{name} = {short(value)}" for name, value in run.agent.given.items()))]
          if run.agent.given else []),
        *((name.replace("_", " "), short(value)) for name, value in run.notes.items()),
    ]  # fmt: skip
    if run.truncated:
        reached = int(np.count_nonzero(run.reached))
        outside = [CAUSES[flag] for flag in Ended if flag & run.ended and flag is not Ended.EPISODES]
        why = f"{' and '.join(outside)} ended the run" if outside else "the environment broke the others off"
        facts.append(("truncated", f"{reached:,} of {run.episodes:,} episodes reached the goal; {why}"))
    return columns(rows, right="".join(map(str, range(len(heading))))) + "\n\n" + columns(facts)


def run_document(run: Run, seconds: float) -> dict[str, Any]:
    """Return how a run went as plain data for JSON, which knows no infinity: infinite numbers are null."""
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
        "optimal_value": finite(run.optimal_value),
        "curve": curve(run),
        "epochs": len(run.epochs),
        "epochs_ended_by": causes(run),
        "notes": run.notes,
        "seconds": seconds,
        "steps_per_second": run.total_steps / seconds,
    }


def finite(value: float) -> float | None:
    """Return a number, or None if it is infinite or unknown."""
    return float(value) if math.isfinite(value) else None


def number(value: float | None) -> str:
    """Write a regret."""
    return "inf" if value is None else f"{value:,.1f}"


def short(value: object) -> str:
    """Write a fact in a few characters."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
