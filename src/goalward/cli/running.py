"""What `goalward run` and `goalward reproduce` share: carrying a study out and saying what became of it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import typer

from goalward.errors import SettingError
from goalward.experiments.executors import open_pool
from goalward.experiments.plan import Study
from goalward.experiments.runner import Report, run_study
from goalward.experiments.store import Store
from goalward.report.progress import duration, open_display
from goalward.report.summary import failures_text

__all__ = ["carry_out", "read_shard", "report_document", "report_text"]


def read_shard(text: str | None) -> tuple[int, int]:
    """Read a shard such as 3/16."""
    if text is None:
        return 1, 1
    number, slash, shards = text.partition("/")
    if not slash or not number.strip().isdigit() or not shards.strip().isdigit():
        raise SettingError(f"shard is {text!r}; it must be i/n with i from 1 to n, such as 3/16")
    return int(number), int(shards)


def carry_out(
    study: Study, folder: Path, workers: int | None, dask: str | None, shard: tuple[int, int] = (1, 1)
) -> Report:
    """Run what is missing of a study, showing the progress; Ctrl-C leaves with exit code 130 and loses little."""
    store = Store.open(folder, create=True)
    # Schedulers of clusters ask jobs to end this way; the workers are to leave with the job.
    signal.signal(signal.SIGTERM, leave)
    try:
        with open_display() as display:
            return run_study(study, store, lambda: open_pool(workers, dask), shard=shard, watch=display)
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; what is done is stored in {folder}, and the same command goes on there", err=True)
        raise typer.Exit(130) from None


def leave(number: int, frame: object) -> None:
    """End the process in order."""
    raise SystemExit(128 + number)


def report_text(report: Report, folder: Path) -> str:
    """Say what became of a study."""
    parts = [f"damaged, set aside and made again: {path} ({reason})" for path, reason in report.damaged]
    if report.failures:
        parts.append(failures_text(report))
    if report.stopped:
        parts.append(f"stopped: {report.stopped}")
    made = f"{report.done:,} runs made in {duration(report.seconds)}" if report.done else "nothing to do"
    stored = report.stored + report.done
    parts.append(f"{made}; {stored:,} of {report.total:,} runs are stored in {folder}")
    if report.complete:
        parts.append(f"see: goalward summary {folder}, goalward plot {folder}")
    return "\n".join(parts)


def report_document(report: Report, folder: Path) -> dict[str, Any]:
    """Return what became of a study as plain data."""
    return {
        "study": report.plan.name,
        "results": str(folder),
        "runs": report.total,
        "stored_before": report.stored,
        "made": report.done,
        "complete": report.complete,
        "seconds": report.seconds,
        "stopped": report.stopped,
        "failures": [
            {"world": f.world, "agent": f.agent, "run": f.run, "error": f.error, "record": str(f.path)}
            for f in report.failures
        ],
        "damaged": [{"file": str(path), "reason": reason} for path, reason in report.damaged],
    }
