"""The claims of the paper, and the rules that turn measurements into verdicts.

A verdict depends on the whole interval of a measurement. A claim holds if every value in the interval agrees with the
claim. A claim does not hold if no value agrees with the claim. Otherwise, the claim is not decided. An upper bound that
may be reached, such as the bound on an exponent, holds unless the whole interval lies above the bound (`at_most`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from goalward.formatting import Interval
from goalward.table import Cell, Column, Columns, Table

CLAIMS = {
    "rivals": "PSRL-SSP beats every rival on both worlds",
    "gap": "The gap to the rivals is larger on GridWorld",
    "ulcvi": "ULCVI shows no learning after 80,000 episodes",
    "tuned": "Untuned PSRL-SSP is of the quality of tuned rivals",
    "withheld": "PSRL-SSP needs no B* and no T*",
    "prior": "An informed prior lowers regret",
    "resampling": "Resampling only at episode starts can fail where PSRL-SSP does not",
    "sqrt-epochs": "The number of epochs is O(sqrt K)",
    "tsde": "TSDE's epochs are worse as K grows",
    "conjecture": "Conjecture: the regret bound, sqrt(K), holds in fixed worlds too",
    "theorem-1-K": "Theorem 1: Bayesian regret grows like sqrt(K) at most",
    "theorem-1-sizes": "Theorem 1: regret grows in S, A and B no faster than its bound",
    "theorem-2": "Theorem 2: with costs max(c, epsilon), regret grows like sqrt(K) at most",
    "decomposition": "Section 4: regret is R1 + R2 + R3",
    "first-term": "Lemma: R1 <= B L",
    "second-term": "Lemma: E[R2] <= B E[L]",
    "third-term": "Lemma: E[R3] <= 288 B S sqrt(M A) log + ...",
    "epochs": "Lemma: L <= sqrt(2 S A K log T) + S A log T; K_l <= K_{l-1} + 1; visits at most double",
    "bernstein": "Lemma: theta_* and theta_l lie in B_l w.p. 1 - delta/(2 S A n)",
    "intervals": "Lemmas on intervals: M <= C/B + K + L + ..., sum A_l <= 6 S A log², variance <= 44 B²",
    "posterior": "Lemma: E f(theta_l) = E f(theta_*)",
}


class Verdict(Enum):
    """Whether the measurements agree with a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decided"


class Finding(NamedTuple):
    """The test of a claim: what was run, what was measured, the verdict, and a note for the reader."""

    key: str
    ran: str
    figure: str
    verdict: Verdict
    note: str = ""


def between(interval: Interval, low: float, high: float) -> Verdict:
    """Decide whether a quantity with this `interval` lies between two limits."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return Verdict.OPEN
    if interval.low > high or interval.high < low:
        return Verdict.FAILS
    return Verdict.HOLDS if low <= interval.low and interval.high <= high else Verdict.OPEN


def below(interval: Interval, limit: float) -> Verdict:
    """Decide whether a quantity with this `interval` is at most `limit`."""
    return between(interval, -math.inf, limit)


def above(interval: Interval, limit: float) -> Verdict:
    """Decide whether a quantity with this `interval` is at least `limit`."""
    return between(interval, limit, math.inf)


def at_most(interval: Interval, limit: float) -> Verdict:
    """Decide whether an upper bound holds. The bound fails only if the whole `interval` lies above `limit`."""
    return Verdict.OPEN if math.isnan(interval.low) else certain(interval.low <= limit)


def certain(true: bool) -> Verdict:
    """Return the verdict on a statement that is known to be true or false."""
    return Verdict.HOLDS if true else Verdict.FAILS


def all_of(*verdicts: Verdict) -> Verdict:
    """Return the worst of several verdicts."""
    return next((worst for worst in (Verdict.FAILS, Verdict.OPEN) if worst in verdicts), Verdict.HOLDS)


def claims_table(findings: Sequence[Finding]) -> Table:
    """Return a table with the verdict on each claim, the measured values, and a description of the runs."""
    count = Counter(finding.verdict for finding in findings)
    tally = ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict if count[verdict])
    rows = [
        finding._asdict()
        | {
            "claim": Cell(CLAIMS[finding.key], f"{finding.verdict.value}: {CLAIMS[finding.key]}"),
            "verdict": finding.verdict.value,
        }
        for finding in findings
    ]
    columns: Columns = [Column("figure", "measured"), "ran", "note"]
    return Table(rows, columns, "claims", notes=[tally], group="claim", vertical=True)
