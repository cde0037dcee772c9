"""Data for the page of `goalward watch`, for goal tasks with continuous states.

The axes of a plane are two coordinates. A task with m >= 2 dimensions has m (m - 1) / 2 planes. A task with one
dimension has one plane, whose second axis is the time. Each plane shows

    the values      of a plan at its points, in tasks with at most two dimensions
    the goal set    wherever a goal state has these two coordinates
    the steps       of every episode

If the plans of an agent have no values, the page shows no values for this agent.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from goalward import __version__
from goalward.arrays import Int64s
from goalward.continuous.task import ContinuousPlan, TaskSpec
from goalward.figures.styles import LineStyle, agent_styles
from goalward.learning.run import Run
from goalward.pages.page import Block

MOST_VALUES = 400_000
"""How many values of plans a page has at most, for all agents."""
MOST_POINTS = 150_000
"""How many steps of an agent a page has at most; of longer episodes, it has every n-th step."""
FEWEST_POINTS = 200  # the least number of steps that a page shows of an episode
GOAL_POINTS = 60_000  # the largest number of grid points for the goal set
MOST_ON_AXIS = 120  # the largest number of these points along one axis
Facts = dict[str, Any]


def plane_document(block: Block, world_name: str, runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return the document of the page, and add its arrays to `block`. `runs` maps agents' labels to runs."""
    styles = agent_styles((label, run.agent.name) for label, run in runs.items())
    first = next(iter(runs.values()))
    task: TaskSpec = first.agent.task
    planes: list[tuple[int, ...]] = list(combinations(range(task.dimensions), 2)) or [(0,)]
    room = MOST_VALUES // len(runs)
    return run_facts("planes", runs, world_name, first.seed, first.episodes) | {
        "task": {
            "low": task.low.tolist(),
            "high": task.high.tolist(),
            "periodic": task.periodic.tolist(),
            "coordinates": list(task.coordinates),
            "actions": list(task.action_names),
        },
        "planes": [{"axes": list(plane), "goal": goal_document(block, task, plane)} for plane in planes],
        "agents": [agent_document(block, label, styles[label], run, room) for label, run in runs.items()],
    }


def run_facts(kind: str, labels: Iterable[str], world_name: str, seed: int, episodes: int) -> Facts:
    """Return the facts about all runs for a replay page."""
    title = f"{' and '.join(labels)} in {world_name}"
    run = {"worldName": world_name, "seed": seed, "episodes": episodes}
    return run | {"kind": kind, "version": __version__, "title": title}


def goal_document(block: Block, task: TaskSpec, plane: tuple[int, ...]) -> dict[str, Any]:
    """Return which points of a regular grid on `plane` lie in the goal set, in row-major order."""
    m = task.dimensions
    size = min(MOST_ON_AXIS, int(GOAL_POINTS ** (1.0 / m)))
    axes = [np.linspace(low, high, size) for low, high in zip(task.low, task.high, strict=True)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    hidden = tuple(axis for axis in range(m) if axis not in plane)
    inside = task.goal(points).reshape([size] * m).any(axis=hidden)
    return {"size": size, "inside": block.put(inside.ravel(), "u1")}


def agent_document(block: Block, label: str, style: LineStyle, run: Run, room: int) -> dict[str, Any]:
    """Return the data of one agent: line style, settings, episodes and the values of its plans."""
    return agent_facts(label, style, run.agent, run.truncation) | {
        "steps": block.put(run.steps, "u4"),
        "costs": block.put(run.costs, "f8"),
        "epochStarts": block.put(run.epochs.start_step, "u4"),
        "path": path_document(block, run),
        "values": values_document(block, run.plans or (), room),
    }


def agent_facts(label: str, style: LineStyle, agent: Any, truncation: str) -> dict[str, Any]:
    """Return the facts about one agent for a replay page: style, settings, notes, cause of truncation."""
    return {
        "label": label,
        "style": style.document,
        "truncation": truncation,
        "name": agent.name,
        "about": inspect.cleandoc(type(agent).__doc__ or "").partition("\n")[0],
        "settings": {name: str(value) for name, value in agent.settings().items()},
        "notes": {name: str(value) for name, value in agent.notes().items()},
    }


def path_document(block: Block, run: Run) -> dict[str, Any]:
    """Return the path of the agent: every n-th state of each episode, and the last state of each episode."""
    trajectory = run.trajectory
    ends = np.cumsum(run.steps)
    most = max(FEWEST_POINTS, MOST_POINTS // max(len(ends), 1))
    every: Int64s = np.maximum(1, -(-run.steps // most))
    shown = [np.arange(end - count, end, n) for end, count, n in zip(ends, run.steps, every, strict=True)]
    steps = np.concatenate([np.empty(0, dtype=np.int64), *shown])
    return {
        "every": block.put(every, "u4"),
        "starts": block.put(np.cumsum([0, *(len(episode) for episode in shown)]), "u4"),
        "points": block.put(trajectory.states[steps], "f4"),
        "actions": block.put_integers(trajectory.actions[steps]),
        "last": block.put(trajectory.next_states[ends - 1], "f4"),
    }


def values_document(block: Block, plans: Sequence[ContinuousPlan], room: int) -> dict[str, Any] | None:
    """Return the values of every n-th plan, or None if no plane can show values. `room` limits the total size."""
    points = plans[0].points if plans else None
    if points is None or points.shape[1] > 2 or any(plan.values is None or plan.points is not points for plan in plans):
        return None
    axes, indices = zip(*(np.unique(column, return_inverse=True) for column in points.T), strict=True)
    shape = [len(axis) for axis in axes]
    if math.prod(shape) > 4 * len(points):  # the points form no grid
        return None
    every = max(1, math.ceil(len(plans) * math.prod(shape) / room))
    frames = np.full((len(plans[::every]), *shape), np.nan)  # the values remain NaN in the goal set
    for frame, plan in zip(frames, plans[::every], strict=True):
        frame[indices] = plan.values
    return {"every": every, "axes": [axis.tolist() for axis in axes], "planes": [block.put(frames, "f4")]}
