"""The page of `goalward watch`, which replays one run, or two runs side by side, epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.optimistic.common import Optimist
from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.figures.styles import LineStyle, action_marks, agent_styles
from goalward.learning.regret import optimum
from goalward.learning.replay import MOST_MODEL_NUMBERS, Frame, Replay
from goalward.learning.run import Run
from goalward.pages.page import Block, Page
from goalward.pages.planes import Facts, agent_facts, plane_document, run_facts
from goalward.planning.solve import solve_all
from goalward.settings import plain
from goalward.ssp.layout import state_label
from goalward.ssp.model import SSP
from goalward.studies.rerun import kept_run, replay_of

CURVE_POINTS = 600  # points of a regret curve for linear axes, and as many for log axes
MOST_PAGE_NUMBERS = 500_000
"""How many values and probabilities a page has at most, so that it stays below three megabytes."""
MOST_PAGE_STEPS = 120_000
"""How many steps of all agents a page shows one by one, at most."""
MOST_STATES_TO_PLAN = 500
"""The page replans only in worlds of at most this many states."""
NO_INTEGERS: Int64s = np.empty(0, dtype=np.int64)


def watch(*runs: Run, labels: Sequence[str] | None = None, world: str = "") -> Page:
    """Return a page that replays one run, or two runs side by side. A notebook displays the page.

    If an agent learnt from scratch, in a known model or in a registered task with continuous states, `watch` repeats
    the run to get its plans. All other runs must be recorded with ``learn(..., keep_replay=True)``. Runs with
    continuous states are replayed episode by episode, in planes of two coordinates.

    Parameters
    ----------
    runs
        One run, or two runs in the same world.
    labels
        The names of the agents on the page. The default is the names of the algorithms.
    world
        The name of the world on the page.

    Examples
    --------
    >>> import goalward as gw
    >>> grid = gw.worlds.grid_world()
    >>> page = gw.watch(gw.learn(gw.agents.PSRL(), grid, 20), gw.learn(gw.agents.Uniform(), grid, 20))
    >>> page
    Page('psrl and uniform in a world of 11 states'; save(path) writes it)
    """
    if not 1 <= len(runs) <= 2 or not all(isinstance(run, Run) for run in runs):
        raise SettingError(f"watch needs one or two runs from gw.learn, but got {list(runs)!r}")
    first = runs[0]
    tasks: list[Any] = [run.agent.task for run in runs]
    origin = getattr(tasks[0], "origin", None)
    alike = tasks[0].is_like(tasks[-1]) and getattr(tasks[-1], "origin", None) == origin
    if not alike or first.world != runs[-1].world:
        raise SettingError("the two runs are in different worlds; only runs in the same world can be compared")
    names = run_labels([run.agent.name for run in runs]) if labels is None else list(labels)
    if len(set(names)) != len(runs):
        raise SettingError(f"labels is {labels!r}; it must have {len(runs)} different texts, one for each run")
    block = Block()
    if first.agent.continuous:
        repeated = dict(zip(names, map(kept_run, runs), strict=True))
        document = plane_document(block, world or "a task with continuous states", repeated)
        return Page("planes", document["title"], document, block)
    replays = dict(zip(names, map(replay_of, runs), strict=True))
    name = world or f"a world of {first.agent.task.states:,} states"
    facts = run_facts("watch", names, name, first.seed, first.episodes)
    document = watch_document(block, facts, first.world, replays, [run.truncation for run in runs])
    return Page("watch", document["title"], document, block)


def run_labels(names: Sequence[str]) -> list[str]:
    """Return unique labels for agents with these `names`.

    >>> run_labels(["psrl", "psrl"])
    ['psrl', 'psrl (2)']
    """
    return [f"{name} ({index + 1})" if name in names[:index] else name for index, name in enumerate(names)]


def watch_document(
    block: Block, facts: Facts, world: SSP | None, replays: Mapping[str, Replay], truncations: Sequence[str]
) -> dict[str, Any]:
    """Return the document of the page, and add its arrays to `block`. `replays` maps agents' labels to replays."""
    styles = agent_styles((label, replay.agent.name) for label, replay in replays.items())
    first = next(iter(replays.values()))
    values = sum(len(replay.frames) * replay.task.states for replay in replays.values())
    room = min(MOST_MODEL_NUMBERS, max(0, MOST_PAGE_NUMBERS - values) // len(replays))
    return facts | {
        "world": world_document(block, world, first.task),
        "agents": [
            agent_document(block, label, styles[label], replay, room, MOST_PAGE_STEPS // len(replays), truncation)
            for (label, replay), truncation in zip(replays.items(), truncations, strict=True)
        ],
    }


def world_document(block: Block, world: SSP | None, task: Task) -> dict[str, Any]:
    """Return the data of a world: names and costs. A known model adds layout, transitions and values."""
    name_state: Callable[[int], str]
    name_action: Callable[[int], str]
    name_state, name_action = (str, str) if task.encoding is None else (task.encoding.name, task.encoding.action_name)
    if world is not None:
        name_state, name_action = partial(state_label, world), world.action_name
    names = [name_action(action) for action in range(task.actions)]
    return {
        "states": task.states,
        "actions": task.actions,
        "start": task.initial_state,
        "costs": block.put(task.costs if world is None else world.costs, "f8"),
        "stateNames": [name_state(state) for state in range(task.states)],
        "actionNames": names,
        "actionMarks": names if world is None else action_marks(world),
        "layout": None if world is None or world.layout is None else world.layout.fields(),
        "canPlan": world is not None and world.states <= MOST_STATES_TO_PLAN,
        "truth": None if world is None else {
            "indptr": block.put(world.indptr, "u4"),
            "successors": block.put_integers(world.successors),
            "probabilities": block.put(world.probabilities, "f8"),
            "values": block.put(solve_all(world).values, "f8"),
            "gaps": block.put(optimum(world).gaps, "f8"),
        },
    }  # fmt: skip


def agent_document(
    block: Block, label: str, style: LineStyle, replay: Replay, room: int, shown_steps: int, truncation: str = ""
) -> dict[str, Any]:
    """Return the data of one agent, with at most `room` model probabilities and about `shown_steps` steps."""
    return agent_facts(label, style, replay.agent, truncation) | {
        "known": {name: str(plain(value)) for name, value in replay.agent.given.items() if not isinstance(value, SSP)},
        "hasPlans": replay.has_plans,
        "samples": replay.agent.samples_posterior,
        "optimist": isinstance(replay.agent, Optimist) and replay.agent.scale >= 1.0,
        "epochs": replay.epochs,
        "optimalValue": replay.optimal_value,
        "episodeSteps": block.put_integers(np.diff(replay.ends, prepend=0)),
        "curve": curve_document(block, replay),
        "frames": frames_document(block, replay.frames, replay.task, shown_steps),
        "models": models_document(block, replay.frames, room),
        "planningCosts": planning_costs(block, replay),
        "belief": belief_document(block, replay),
    }


def curve_document(block: Block, replay: Replay) -> dict[str, Any]:
    """Return costs and regrets after selected episodes, some for linear axes and some for logarithmic axes."""
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


def frames_document(block: Block, frames: Sequence[Frame], task: Task, shown_steps: int) -> dict[str, Any]:
    """Return frames as columns. For each state–action pair, one bit says whether the plan plays the action."""
    size = len(frames)
    paths = [frame.path[: max(1, shown_steps // max(size, 1))] for frame in frames]
    columns = {
        name: block.put([getattr(frame, name) for frame in frames], kind)
        for name, kind in (
            ("epoch", "u4"), ("start_step", "f8"), ("start_episode", "u4"), ("steps", "f8"), ("goals", "u4"),
            ("ended", "u2"), ("pair", "i4"),
        )
    }  # fmt: skip
    seen, indices = np.unique(np.concatenate([NO_INTEGERS, *(frame.seen for frame in frames)]), return_inverse=True)
    ends = np.cumsum([0, *(len(frame.seen) for frame in frames)])
    goal = task.states + 1
    played = np.array([frame.played for frame in frames]).reshape(size, task.costs.size)
    return {
        "count": size,
        **columns,
        "played": block.put(np.packbits(played, axis=1, bitorder="little"), "u1"),
        "values": stacked(block, [frame.values for frame in frames]),
        "shares": stacked(block, [frame.shares for frame in frames], [frame.played / 1.0 for frame in frames]),
        "transitions": {"rows": block.put_integers(seen // goal), "successors": block.put_integers(seen % goal)},
        "seenEnds": block.put(ends, "u4"),
        "seen": block.put_integers(indices),
        "pathEnds": block.put(np.cumsum([0, *map(len, paths)]), "u4"),
        "path": block.put_integers(np.searchsorted(seen, np.concatenate([NO_INTEGERS, *paths]))),
        "times": block.put_integers(np.concatenate([NO_INTEGERS, *(frame.times for frame in frames)])),
    }


def stacked(block: Block, arrays: list[Floats | None], default: list[Floats] | None = None) -> dict[str, Any] | None:
    """Add `arrays` to `block` as one array, or return None if all are None. `default` or NaN replaces a None."""
    shape = next((array.shape for array in arrays if array is not None), None)
    if shape is None:
        return None
    defaults = default or [np.full(shape, np.nan)] * len(arrays)
    filled = [other if array is None else array for array, other in zip(arrays, defaults, strict=True)]
    with np.errstate(over="ignore"):  # a value that is larger than any 32-bit number is shown as infinite
        return block.put(np.array(filled).ravel(), "f4")


def models_document(block: Block, frames: Sequence[Frame], room: int) -> dict[str, Any] | None:
    """Return the models of every m-th frame, or None if there are no models. `room` limits the total size."""
    modelled = [(index, frame.model) for index, frame in enumerate(frames) if frame.model is not None]
    if not modelled or not room:
        return None
    step = math.ceil(sum(len(model.successors) for _, model in modelled) / room)
    indices, models = zip(*modelled[::step], strict=True)
    return {
        "every": step,
        "frames": block.put(indices, "u4"),
        "indptr": block.put(np.concatenate([model.indptr for model in models]), "u4"),
        "ends": block.put(np.cumsum([0, *(len(model.successors) for model in models)]), "u4"),
        "successors": block.put_integers(np.concatenate([model.successors for model in models])),
        "probabilities": block.put(np.concatenate([model.probabilities for model in models]), "f4"),
    }


def planning_costs(block: Block, replay: Replay) -> dict[str, Any] | None:
    """Return the costs that the agent plans with, or None if these costs are unknown or equal the world's costs."""
    costs = next((frame.model.costs for frame in replay.frames if frame.model is not None), replay.task.costs)
    costs = np.maximum(costs, getattr(replay.agent, "_cost_floor", 0.0))
    if replay.task.costs_unknown or np.array_equal(costs, replay.task.costs):
        return None
    return block.put(costs, "f8")


def belief_document(block: Block, replay: Replay) -> dict[str, Any] | None:
    """Return the parameters of the prior, from which the page computes posteriors, or None without a prior."""
    belief = replay.belief
    if belief is None:
        return None
    S, available = replay.task.states, replay.task.available
    full = len(belief.successors) == np.count_nonzero(available) * (S + 1)
    support = None if full else {"indptr": block.put(belief.indptr, "u4"),
                                 "successors": block.put_integers(belief.successors)}  # fmt: skip
    return {"concentration": belief.concentration, "support": support}
