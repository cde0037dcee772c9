"""The runs of a results folder as a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalward.formatting import number
from goalward.results.export import ListedRun
from goalward.studies.run_file import StoredRun
from goalward.text_tables import Rows, columns

__all__ = ["listing_document", "listing_text"]

SHOWN = 12
"""How many digits of a key are shown; they tell runs apart in folders of many millions."""


def listing_text(runs: Iterable[ListedRun]) -> str:
    """Write runs, one row each."""
    rows: Rows = [("key", "study", "world", "agent", "episodes", "run", "state", "regret")]
    for each in runs:
        final = each.found.outcome.get("final_regret") if isinstance(each.found, StoredRun) else None
        regret = "" if final is None else number(final, 6)
        rows.append((each.key[:SHOWN], each.design.name, each.cell.world.label, each.cell.agent.label,
                     f"{each.cell.episodes:,}", str(each.run), each.state, regret))  # fmt: skip
    return columns(rows, right=[4, 5, 7])


def listing_document(runs: Iterable[ListedRun]) -> list[dict[str, Any]]:
    """Return runs as plain data."""
    return [
        {
            "key": each.key,
            "study": each.design.name,
            "world": each.cell.world.label,
            "agent": each.cell.agent.label,
            "episodes": each.cell.episodes,
            "run": each.run,
            "state": each.state,
            **(each.found.outcome if isinstance(each.found, StoredRun) else {"reason": each.found.reason}),
        }
        for each in runs
    ]
