"""How actions, agents and the causes of an epoch's end are written."""

from __future__ import annotations

import string
from collections.abc import Mapping

from goalward.acting.stop_conditions import RUN_OVER, Ended
from goalward.ssp.model import GIVE_UP, SSP

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
    Ended.CUT: "the environment",
    Ended.INFORMATION: "information doubled",
}


def marked(label: str, caveats: Mapping[str, str]) -> str:
    """Return the label of an agent, with a mark if something must be known about its results."""
    return f"{label} *" if label in caveats else label


def action_marks(ssp: SSP) -> list[str]:
    """Return one character for each action: arrows for directions and for giving up, else initials, else digits."""
    names = [ssp.action_name(action).lower() for action in range(ssp.actions)]
    if all(name in ARROWS for name in names):
        return [ARROWS[name] for name in names]
    initials = [name[:1] for name in names]
    if len(set(initials)) == len(initials) and all(initial.isalnum() for initial in initials):
        return initials
    digits = string.digits + string.ascii_letters
    return [digits[action] if action < len(digits) else "?" for action in range(ssp.actions)]


def cause_name(ended: int) -> str:
    """Name what ended an epoch: the conditions of its plan that held, or what ended the run if none did."""
    flags = [flag for flag in Ended if ended & flag]
    conditions = [flag for flag in flags if not flag & RUN_OVER]
    return " and ".join(CAUSES[flag] for flag in conditions or flags)
