"""Reproduce the paper's experiment, and compare the regrets with the published values.

The published values come from Figure 1 of the 2023 version of the PSRL-SSP paper (UAI, PMLR 216). They are regrets
after 10,000 episodes, read off by eye to about five percent. Our value agrees if it differs from the published value by
at most a quarter. The tolerance is this wide because the published values are means of ten runs, and the paper does not
state the spread, the instance or the tie-breaking. If our value is further away, but our interval contains the
published value, the case is counted separately, because a wide interval excludes little.

The instance of RandomMDP is not published either. We chose an instance with similar curves. The optimal policy of our
instance is myopic: the cheapest action is optimal in every state. `instances_table` shows random instances that are not
myopic.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from goalward.figures import plot
from goalward.figures.drawing import figure_files, save_figure
from goalward.formatting import Interval, with_range
from goalward.planning.hardness import hardness
from goalward.results.results import Results
from goalward.results.summary import summary_tables
from goalward.ssp.model import SSP
from goalward.statistics import median_interval, share
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import make_world
from goalward.table import Cell, Table, save

FIGURES = {"linear": "regret", "log": "regret-log"}
EPISODES = 10_000
TOLERANCE = 0.25
MET, BY_INTERVAL, MISSED = "yes", "no, but in our interval", "no"
REGIMES = ("theory", "tuned")
AGENTS = ("ULCVI", "EB-SSP", "UC-SSP", "Bernstein-SSP", "PSRL-SSP")
PUBLISHED = {
    (regime, world, agent): value
    for (regime, world), values in {
        ("theory", "RandomMDP"): (15_200, 11_300, 3_900, 1_800, 170),
        ("theory", "GridWorld"): (361_000, 175_000, 76_000, 95_000, 550),
        ("tuned", "RandomMDP"): (280, 170, 195, 180, 170),
        ("tuned", "GridWorld"): (690, 700, 505, 770, 550),
    }.items()
    for agent, value in zip(AGENTS, values, strict=True)
}


def published_table(summary: Table, regime: str) -> Table | None:
    """Return a table of our regrets and the published regrets; None if no regret can be compared."""
    rows = []
    for row in summary.rows:
        agent = row["agent"].value if isinstance(row["agent"], Cell) else row["agent"]
        published, here = PUBLISHED.get((regime, row["world"], agent)), row["regret"]
        if published is not None and row["episodes"] == EPISODES:
            ratio = here.value / published
            rows.append(
                {
                    "world": row["world"],
                    "agent": agent,
                    "here": here,
                    "published": published,
                    "ratio": Cell(ratio, f"{ratio:.2f}"),
                    "within_a_quarter": verdict(here, published),
                }
            )
    if not rows:
        return None
    verdicts = Counter(row["within_a_quarter"] for row in rows)
    only = f", {verdicts[BY_INTERVAL]} more only by our interval" * (verdicts[BY_INTERVAL] > 0)
    (other,) = set(REGIMES) - {regime}
    notes = [
        f"{verdicts[MET]} of {len(rows)} within a quarter of the published value{only}",
        "docs/results/reproduction.md explains the others, and how the instance of RandomMDP was chosen",
        f"goalward reproduce --regime {other} compares the {other} regime, --instances draws instances of RandomMDP",
    ]
    title = f"our regret and the published one, {regime} regime; published values were read off a figure by eye"
    return Table(rows, None, "published", title, notes)


def verdict(here: Interval, published: float) -> str:
    """Return whether our regret is close to the published regret or, if not, whether our interval contains it."""
    if abs(here.value - published) <= TOLERANCE * published:
        return MET
    return BY_INTERVAL if here.low <= published <= here.high else MISSED


def publish(results: Results, folder: Path, regime: str) -> tuple[list[Table], list[Path]]:
    """Write the tables and figures of a study; return the tables and the paths of the files."""
    tables = summary_tables(results)
    written = [folder / "summary.csv", folder / "summary.md"]
    for path in written:
        save(tables, path)
    files: list[Path] = []
    for axes, name in FIGURES.items():
        paths = figure_files(folder / name)
        save_figure(plot(results, axes=axes), paths)
        files += paths
    published = published_table(tables[0], regime)
    return [*tables, *([] if published is None else [published])], [*files, *written]


def instances_table(results: Results) -> Table:
    """Return a table of gap regrets on random instances that are not myopic, with the ranks of the agents."""
    specs = results.design.specs(results.cells[0].cell)
    complete = set.intersection(*({*cell.runs[cell.complete].tolist()} for cell in results.cells))
    chosen = [run for run in sorted(complete) if not is_myopic(make_world(specs[run].world, Attachments()))]
    by_agent = {cell.cell.agent.label: cell.values["gap_regret"][np.isin(cell.runs, chosen)] for cell in results.cells}
    order = AGENTS[::-1]  # the order of the published regrets, the lowest first
    places = np.array([by_agent[agent] for agent in order]).argsort(axis=0).argsort(axis=0)
    rows = [
        {
            "agent": agent,
            "median_gap_regret": median_interval(by_agent[agent]),
            "10_%": float(np.quantile(by_agent[agent], 0.1)),
            "90_%": float(np.quantile(by_agent[agent], 0.9)),
            "published": PUBLISHED["theory", "RandomMDP", agent],
            **{f"place_{place + 1}": int(np.count_nonzero(own == place)) for place in range(len(order))},
        }
        for agent, own in zip(order, places, strict=True)
    ]
    same, first = (places == np.arange(len(order))[:, np.newaxis]).all(axis=0), places[0] == 0
    shares = [with_range(share(int(np.count_nonzero(holds)), len(chosen))) for holds in (same, first)]
    notes = [
        f"{len(chosen)} of {len(complete)} instances: on the others the cheapest action is optimal in every state, as"
        " on the fitted instance",
        f"all agents have their published places on {shares[0]} of the instances, {order[0]} is first on {shares[1]}",
    ]
    title = f"instances of RandomMDP drawn at random, {results.cells[0].cell.episodes:,} episodes, one run on each"
    return Table(rows, None, "instances", title, notes)


def is_myopic(world: SSP) -> bool:
    """Return whether the cheapest action is optimal in every state."""
    return bool((hardness(world).gaps[np.arange(world.states), world.costs.argmin(axis=1)] == 0.0).all())
