"""Compare a run with the bounds in the paper's lemmas and theorems.

``gw.theory.report(run)`` accepts a run of any agent that plans with models drawn from its belief. Record the run with
``learn(..., keep_plans=True, keep_steps=True)``. `Report.table` compares the end of the run with the bounds, and
``gw.plot(report)`` shows the comparison along the run. ``goalward theory RESULTS`` analyses the runs of a study.

How to read the report of one run
    On every path, regret = R1 + R2 + R3, R1 <= B L, and the number L of PSRL-SSP's epochs is below its bound. In
    expectation over worlds drawn from the prior, R2 <= B L, R3 is below its bound, and Theorems 1 and 2 hold. With high
    probability, both kernels are in their confidence sets. The theorems have no constants, so look only at how the
    ratio of regret to bound changes with k. C log k is a bound only in the limit (`regret_limit`).

Concentration
    The mean L1 distance between theta_l(. | s, a) and theta_*(. | s, a). There are two means: over all available pairs,
    and over the pairs that epoch l played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import TheoryError
from goalward.learning.run import Run
from goalward.planning.hardness import hardness
from goalward.statistics import mean_interval
from goalward.table import Column, Columns, Table
from goalward.theory.analysis_intervals import cut_into_intervals
from goalward.theory.confidence import Coverage, coverage
from goalward.theory.decomposition import Decomposition, decompose
from goalward.theory.epochs import EpochCount, count_epochs, epoch_bound
from goalward.theory.limit import regret_limit
from goalward.theory.regret_bounds import theorem_1, theorem_2
from goalward.theory.trace import Trace, trace_of

DELTA = 0.1
POINTS = 40


class Statement(NamedTuple):
    """A measured quantity, its bound (NaN if there is none), and a note about the bound."""

    name: str
    measured: float
    bound: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """The comparison of a run with the paper's analysis, as returned by `report`.

    The keys of `curves` are ``regret, gap_regret, theorem, reference, log_limit, resolved, epochs, epoch_bound, R1, R2,
    R3, true_ratio, sampled_ratio, played_pairs, all_pairs``. The two ratios are the largest distance between a kernel
    and the empirical frequencies, divided by the radius of the confidence set. `*_pairs` are mean L1 distances.
    """

    run: Run = field(repr=False)
    statements: list[Statement]  #: the quantities at the end of the run, with their bounds
    points: Int64s = field(repr=False)  #: the numbers of episodes k at which `curves` are computed
    curves: dict[str, Floats] = field(repr=False)
    theorem: str  #: the theorem that covers the agent: "Theorem 1", or "Theorem 2" if the agent raises costs
    terms: Decomposition = field(repr=False)  #: the result of `decompose`
    count: EpochCount = field(repr=False)  #: the result of `count_epochs`
    cover: Coverage = field(repr=False)  #: the result of `coverage`, summed over the epochs

    @property
    def table(self) -> Table:
        """The statements as a table."""
        return statements_table({self.run.agent.name: [self]})

    def _repr_html_(self) -> str:
        return self.table.html()


def report(run: Run) -> Report:
    """Return a comparison of a run with the paper's lemmas and theorems.

    Parameters
    ----------
    run
        A run of posterior sampling, recorded with ``keep_plans=True, keep_steps=True``.

    Raises
    ------
    TheoryError
        If the agent does not draw its models from a posterior, or if the run lacks plans, steps or the true model.
    """
    trace = trace_of(run)
    S, A = trace.world.costs.shape
    terms, covers, hard = decompose(trace), coverage(trace, DELTA), hardness(trace.world)
    raised = "cost_floor" in run.notes

    def theorem(K: int) -> float:
        return theorem_2(S, A, K, terms.B, hard.T_star) if raised else theorem_1(S, A, K, terms.B, hard.c_min)

    points = np.unique(np.geomspace(1, len(run.costs), POINTS).round().astype(np.int64))
    K, steps = points.tolist(), np.cumsum(run.steps)[points - 1]
    epoch = trace.epoch[steps - 1]  # the epoch in which the episode ended
    bounds, uncovered = zip(*(attempt(partial(theorem, k), math.nan) for k in K), strict=True)
    limit, no_limit = attempt(lambda: regret_limit(trace.world), None)
    constant = math.nan if limit is None else limit.constant
    sums = terms.by_episode.cumsum(axis=0)[points - 1]
    curves: dict[str, Floats] = {
        "regret": run.regret[points - 1],
        "gap_regret": run.gap_regret[points - 1],
        "theorem": np.array(bounds),
        "reference": np.array([math.nan if limit is None else limit.reference(k) for k in K]),
        "log_limit": constant * np.log(points),
        "resolved": np.array([math.nan if limit is None else limit.resolved(k) for k in K]),
        "epochs": (epoch + 1).astype(np.float64),
        "epoch_bound": np.array([epoch_bound(S, A, k, max(T, 2)) for k, T in zip(K, steps.tolist(), strict=True)]),
        **{f"R{1 + term}": sums[:, term] for term in range(3)},
        "true_ratio": np.array([cover.true_ratio for cover in covers])[epoch],
        "sampled_ratio": np.array([cover.sampled_ratio for cover in covers])[epoch],
        **{name: distance[epoch] for name, distance in concentration(trace).items()},
    }
    late = points >= points[-1] / 10.0
    regrets = curves["gap_regret"][late]
    slope = float(np.polyfit(np.log(points[late]), regrets, 1)[0]) if late.sum() > 1 else math.nan
    slope = 0.0 if abs(slope) <= 1e-12 * regrets.max() else slope  # the slope of a flat curve is a rounding error
    third, no_intervals = attempt(lambda: cut_into_intervals(trace).third_term_bound, math.nan)
    cover, count = sum(covers, Coverage()), count_epochs(run.epochs, S, A)
    name = "Theorem 2" if raised else "Theorem 1"
    first, last = ({name: float(curve[at]) for name, curve in curves.items()} for at in (0, -1))
    average, beside = "in expectation over worlds drawn from the prior", "scale: the value in the first epoch"
    unresolved = no_limit or "if it is small, C log K is not a useful scale"
    statements = [
        Statement(f"regret <= O({name})", last["regret"], bounds[-1], uncovered[-1] or f"{average}; no constant"),
        Statement("epochs L <= sqrt(2 S A K log T) + S A log T", count.L, count.bound, "for PSRL-SSP's epochs"),
        Statement("R1 <= B L", terms.R1, terms.bound, "on every path"),
        Statement("R2 <= B L", terms.R2, terms.bound, average),
        Statement("R3 <= 288 B S sqrt(M A) log + ...", terms.R3, third, no_intervals or average),
        Statement("regret - (R1 + R2 + R3)", terms.regret - terms.sum, math.nan, "zero up to rounding"),
        Statement("theta* outside its set", cover.true_misses, cover.promised, f"expected number, delta = {DELTA}"),
        Statement("theta_l outside its set", cover.sampled_misses, cover.promised, average),
        Statement("gap regret, reference(K)", last["gap_regret"], last["reference"], no_limit or "a heuristic scale"),
        Statement("slope of gap regret in log K >= C", slope, constant, no_limit or "as K grows"),
        Statement("share of C that K episodes resolve", last["resolved"], math.nan, unresolved),
        Statement("|theta_l - theta*|, pairs played", last["played_pairs"], first["played_pairs"], beside),
        Statement("|theta_l - theta*|, all pairs", last["all_pairs"], first["all_pairs"], beside),
    ]
    return Report(run, statements, points, curves, name, terms, count, cover)


def attempt(compute: Callable[[], Any], otherwise: Any) -> tuple[Any, str]:
    """Return the result of `compute` and an empty string, or `otherwise` and the message of a TheoryError."""
    try:
        return compute(), ""
    except TheoryError as error:
        return otherwise, str(error)


def concentration(trace: Trace) -> dict[str, Floats]:
    """Return the mean L1 distance between theta_l and theta_* in each epoch, for the played pairs and for all pairs."""
    true, available = trace.world.to_dense(), trace.world.available
    played, everywhere = [], []
    for model, steps in zip(trace.models, trace.epoch_slices(), strict=True):
        distance = np.abs(model.to_dense() - true).sum(axis=2)
        played.append(distance[trace.steps.states[steps], trace.steps.actions[steps]].mean())
        everywhere.append(distance[available].mean())
    return {"played_pairs": np.array(played), "all_pairs": np.array(everywhere)}


def statements_table(cells: Mapping[str, Sequence[Report]]) -> Table:
    """Return a table of the statements, with means over the runs of each cell."""
    rows = []
    for cell, reports in cells.items():
        for statements in zip(*(entry.statements for entry in reports), strict=True):
            bound = float(np.mean([statement.bound for statement in statements]))
            measured = mean_interval(np.array([statement.measured for statement in statements]))
            rows.append(
                {
                    "cell": cell,
                    "statement": statements[0].name,
                    "measured": measured,
                    "bound": bound,
                    "ratio": measured.value / bound if bound else math.nan,
                    "note": statements[0].note,
                }
            )
    columns: Columns = ["statement", "measured", Column("bound", "bound or scale"), "ratio", "note"]
    runs = max(map(len, cells.values()), default=0)
    title = f"mean of {runs} runs with 95 % t-intervals" if runs > 1 else "one run"
    return Table(rows, columns, "theory", title, group="cell")
