"""Two agents of a study compared, as text and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalward.formatting import number, with_margin
from goalward.results.summary import notes_on_pairs
from goalward.statistics import Comparison
from goalward.text_tables import Rows, columns

__all__ = ["comparison_document", "comparison_text"]


def comparison_text(first: str, second: str, measure: str, found: Mapping[str, Comparison], level: float) -> str:
    """Write a comparison of two agents for a terminal."""
    rows: Rows = [("world", "pairs", "difference", f"{first} lower", "p-value")]
    for world, each in found.items():
        mark = " *" * bool(each.left_out)
        wins = f"{each.wins} of {each.pairs}"
        rows.append((world + mark, str(each.pairs), with_margin(each.difference), wins, number(each.p_value)))
    what = measure.replace("_", " ")
    head = f"{what} of {first} minus that of {second}, run by run: mean with {100 * level:g} % t-interval"
    foot = "p-values: two-sided permutation test of the paired differences"
    notes = [f"* {note}" for note in notes_on_pairs(found)]
    return "\n".join([head, columns(rows, right=[1, 2, 3, 4]), foot, *notes])


def comparison_document(
    first: str, second: str, measure: str, found: Mapping[str, Comparison], level: float
) -> dict[str, Any]:
    """Return a comparison of two agents as plain data."""
    worlds = {
        world: {
            "pairs": each.pairs,
            "left_out": each.left_out,
            "difference": each.difference.value,
            "low": each.difference.low,
            "high": each.difference.high,
            "first_lower": each.wins,
            "p_value": each.p_value,
        }
        for world, each in found.items()
    }
    notes = notes_on_pairs(found)
    return {"first": first, "second": second, "measure": measure, "level": level, "worlds": worlds, "notes": notes}
