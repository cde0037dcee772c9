"""Which scale of its confidence widths suits an agent best: the tuned regime of the paper's second experiments.

Every scale of a logarithmic grid is run on the same seeds, and the smallest mean regret wins; the largest scale breaks
ties. Regret is the sum of optimality gaps, which has the expectation of the realised regret and far less variance.
Tuning uses seeds that no evaluation run uses: ``seeds=range(5)`` shares nothing with runs of the seeds 0 to 4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward.agents.base import Learner, registry
from goalward.arrays import Floats
from goalward.errors import ConvergenceError, SettingError
from goalward.learning.learn import run_agent
from goalward.progress import displayed, phase
from goalward.seeds import run_seed
from goalward.ssp.model import SSP

__all__ = ["Tuning", "tune"]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of a sweep over scales.

    Attributes
    ----------
    agent, scale
        The name of the algorithm and its best scale.
    scales
        All scales that were tried, largest first.
    regrets
        ``regrets[i, j]``: the regret with scale i on seed j; infinity where planning did not converge or the run was
        cut short.
    """

    agent: str
    scale: float
    scales: Floats
    regrets: Floats

    @property
    def means(self) -> Floats:
        """The mean regret of each scale."""
        return np.asarray(self.regrets.mean(axis=1))

    def __repr__(self) -> str:
        return f"Tuning({self.agent}, scale={self.scale:.3g}, regret={self.means.min():.6g}, scales={len(self.scales)})"


def tune(
    agent: type[Learner] | str,
    world: SSP,
    episodes: int,
    seeds: Iterable[int],
    scales: Iterable[float] | None = None,
    *,
    max_steps: int | None = None,
    **settings: Any,
) -> Tuning:
    """Find the best scale of an agent in a world; stderr shows the progress.

    Parameters
    ----------
    agent
        The class or the name of an agent with a setting `scale`, such as ``gw.agents.EBSSP``.
    world, episodes
        Where and how long to learn.
    seeds
        The seeds to average over; see above for what they share with other runs.
    scales
        The scales to try, by default the agent's own grid.
    max_steps
        Cut a run short after this many steps; such a run counts as infinitely bad.
    settings
        Other settings of the agent. What it must know of the true model is looked up.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.tune(gw.agents.BernsteinSSP, world, 500, seeds=range(3), scales=[1.0, 0.01]).scale
    0.01
    """
    if isinstance(agent, str):
        agent = registry.find(agent)
    if not hasattr(agent, "scale"):
        raise SettingError(f"{agent.name} has no setting called scale: there is nothing to tune")
    if scales is None:
        scales = getattr(agent, "scales", ())
    grid = np.unique(np.fromiter(scales, dtype=np.float64))[::-1]
    runs = [run_seed(seed, "tune", agent.name) for seed in seeds]
    if not len(grid) or not runs:
        raise SettingError(f"there are {len(grid)} scales and {len(runs)} seeds; pass at least one of each")
    known = agent.look_up(world, episodes, [name for name in agent.needs if name not in settings])
    regrets = np.empty((len(grid), len(runs)))
    with displayed(sys.stderr), phase(f"tuning {agent.name}", regrets.size, "runs") as tuning:
        for i, scale in enumerate(grid.tolist()):
            learner = agent.from_world(world, episodes=episodes, **(known | settings | {"scale": scale}))
            for j, seed in enumerate(runs):
                regrets[i, j] = final_regret(learner, world, episodes, seed, max_steps)
                tuning.advance(i * len(runs) + j + 1)
    if not np.isfinite(regrets.mean(axis=1)).any():
        raise SettingError(f"no scale of {agent.name} got through all its runs; raise max_steps, or try larger scales")
    return Tuning(agent.name, float(grid[np.argmin(regrets.mean(axis=1))]), grid, regrets)


def final_regret(agent: Learner, world: SSP, episodes: int, seed: int, max_steps: int | None) -> float:
    """Return the gap regret of a run, infinity if it failed."""
    try:
        run = run_agent(agent, world, episodes, seed, max_steps=max_steps)
    except ConvergenceError:
        return float("inf")
    return float("inf") if run.truncated else float(run.gap_regret[-1])
