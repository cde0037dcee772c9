"""How verdicts follow from intervals, and findings as text, Markdown and plain data."""

from __future__ import annotations

import numpy as np

from goalward.formatting import Interval
from goalward.paper.claims.claims import (
    Finding,
    Verdict,
    above,
    all_of,
    at_most,
    below,
    between,
    certain,
    claims_table,
)

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
TABLE = [
    Finding("withheld", "two runs", "0.5 [0.4, 0.6]", Verdict.HOLDS),
    Finding("bernstein", "a very long story " * 12, "1", Verdict.OPEN, "too little was run"),
]


def test_verdicts_follow_the_interval() -> None:
    low, middle, high = Interval(0.3, 0.2, 0.4, 9), Interval(0.5, 0.4, 0.6, 9), Interval(0.7, 0.6, 0.8, 9)
    nothing = Interval(0.3, np.nan, np.nan, 1)
    assert [below(each, 0.5) for each in (low, middle, high, nothing)] == [HOLDS, OPEN, FAILS, OPEN]
    assert [above(each, 0.5) for each in (low, middle, high, nothing)] == [FAILS, OPEN, HOLDS, OPEN]
    assert [at_most(each, 0.5) for each in (low, middle, high, nothing)] == [HOLDS, HOLDS, FAILS, OPEN]
    assert [between(each, 0.35, 0.65) for each in (low, middle, high)] == [OPEN, HOLDS, OPEN]


def test_the_worst_verdict_counts() -> None:
    assert all_of(HOLDS, OPEN, FAILS) is FAILS
    assert all_of(HOLDS, OPEN) is OPEN
    assert all_of() is HOLDS
    assert [certain(True), certain(False)] == [HOLDS, FAILS]


def test_a_finding_as_plain_data() -> None:
    assert claims_table(TABLE[:1]).data() == [
        {
            "key": "withheld", "ran": "two runs", "figure": "0.5 [0.4, 0.6]", "verdict": "holds", "note": "",
            "claim": "PSRL-SSP needs no B* and no T*",
        }
    ]  # fmt: skip


def test_people_read_a_block_for_each_claim() -> None:
    text = claims_table(TABLE).text()
    assert text.startswith(
        "holds: PSRL-SSP needs no B* and no T*\n  measured   0.5 [0.4, 0.6]\n  ran        two runs\n\n"
    )
    assert "not decided: Lemma: theta_* and theta_l lie in B_l" in text
    assert "  note       too little was run" in text
    assert text.endswith("* 1 holds, 1 not decided")
    assert r"## holds: PSRL-SSP needs no B\* and no T\*" in claims_table(TABLE).markdown()
