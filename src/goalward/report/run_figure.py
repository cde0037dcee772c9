"""One run as a figure: on a grid its last plan and its visits, elsewhere its regret."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from goalward.arrays import Int64s
from goalward.errors import SettingError
from goalward.execution.rerun import Final
from goalward.learning.replay import Frame, Replay
from goalward.learning.run import Run
from goalward.model.ssp import SSP
from goalward.report.agent_styles import agent_styles
from goalward.report.figure_style import finish_axes, grouped_ticks, new_figure
from goalward.report.plan_figure import plan_figure
from goalward.text_escapes import mathtext

__all__ = ["frame_plan", "run_figure"]


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
    """Draw both regrets of a run along its episodes."""
    if np.isnan(run.optimal_value):
        raise SettingError("the true model is not known, so there is no regret to draw, and no grid either")
    style = agent_styles([(run.agent.name, run.agent.name)])[run.agent.name]
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    episodes = np.arange(1, len(run.costs) + 1)
    axes.plot(episodes, run.regret, color=style.colour, linewidth=0.9, alpha=0.55, label="realised regret")
    axes.plot(episodes, run.gap_regret, color=style.colour, linewidth=2.0, label="gap regret")
    axes.set_xlabel("episode")
    axes.set_ylabel("regret, one run")
    axes.xaxis.set_major_formatter(grouped_ticks())
    axes.yaxis.set_major_formatter(grouped_ticks())
    axes.set_title(mathtext(title))
    axes.legend(frameon=False)
    finish_axes(axes)
    return figure
