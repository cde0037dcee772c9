"""Text from users, made safe for the place where it is shown.

A label or a name may hold anything. It is kept as it is and escaped at the door: `visible` for terminals and logs,
`markdown` for Markdown, `mathtext` for figures. Each of them shows the characters that the label has.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["markdown", "mathtext", "visible"]

MARKDOWN = re.compile(r"([\\`*_|~$]|\](?=[(\[:])|&(?=[#\w]+;))")


def visible(text: str, kept: str = " ") -> str:
    r"""Return a text with control characters, line breaks and marks of direction, but for some, written as escapes.

    >>> print(visible("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    return "".join(
        character if character in kept or unicodedata.category(character)[0] not in "CZ" else escape(character)
        for character in text
    )


def escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is, also within a cell of a table.

    >>> print(markdown("a|b <script>"))
    a\|b &lt;script>
    """
    return MARKDOWN.sub(r"\\\1", visible(text)).replace("<", "&lt;")


def mathtext(text: str, kept: str = " ") -> str:
    r"""Return a text that Matplotlib draws as it is: a dollar sign would begin a formula.

    >>> print(mathtext("$x$"))
    \$x\$
    """
    shown = visible(text, kept).replace("$", r"\$")
    # A legend leaves out labels that begin with an underscore.
    return f" {shown}" if shown.startswith("_") else shown
