"""A replay as an animated GIF for slides: the grids of one or two agents, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from goalward.errors import SettingError
from goalward.files import replacing
from goalward.learning.replay import Replay
from goalward.long_work import counted
from goalward.model.ssp import SSP
from goalward.planning.solve import solve_all
from goalward.report.grid_figure import GridPanel, ink_colours
from goalward.report.grid_text import layout_of
from goalward.report.json_documents import writing
from goalward.report.run_figure import frame_plan
from goalward.text_escapes import mathtext

__all__ = ["check_animation", "save_animation"]

MOST_PICTURES = 48
MILLISECONDS, LAST_MILLISECONDS = 350, 2500
DOTS_PER_INCH = 80


def check_animation(path: Path, world: SSP | None = None) -> None:
    """Raise SettingError if an animation cannot have this name, or if a world is not a grid."""
    if path.suffix.lower() != ".gif":
        raise SettingError(f"{path}: an animation is written as .gif; change the ending")
    if world is not None:
        layout_of(world)


def save_animation(path: Path, world: SSP, replays: Mapping[str, Replay]) -> int:
    """Write the animation; return how many pictures it has.

    The first agent sets the pace: up to 48 of its epochs, most of them early ones. The other is shown at the same
    episode.
    """
    check_animation(path, world)
    lead = next(iter(replays.values()))
    values = solve_all(world).values
    largest = 2.0 * float(values[np.isfinite(values)].max(initial=0.5))
    chosen = early_places(len(lead.frames))
    pictures = [
        picture(world, replays, lead.frames[place].start_episode, place, largest)
        for place in counted("drawing the animation", "pictures", chosen, len(chosen))
    ]
    palette = pictures[-1].quantize(128)
    frames = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    times = [MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            frames[0].save(file, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    return len(frames)


def early_places(count: int) -> list[int]:
    """Return some of so many places, close together at first, with the first and the last.

    >>> early_places(3), early_places(600)[0], early_places(600)[-1], len(early_places(600))
    ([0, 1, 2], 0, 599, 48)
    """
    if count <= MOST_PICTURES:
        return list(range(count))
    spread = np.unique(np.rint(np.geomspace(1.0, count, 2 * MOST_PICTURES)).astype(int)) - 1
    return [int(place) for place in spread[np.rint(np.linspace(0, len(spread) - 1, MOST_PICTURES)).astype(int)]]


def picture(world: SSP, replays: Mapping[str, Replay], episode: int, place: int, largest: float) -> Image.Image:
    """Draw one moment: the plans of all agents, with values where they have them."""
    layout = layout_of(world)
    inches = min(0.95, 4.6 / max(layout.rows, layout.columns))
    width, height, gap, above = layout.columns * inches, layout.rows * inches, 0.7, 0.65
    full_width, full_height = len(replays) * (max(width, 2.6) + gap) + gap, height + above + 0.6
    figure = Figure(figsize=(full_width, full_height), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    for number, (label, replay) in enumerate(replays.items()):
        at_end = place == len(next(iter(replays.values())).frames) - 1
        starts = [each.start_episode for each in replay.frames]
        own = (
            place if number == 0 else len(starts) - 1 if at_end else int(np.searchsorted(starts, episode, "right")) - 1
        )
        frame = replay.frames[max(own, 0)]
        left = gap + number * (max(width, 2.6) + gap)
        box = (left / full_width, 0.45 / full_height, width / full_width, height / full_height)
        axes = figure.add_axes(box)
        moment = "end" if own == len(starts) - 1 else f"epoch {frame.epoch + 1:,}"
        panel = GridPanel(
            axes, world, inches, f"{label}\n{moment}, episode {min(frame.start_episode + 1, replay.task.episodes):,}"
        )
        axes.set_xlabel("")
        axes.set_ylabel("")
        axes.set_xticks([])
        axes.set_yticks([])
        plan = frame_plan(frame)
        shown = np.full(world.states, np.nan) if plan.values is None else np.minimum(plan.values, largest)
        image = panel.colour_cells(shown, vmin=0.0, vmax=largest)
        panel.draw_actions(plan.shares, ink_colours(image, shown))
    what = "colours: expected cost to the goal, from 0 (light) to twice the largest optimal one (dark)"
    figure.text(0.5, 0.1 / full_height, mathtext(what), ha="center", fontsize=7, color="#444444")
    canvas = figure.canvas
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[attr-defined]
