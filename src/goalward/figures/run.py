"""One run as a figure: on a grid its last plan and its visits, elsewhere its regret or its costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from goalward.arrays import Int64s
from goalward.figures.drawing import finish_axes, grouped_ticks, new_figure
from goalward.figures.plan import plan_figure
from goalward.figures.styles import agent_styles
from goalward.formatting import mathtext
from goalward.learning.replay import Frame, Replay
from goalward.learning.run import Run
from goalward.ssp.model import SSP
from goalward.studies.rerun import Final

__all__ = ["curve_figure", "frame_plan", "run_figure"]


def run_figure(world: SSP, run: Run, replay: Replay, title: str) -> Figure:
    """Draw a run in a world from its replay."""
    if world.layout is None:
        return curve_figure(run, title)
    return plan_figure(world, frame_plan(replay.frames[-1]), visits_of(replay), title)


def frame_plan(frame: Frame) -> Final:
    """Return what an agent would do and expects at a frame; ties are shared out."""
    shares = frame.shares
    if shares is None:
        shares = frame.tied / np.maximum(frame.tied.sum(axis=1, keepdims=True), 1)
    return Final(np.asarray(shares), frame.values)


def visits_of(replay: Replay) -> Int64s:
    """Return how often each pair was played, ``[S, A]``."""
    S, A = replay.task.costs.shape
    visits = np.zeros(S * A, dtype=np.int64)
    for frame in replay.frames:
        np.add.at(visits, frame.seen // (S + 1), frame.times)
    return visits.reshape(S, A)


def curve_figure(run: Run, title: str) -> Figure:
    """Draw both regrets of a run along its episodes; without a model, the costs of the episodes and their average."""
    style = agent_styles([(run.agent.name, run.agent.name)])[run.agent.name]
    thin: dict[str, Any] = {"color": style.colour, "linewidth": 0.9, "alpha": 0.55}
    thick: dict[str, Any] = {"color": style.colour, "linewidth": 2.0}
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    episodes = np.arange(1, len(run.costs) + 1)
    if run.has_model:
        axes.plot(episodes, run.regret, label="realised regret", **thin)
        axes.plot(episodes, run.gap_regret, label="gap regret", **thick)
        axes.set_ylabel("regret, one run")
    else:
        axes.plot(episodes, run.costs, label="cost of the episode", **thin)
        axes.plot(episodes, np.cumsum(run.costs) / episodes, label="average so far", **thick)
        axes.set_ylabel("cost, one run")
    axes.set_xlabel("episode")
    axes.set_xlim(left=0.0)
    if axes.dataLim.ymin >= 0.0:
        axes.set_ylim(bottom=0.0)
    axes.xaxis.set_major_formatter(grouped_ticks())
    axes.yaxis.set_major_formatter(grouped_ticks())
    axes.set_title(mathtext(title))
    axes.legend(frameon=False)
    finish_axes(axes)
    return figure
