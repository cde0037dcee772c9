"""The arena: many worlds of different character, every agent with its default settings.

Its worlds are two groups. Whoever chooses between ideas looks at the group ``choosing`` only. Figures are reported on
the group ``reporting``, by which nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from goalward.agents.base import registry
from goalward.studies.study import Study

__all__ = ["CHOOSING", "COMPANY", "LEFT_OUT", "REFERENCE", "REPORTING", "arena_study", "without_refused"]

CHOOSING, REPORTING = "choosing", "reporting"
REFERENCE = "PSRL-SSP"
"""The agent whose regret is 1."""
COMPANY = (REFERENCE, "neighbourhoods")
"""The agents that meet a user's agent in the arena."""
LEFT_OUT = {
    "aggregated-psrl": "it learns in worlds with continuous states",
    "continuous-psrl": "it learns in worlds with continuous states",
    "optimal": "its regret is 0",
    "psrl-step": "it plans at every step, which takes hours",
}
"""The registered agents that are not in the arena, and why."""
QUICK = {"runs": 2, "episodes": 200}


def arena_study(
    agents: Sequence[str] = (), *, quick: bool = False, runs: int | None = None, episodes: int | None = None
) -> Study:
    """Return the study of the arena.

    Parameters
    ----------
    agents
        Names of algorithms, or classes in files such as ``my_agent.py:Mine``, relative to the current folder. They meet
        `COMPANY` and nobody else. Without them, the agents of the study take part, and all others that are registered.
    quick
        Fewer runs and episodes.
    runs, episodes
        Other numbers than those of the study.
    """
    study = Study.load("arena")
    document = study.spec.model_dump(exclude_unset=True)
    document |= QUICK if quick else {}
    document |= {name: value for name, value in {"runs": runs, "episodes": episodes}.items() if value is not None}
    if quick:
        document["name"] += "-quick"
    if agents:
        names = [re.sub(r"[^A-Za-z0-9]+", "-", name.rpartition(":")[2]) for name in agents]
        document["name"] = "-".join([document["name"], *names])[:100]
        company = [entry for entry in document["agents"] if entry.get("label") in COMPANY]
        document["agents"] = [*company, *({"agent": name} for name in agents)]
    else:
        named = {entry["agent"] for entry in document["agents"]} | LEFT_OUT.keys()
        document["agents"] += [{"agent": name} for name in registry.known() if name not in named]
    return Study.from_dict(document)


def without_refused(study: Study) -> tuple[Study, dict[tuple[str, str], str]]:
    """Leave out the worlds that agents refuse.

    Returns the rest, and why each was refused, by the labels of the world and the agent.
    """
    refused = study.refusals()
    if not refused:
        return study, {}
    document: dict[str, Any] = study.spec.model_dump(exclude_unset=True)
    kept = []
    for number, entry in enumerate(document["agents"]):
        cells = [labels for labels, place in study.places.items() if place == ("agents", number)]
        left = [labels[0] for labels in cells if labels not in refused]
        if left:
            kept.append(entry | ({} if len(left) == len(cells) else {"worlds": left}))
    return Study.from_dict(document | {"agents": kept}, study.source.folder), refused
