"""Format numbers for people, and escape users' text for terminals, documents and figures.

Labels may contain any characters. goalward stores labels unchanged and escapes them for output: with `visible` for
terminals and logs, with `markdown_text`, `html_text` and `latex_text` for documents, and with `mathtext` for figures.
Every output shows exactly the characters of the label.
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
    """An estimate with an interval; `low` and `high` are NaN if there are too few runs or a value is not finite."""

    value: float
    low: float
    high: float
    runs: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2.0


def number(value: float, digits: int = 3, *, zeros: bool = False, infinity: str = "inf") -> str:
    """Return a number as text with `digits` significant digits.

    Thousands are separated by commas. Numbers below a billion keep all digits before the decimal point. NaN becomes a
    dash. With `zeros`, trailing zeros are kept, so that the numbers in a column look alike.

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
    """Return an estimate with both ends of its interval as text, such as 0.512 [0.4, 0.6]."""
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def with_margin(interval: Interval) -> str:
    """Return an estimate with its margin as text, such as 805 ± 44; asymmetric intervals are shown with both ends."""
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
    """Return a count with its noun as text, such as 1 run or 2,000 runs."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """Return a length of time as text, such as 0.4 s, 1 min 15 s or 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def finite(data: Any) -> Any:
    """Return plain `data` with None in place of infinite numbers and NaN, which JSON does not allow.

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
    r"""Return `text` escaped for Markdown, including cells of tables.

    >>> print(markdown_text("a|b <script>"))
    a\|b &lt;script>
    """
    return MARKDOWN.sub(r"\\\1", visible(text)).replace("<", "&lt;")


def html_text(text: object) -> str:
    """Return `text` escaped for HTML.

    >>> html_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(visible(str(text)))


def latex_text(text: str) -> str:
    r"""Return `text` escaped for LaTeX.

    >>> print(latex_text("50 % of $x_1$"))
    50 \% of \$x\_1\$
    """
    return "".join(LATEX.get(character, character) for character in visible(text))


def mathtext(text: str, keep: str = " ") -> str:
    r"""Return `text` escaped for Matplotlib, where a dollar sign would begin a formula.

    >>> print(mathtext("$x$"))
    \$x\$
    """
    shown = visible(text, keep).replace("$", r"\$")
    # Legends omit labels that begin with an underscore.
    return f" {shown}" if shown.startswith("_") else shown
