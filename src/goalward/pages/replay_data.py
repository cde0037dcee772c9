"""A recorded run as a page of `goalward watch` carries it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goalward import __version__
from goalward.acting.task import Task
from goalward.agents.base import CAVEAT
from goalward.arrays import Floats, Int64s
from goalward.figures.styles import LineStyle, agent_styles
from goalward.figures.symbols import action_marks
from goalward.learning.regret import optimum
from goalward.learning.replay import MOST_MODEL_NUMBERS, Frame, Replay
from goalward.pages.page_data import Block
from goalward.planning.solve import solve_all
from goalward.settings import plain
from goalward.ssp.layout import state_label
from goalward.ssp.model import SSP

__all__ = ["agent_document", "watch_document"]

CURVE_POINTS = 600
ROUNDING = 1e-9
MOST_PAGE_NUMBERS = 500_000
"""How many values and probabilities a page has at most, so that it stays below three megabytes."""
MOST_STATES_TO_PLAN = 500
"""The page plans anew in worlds of up to so many states."""


def watch_document(
    block: Block,
    world: SSP | None,
    world_name: str,
    replays: Mapping[str, Replay],
    seed: int,
    episodes: int,
    truncations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what the page shows; large arrays go to the block.

    `replays` are named after their agents; so are `truncations`, why runs were cut off.
    """
    styles = agent_styles((label, replay.agent.name) for label, replay in replays.items())
    first = next(iter(replays.values()))
    values = sum(len(replay.frames) * replay.task.states for replay in replays.values())
    room = min(MOST_MODEL_NUMBERS, max(0, MOST_PAGE_NUMBERS - values) // len(replays))
    return {
        "kind": "watch",
        "version": __version__,
        "title": f"{' and '.join(replays)} in {world_name}",
        "worldName": world_name,
        "seed": seed,
        "episodes": episodes,
        "world": task_document(block, first.task) if world is None else world_document(block, world),
        "agents": [
            agent_document(block, label, styles[label], replay, (truncations or {}).get(label, ""), room)
            for label, replay in replays.items()
        ],
    }


def task_document(block: Block, task: Task) -> dict[str, Any]:
    """Return what is known of a world without a model."""
    return {
        "states": task.states,
        "actions": task.actions,
        "start": task.initial_state,
        "stateNames": [str(state) for state in range(task.states)],
        "actionNames": [str(action) for action in range(task.actions)],
        "actionMarks": [str(action) for action in range(task.actions)],
        "costs": block.put(task.costs, "f8"),
        "layout": None,
        "truth": None,
        "canPlan": False,
    }


def world_document(block: Block, world: SSP) -> dict[str, Any]:
    """Return a world with its optimal values, for drawing it and for planning in it."""
    layout = world.layout
    gaps, values = optimum(world).gaps, solve_all(world).values
    # Gaps as small as the planner's rounding would be shown as losses.
    shown_gaps = np.where(gaps <= ROUNDING * values[np.isfinite(values)].max(initial=1.0), 0.0, gaps)
    return {
        "states": world.states,
        "actions": world.actions,
        "start": world.initial_state,
        "stateNames": [state_label(world, state) for state in range(world.states)],
        "actionNames": [world.action_name(action) for action in range(world.actions)],
        "actionMarks": action_marks(world),
        "costs": block.put(world.costs, "f8"),
        "layout": None
        if layout is None
        else {
            "rows": layout.rows,
            "columns": layout.columns,
            "cells": layout.cells.tolist(),
            "goals": layout.goals.tolist(),
            "wind": layout.wind,
        },
        "truth": {
            "indptr": block.put(world.indptr, "u4"),
            "successors": block.put_integers(world.successors),
            "probabilities": block.put(world.probabilities, "f8"),
            "values": block.put(values, "f8"),
            "gaps": block.put(shown_gaps, "f8"),
        },
        "canPlan": world.states <= MOST_STATES_TO_PLAN,
    }


def agent_document(
    block: Block, label: str, style: LineStyle, replay: Replay, truncation: str = "", room: int = MOST_MODEL_NUMBERS
) -> dict[str, Any]:
    """Return one agent: its look, its settings, its frames and its curves, with room for so many probabilities."""
    agent = replay.agent
    return {
        "label": label,
        "style": style.document,
        "truncation": truncation,
        "name": agent.name,
        "settings": {name: str(value) for name, value in agent.settings().items()},
        "told": {name: str(plain(value)) for name, value in agent.given.items() if not isinstance(value, SSP)},
        "notes": {name: str(value) for name, value in agent.notes().items()},
        "caveat": str(agent.notes().get(CAVEAT, "")),
        "hasPlans": replay.has_plans,
        "epochs": replay.epochs,
        "optimalValue": replay.optimal_value,
        "curve": curve_document(block, replay),
        "frames": frames_document(block, replay.frames, replay.task),
        "models": models_document(block, replay.frames, room),
        "planningCosts": planning_costs(block, replay),
        "belief": belief_document(block, replay),
    }


def curve_document(block: Block, replay: Replay) -> dict[str, Any]:
    """Return the regrets after some of the episodes: evenly spread on a linear and on a logarithmic scale."""
    count = len(replay.costs)
    points = np.arange(count)
    if count > 2 * CURVE_POINTS:
        linear = np.linspace(0, count - 1, CURVE_POINTS)
        logarithmic = np.geomspace(1, count, CURVE_POINTS) - 1
        points = np.unique(np.rint(np.concatenate([linear, logarithmic])).astype(np.int64))
    known = not math.isnan(replay.optimal_value)
    return {
        "episodes": block.put(points + 1, "u4"),
        "regret": block.put(replay.regret[points], "f8") if known else None,
        "gap_regret": block.put(replay.gaps[points], "f8") if known else None,
        "cost": block.put(replay.costs[points], "f8"),
    }


def frames_document(block: Block, frames: Sequence[Frame], task: Task) -> dict[str, Any]:
    """Return frames as columns; played and tied actions are bits, row after row."""
    size = len(frames)
    columns = {
        name: block.put([getattr(frame, name) for frame in frames], kind)
        for name, kind in (
            ("epoch", "u4"), ("start_step", "f8"), ("start_episode", "u4"), ("steps", "f8"), ("goals", "u4"),
            ("ended", "u2"), ("pair", "i4"),
        )
    }  # fmt: skip
    seen, places = np.unique(np.concatenate([empty(), *(frame.seen for frame in frames)]), return_inverse=True)
    ends = np.cumsum([0, *(len(frame.seen) for frame in frames)])
    goal = task.states + 1
    return {
        "count": size,
        **columns,
        "played": block.put(bits(frame.played for frame in frames), "u1"),
        "tied": block.put(bits(frame.tied for frame in frames), "u1"),
        "values": stacked(block, [frame.values for frame in frames]),
        "shares": stacked(block, [frame.shares for frame in frames], [frame.played / 1.0 for frame in frames]),
        "transitions": {"rows": block.put_integers(seen // goal), "successors": block.put_integers(seen % goal)},
        "seenEnds": block.put(ends, "u4"),
        "seen": block.put_integers(places),
        "times": block.put_integers(np.concatenate([empty(), *(frame.times for frame in frames)])),
    }


def empty() -> Int64s:
    return np.empty(0, dtype=np.int64)


def bits(tables: Any) -> Any:
    """Return tables of truth values as bits, each table filled up to whole bytes."""
    flat = [np.packbits(table.ravel(), bitorder="little") for table in tables]
    return np.concatenate([np.empty(0, dtype=np.uint8), *flat])


def stacked(block: Block, parts: list[Floats | None], default: list[Floats] | None = None) -> dict[str, Any] | None:
    """Return one array per frame in a row; None if no frame has one, NaN where a frame has none."""
    shape = next((part.shape for part in parts if part is not None), None)
    if shape is None:
        return None
    nothing = default or [np.full(shape, np.nan)] * len(parts)
    filled = [other if part is None else part for part, other in zip(parts, nothing, strict=True)]
    with np.errstate(over="ignore"):  # a value that is larger than any 32-bit number is shown as infinite
        return block.put(np.array(filled).ravel(), "f4")


def models_document(block: Block, frames: Sequence[Frame], room: int) -> dict[str, Any] | None:
    """Return the models of every m-th frame, with the smallest m for which they are few enough; None without any."""
    found = [(place, frame.model) for place, frame in enumerate(frames) if frame.model is not None]
    if not found or not room:
        return None
    step = math.ceil(sum(len(model.successors) for _, model in found) / room)
    kept, models = zip(*found[::step], strict=True)
    return {
        "every": step,
        "frames": block.put(kept, "u4"),
        "indptr": block.put(np.concatenate([model.indptr for model in models]), "u4"),
        "ends": block.put(np.cumsum([0, *(len(model.successors) for model in models)]), "u4"),
        "successors": block.put_integers(np.concatenate([model.successors for model in models])),
        "probabilities": block.put(np.concatenate([model.probabilities for model in models]), "f4"),
    }


def planning_costs(block: Block, replay: Replay) -> dict[str, Any] | None:
    """Return the costs that the agent plans with, if they are not those of the world."""
    costs = getattr(replay.agent, "_planning_costs", None)
    if costs is None:
        costs = next((frame.model.costs for frame in replay.frames if frame.model is not None), None)
    if costs is None or np.array_equal(costs, replay.task.costs):
        return None
    return block.put(costs, "f8")


def belief_document(block: Block, replay: Replay) -> dict[str, Any] | None:
    """Return what the page needs to compute the posterior from the counts."""
    belief = replay.belief
    if belief is None:
        return None
    S, available = replay.task.states, replay.task.available
    full = len(belief.successors) == np.count_nonzero(available) * (S + 1)
    support = None if full else {"indptr": block.put(belief.indptr, "u4"),
                                 "successors": block.put_integers(belief.successors)}  # fmt: skip
    return {"concentration": belief.concentration, "support": support}
