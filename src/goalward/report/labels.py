"""How states and actions are written, in Unicode or in plain ASCII."""

from __future__ import annotations

import string
from typing import NamedTuple

from goalward.model.ssp import SSP

__all__ = ["ASCII", "UNICODE", "Glyphs", "action_marks", "state_label"]


class Glyphs(NamedTuple):
    """The characters a picture is made of."""

    arrows: dict[str, str]
    infinity: str
    wall: str
    start: str
    # Top, middle and bottom line of a frame: left end, crossing, right end.
    frame: tuple[str, str, str]
    horizontal: str
    vertical: str


UNICODE = Glyphs({"left": "←", "right": "→", "up": "↑", "down": "↓"}, "∞", "█", "●", ("┌┬┐", "├┼┤", "└┴┘"), "─", "│")
ASCII = Glyphs({"left": "<", "right": ">", "up": "^", "down": "v"}, "inf", "#", "*", ("+++", "+++", "+++"), "-", "|")


def state_label(ssp: SSP, state: int) -> str:
    """Return a state's name, else its place on the grid, else its number."""
    if ssp.state_names is None and ssp.layout is not None and state < ssp.states:
        row, column = divmod(int(ssp.layout.cells[state]), ssp.layout.columns)
        return f"row {row}, column {column}"
    return ssp.state_name(state)


def action_marks(ssp: SSP, glyphs: Glyphs = UNICODE) -> list[str]:
    """Return one character for each action: arrows for directions, else initials if they differ, else digits."""
    names = [ssp.action_name(action).lower() for action in range(ssp.actions)]
    if all(name in glyphs.arrows for name in names):
        return [glyphs.arrows[name] for name in names]
    initials = [name[:1] for name in names]
    if len(set(initials)) == len(initials) and all(initial.isalnum() for initial in initials):
        return initials
    digits = string.digits + string.ascii_letters
    return [digits[action] if action < len(digits) else "?" for action in range(ssp.actions)]
