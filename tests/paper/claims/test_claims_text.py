"""The table of claims in its several forms."""

from __future__ import annotations

from goalward.paper.claims.findings import Finding, Verdict
from goalward.paper.claims.regret_table import RegretRow
from goalward.paper.claims.text import claims_document, claims_markdown, claims_text, regret_markdown
from goalward.statistics import Interval

TABLE = [
    Finding("one", "B* and T* | are not needed", "two runs", "0.5 [0.4, 0.6]", Verdict.HOLDS),
    Finding("two", "theta_* is near", "a very long story " * 12, "1", Verdict.OPEN, "too little was run"),
]


def test_text_fits_the_terminal() -> None:
    text = claims_text(TABLE, 80)
    assert text.startswith("holds          B* and T* | are not needed\n               0.5 [0.4, 0.6]\n")
    assert "not decided    theta_* is near" in text
    assert "note: too little was run" in text
    assert text.endswith("1 holds, 1 not decided")
    assert max(map(len, text.splitlines())) <= 80


def test_markdown_shows_the_text_as_it_is() -> None:
    page = claims_markdown(TABLE)
    assert page.startswith("1 holds, 1 not decided\n")
    assert (
        "<details><summary><b>holds</b>: B* and T* | are not needed</summary>\n\n* *measured*: 0.5 [0.4, 0.6]\n" in page
    )
    assert "<summary><b>not decided</b>: theta_* is near</summary>" in page
    assert "* *note*: too little was run\n\n</details>" in page
    assert page.count("*note*") == 1


def test_document() -> None:
    assert claims_document(TABLE)[1]["verdict"] == "not decided"


def test_regrets_beside_the_bound() -> None:
    regret = Interval(12.34, 10.0, 15.0, 5)
    rows = [RegretRow(2, 3, 1000, 4.5678, regret, 1234.5, 100.0), RegretRow(30, 3, 1000, 4.5678, regret, None, None)]
    text = regret_markdown(rows).splitlines()
    assert text[2] == "| 2 | 3 | 1,000 | 4.57 | 12.3 [10, 15] | 1.2e+03 | 1e+02 | 9.2e-03 |"
    assert text[3] == "| 30 | 3 | 1,000 | 4.57 | 12.3 [10, 15] | K < S² A |  |  |"
