"""Line styles for agents, marks for actions, and names for the causes that end epochs, in figures and pages.

Each algorithm has a fixed style: a colour, a marker and dashes. In a picture, the first agent with an algorithm gets
the algorithm's style. The style of any other agent depends on its label. If this style is already in use, the agent
gets the next style with an unused colour. Only a few lines can be told apart by colour alone.
"""

from __future__ import annotations

import string
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from goalward.acting.stop_conditions import RUN_OVER, Ended
from goalward.ssp.model import GIVE_UP, SSP

# The hues of Okabe and Ito in their order, without yellow, and with violet instead of the second blue. Each colour has
# a contrast of at least 3 : 1 against the page. Colour-blind readers can tell the colours apart.
COLOURS = ("#b04800", "#bf7a05", "#159379", "#8a3ee0", "#0072b2", "#a02c78", "#000000")
# The same hues for a dark background.
DARK_COLOURS = ("#e0672a", "#ffb03b", "#2fe08a", "#8458cc", "#4aa3e8", "#c08098", "#f2f2f2")
DASHES: tuple[Any, ...] = ((0, ()), (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLES = len(COLOURS) * len(DASHES)
NUMBERS = {
    "ulcvi": 0, "eb-ssp": 1, "uc-ssp": 2, "bernstein-ssp": 3, "psrl": 4, "optimal": 6,
    "tsde": 7, "psrl-episode": 8, "psrl-step": 9, "posterior-mean": 10, "uniform": 13,
}  # fmt: skip
ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓", GIVE_UP: "↺"}
CAUSES = {
    Ended.AFTER_VISITS: "visits of a pair",
    Ended.BEFORE_VISITS: "visits of the next pair",
    Ended.GOALS: "goals reached",
    Ended.STEPS: "number of steps",
    Ended.EPISODES: "the end of the run",
    Ended.MAX_STEPS: "the step limit",
    Ended.STOPPED: "an interruption",
    Ended.DEAD_END: "a dead end",
    Ended.TRUNCATED: "the environment",
    Ended.INFORMATION: "information doubled",
}


class LineStyle(NamedTuple):
    """The colour, the dashes and the marker of a line."""

    colour: str
    dashes: Any
    marker: str
    number: int

    @property
    def page_colour(self) -> str:
        """The colour in CSS, for a light and for a dark background."""
        return f"light-dark({self.colour}, {DARK_COLOURS[COLOURS.index(self.colour)]})"

    @property
    def document(self) -> dict[str, Any]:
        """The style as plain data for a page."""
        return {"colour": self.page_colour, "marker": self.marker, "dashes": list(self.dashes[1])}


def line_style(number: int) -> LineStyle:
    """Return the style with this number, counted from 0."""
    # Dashes and markers shift by one whenever the colours start again, so that no two lines share all three.
    turn = number // len(COLOURS)
    dashes = DASHES[(number + turn) % len(DASHES)]
    return LineStyle(COLOURS[number % len(COLOURS)], dashes, MARKERS[(number + turn) % len(MARKERS)], number)


def agent_styles(agents: Iterable[tuple[str, str]]) -> dict[str, LineStyle]:
    """Return the style of each agent by label. `agents` are pairs of a label and the name of an algorithm.

    >>> styles = agent_styles([("mine", "psrl"), ("other", "uc-ssp")])
    >>> styles["mine"] == agent_styles([("first", "ulcvi"), ("mine", "psrl")])["mine"]
    True
    """
    pairs = list(dict(agents).items())
    taken: dict[str, int] = {}
    for label, name in pairs:
        if name in NUMBERS and NUMBERS[name] not in taken.values():
            taken[label] = NUMBERS[name]
    for label, _ in pairs:
        if label not in taken:
            taken[label] = free_number(zlib.crc32(label.encode("utf-8", "surrogatepass")), list(taken.values()))
    return {label: line_style(taken[label]) for label, _ in pairs}


def free_number(first: int, taken: list[int]) -> int:
    """Return the next unused number from `first` on; prefer one with an unused colour or marker."""
    styles = [line_style(number) for number in taken]
    colours, markers = {style.colour for style in styles}, {style.marker for style in styles}
    candidates = [line_style((first + step) % STYLES) for step in range(STYLES)]
    free = [style for style in candidates if style.number not in taken] or candidates
    return min(free, key=lambda style: (style.colour in colours) * 2 + (style.marker in markers)).number


def marked(label: str, caveats: Mapping[str, str]) -> str:
    """Return the label of an agent, with an asterisk if its results need a caveat."""
    return f"{label} *" if label in caveats else label


def action_marks(ssp: SSP) -> list[str]:
    """Return one character for each action: an arrow if all names are directions, else an initial or a digit."""
    names = [ssp.action_name(action).lower() for action in range(ssp.actions)]
    if all(name in ARROWS for name in names):
        return [ARROWS[name] for name in names]
    initials = [name[:1] for name in names]
    if len(set(initials)) == len(initials) and all(initial.isalnum() for initial in initials):
        return initials
    digits = string.digits + string.ascii_letters
    return [digits[action] if action < len(digits) else "?" for action in range(ssp.actions)]


def cause_name(ended: int) -> str:
    """Return why an epoch ended, in words: the stop conditions that were met, or the end of the run."""
    flags = [flag for flag in Ended if ended & flag]
    conditions = [flag for flag in flags if not flag & RUN_OVER]
    return " and ".join(CAUSES[flag] for flag in conditions or flags)
