"""The values of the published figure, read off by eye to about five percent.

Figure 1 of the 2023 version of the PSRL-SSP paper (UAI, PMLR 216): regret after 10,000 episodes.
"""

from __future__ import annotations

from goalward.number_format import with_margin
from goalward.report.tables import Rows, columns
from goalward.results.summary import Summary

__all__ = ["PUBLISHED", "published_table"]

EPISODES = 10_000
PUBLISHED: dict[str, dict[tuple[str, str], float]] = {
    "theory": {
        ("RandomMDP", "ULCVI"): 15_200,
        ("RandomMDP", "EB-SSP"): 11_300,
        ("RandomMDP", "UC-SSP"): 3_900,
        ("RandomMDP", "Bernstein-SSP"): 1_800,
        ("RandomMDP", "PSRL-SSP"): 170,
        ("GridWorld", "ULCVI"): 361_000,
        ("GridWorld", "EB-SSP"): 175_000,
        ("GridWorld", "UC-SSP"): 76_000,
        ("GridWorld", "Bernstein-SSP"): 95_000,
        ("GridWorld", "PSRL-SSP"): 550,
    },
    "tuned": {
        ("RandomMDP", "ULCVI"): 280,
        ("RandomMDP", "EB-SSP"): 170,
        ("RandomMDP", "UC-SSP"): 195,
        ("RandomMDP", "Bernstein-SSP"): 180,
        ("RandomMDP", "PSRL-SSP"): 170,
        ("GridWorld", "ULCVI"): 690,
        ("GridWorld", "EB-SSP"): 700,
        ("GridWorld", "UC-SSP"): 505,
        ("GridWorld", "Bernstein-SSP"): 770,
        ("GridWorld", "PSRL-SSP"): 550,
    },
}


def published_table(summary: Summary, regime: str) -> str | None:
    """Write the regrets of a summary beside the published ones; None if no row can be compared."""
    rows: Rows = [("world", "agent", "here", "published")]
    for row in summary.rows:
        published = PUBLISHED[regime].get((row.world, row.agent))
        if published is not None and row.episodes == EPISODES:
            rows.append((row.world, row.agent, with_margin(row.regret), f"{published:,.0f}"))
    if len(rows) == 1:
        return None
    title = "regret beside the published figure, which was read by eye; docs/experiments.md says why they differ"
    return f"{title}\n{columns(rows, right='23')}"
