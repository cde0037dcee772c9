"""What the words on a replay mean, for people who see one for the first time: a part of the page that unfolds."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from goalward import agents
from goalward.figures.symbols import UNICODE
from goalward.formatting import visible
from goalward.registry import summary
from goalward.ssp.give_up import GIVE_UP

__all__ = ["words_html"]

COMMON = {
    "step": "one action: it costs something, and chance has a say in where it leads",
    "episode": "one trip from the start to the goal; then the next one begins at the start",
    "plan": "what the agent means to do in every state: the arrows",
    "value": "what the agent expects to pay from a state to the goal. It learns: at first this is a guess",
}
WORDS = {
    "watch": COMMON
    | {
        "epoch": "the time in which the agent follows one plan. Then it makes a new one from all that it has seen",
        "regret": "what the agent has paid so far beyond the best policy, which knows the world: the price of learning."
        " It grows fast at first, and then hardly any more",
        "gap regret": "regret with the luck taken out: the sum of what each action loses on average. Realised regret"
        " has the luck in it, and can even fall",
        "same luck": "two agents that do the same get the same: what differs is what they decide",
        "uncertainty": "how little the agent knows of what its actions do. It falls where the agent has been",
    },
    "planes": COMMON | {"state": "where the agent is, by its coordinates; a curve is one episode, step by step"},
}


def words_html(kind: str, document: Mapping[str, Any]) -> str:
    """Return the part of a page of this kind; empty for pages that are not replays."""
    if kind not in WORDS:
        return ""
    entries = dict(WORDS[kind])
    if len(document["agents"]) < 2:
        entries.pop("same luck", None)
    if GIVE_UP in (document.get("world") or {}).get("actionNames", ()):
        entries[f"{UNICODE.arrows[GIVE_UP]} {GIVE_UP}"] = "go back to the start, at a price; the episode goes on"
    known = agents.known()
    for agent in document["agents"]:
        if agent["name"] in known:
            entries[agent["name"]] = summary(agents.find(agent["name"]))
    rows = "".join(
        f"<dt>{html.escape(visible(word))}</dt><dd>{html.escape(visible(text))}</dd>" for word, text in entries.items()
    )
    return f'<aside class="words"><details><summary>What the words mean</summary><dl>{rows}</dl></details></aside>'
