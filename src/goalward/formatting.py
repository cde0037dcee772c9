"""Formatting numbers for people, and escaping users' text for terminals, documents and figures.

Labels and names may contain anything. They are stored unchanged and escaped when they are written: `visible` for
terminals and logs, `markdown_text`, `html_text` and `latex_text` for documents, `mathtext` for figures. Each output
shows exactly the characters of the label.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

MARKDOWN = re.compile(r"([\\`*_|~$]|\](?=[(\[:])|&(?=[#\w]+;))")
LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "[": "{[}", "*": "{*}",  # after a line break, LaTeX would read both as its arguments
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval; `low` and `high` are NaN if runs are too few or not finite."""

    value: float
    low: float
    high: float
    runs: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2.0


def number(value: float, digits: int = 3, *, zeros: bool = False, infinity: str = "inf") -> str:
    """Write a number with this many significant digits.

    Thousands are grouped. Numbers below a billion keep all digits before the decimal point. NaN becomes a dash. With
    `zeros`, trailing zeros are kept, so that the numbers in a column look alike.

    >>> number(0.01234), number(99.96), number(361241.24), number(2e12), number(math.nan)
    ('0.0123', '100', '361,241', '2e+12', '-')
    >>> number(5.0), number(5.0, zeros=True)
    ('5', '5.00')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    if value == 0.0 or 10 ** (digits - 1) <= abs(value) < 1e9:
        return f"{value:,.0f}" if value else "0"
    return f"{value:#,.{digits}g}".rstrip(".") if zeros else f"{value:,.{digits}g}"


def with_range(interval: Interval) -> str:
    """Write an estimate and both ends of its interval, as in 0.512 [0.4, 0.6]."""
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def with_margin(interval: Interval) -> str:
    """Write an estimate with its margin, as in 805 ± 44, or with both ends of an asymmetric interval."""
    half = interval.half_width
    if not math.isfinite(half) or half <= 1e-9 * abs(interval.value):
        return number(interval.value, zeros=True)
    # Two digits of the half width decide how many digits of the value are shown.
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6:
        return f"{interval.value:.2e} ± {half:.1e}"
    value, low, high, reach = (f"{x:,.{decimals}f}" for x in (interval.value, interval.low, interval.high, half))
    centred = abs(interval.value - (interval.low + interval.high) / 2.0) <= 0.01 * half
    return f"{value} ± {reach}" if centred else f"{value} [{low}, {high}]"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: 1 run, 2,000 runs."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """Write a length of time: 0.4 s, 1 min 15 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def finite(data: Any) -> Any:
    """Return plain data with None for every infinite or undefined number, which JSON does not have.

    >>> finite({"values": [1.0, math.inf], "p": math.nan})
    {'values': [1.0, None], 'p': None}
    """
    if isinstance(data, dict):
        return {name: finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def visible(text: str, keep: str = " ") -> str:
    r"""Return a text with control characters, line breaks and direction marks escaped, except those in `keep`.

    >>> print(visible("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    return "".join(
        character
        if character in keep or unicodedata.category(character)[0] not in "CZ"
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def markdown_text(text: str) -> str:
    r"""Return a text that Markdown shows unchanged, also in a cell of a table.

    >>> print(markdown_text("a|b <script>"))
    a\|b &lt;script>
    """
    return MARKDOWN.sub(r"\\\1", visible(text)).replace("<", "&lt;")


def html_text(text: object) -> str:
    """Return a text that HTML shows unchanged.

    >>> html_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(visible(str(text)))


def latex_text(text: str) -> str:
    r"""Return a text that LaTeX prints unchanged.

    >>> print(latex_text("50 % of $x_1$"))
    50 \% of \$x\_1\$
    """
    return "".join(LATEX.get(character, character) for character in visible(text))


def mathtext(text: str, keep: str = " ") -> str:
    r"""Return a text that Matplotlib draws unchanged: a dollar sign would begin a formula.

    >>> print(mathtext("$x$"))
    \$x\$
    """
    shown = visible(text, keep).replace("$", r"\$")
    # Legends omit labels that begin with an underscore.
    return f" {shown}" if shown.startswith("_") else shown
