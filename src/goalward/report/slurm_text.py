"""A study as a job array of Slurm: the script that sbatch takes."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path

from goalward.execution.time_estimate import SHORTEST_SECONDS, Estimate
from goalward.number_format import duration

__all__ = ["slurm_script"]

SAFETY = 3.0
"""The time limit is this many times the estimate: estimates are rough, and machines differ."""
MARGIN_SECONDS = 600.0


def slurm_script(study: str, name: str, folder: Path, estimate: Estimate, shards: int) -> str:
    """Return the script of a job array.

    Parameters
    ----------
    study
        The study as `goalward run` takes it: a file, or the name of a shipped study.
    name
        The name of the study.
    folder
        The results folder, which all jobs share.
    estimate, shards
        How long the study will take, and the number of jobs.
    """
    each = estimate.shard_seconds(shards)
    file = f"{name}.sh"
    sources = f"{estimate.measured} of {estimate.cells} cells from stored runs, the others from short pilots"
    command = [sys.executable, "-m", "goalward", "run", study, "--out", str(folder), "--workers", "1"]
    lines = [
        "#!/bin/bash",
        f"# {estimate.missing:,} of {estimate.runs:,} runs to make: about {duration(estimate.seconds)} of one core",
        f"# ({sources}), {shards:,} job{'s' * (shards > 1)} of about {duration(each)}.",
        f"# Submit it with: sbatch {file}",
        "# Submit the same line again if jobs fail or are killed: what is stored is not run again.",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --array=1-{shards}",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --mem=1G",
        f"#SBATCH --time={time_limit(SAFETY * each + MARGIN_SECONDS)}",
        f"#SBATCH --output={name}-%A_%a.log",
        "#SBATCH --requeue",
        "set -eu",
        f'exec {shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{shards}"',
    ]
    if each < SHORTEST_SECONDS:
        lines.insert(3, "# So little is not worth an array: goalward run makes it on one machine.")
    return "\n".join(lines)


def time_limit(seconds: float) -> str:
    """Write a length of time as Slurm reads it, in whole minutes: D-HH:MM:00.

    >>> time_limit(5400.0), time_limit(100_000.0)
    ('0-01:30:00', '1-03:47:00')
    """
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes // 1440}-{minutes // 60 % 24:02d}:{minutes % 60:02d}:00"
