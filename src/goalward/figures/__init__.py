"""Figures of results, drawn by Matplotlib. Figures and pages share their line styles and symbols.

Each figure is one function that is decorated with ``@figure("name")`` and imported below. The function takes results
and settings, and returns a Matplotlib figure. `plot`, ``goalward plot --kind`` and ``goalward list figures`` use the
registered name. Matplotlib is imported with the first figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from goalward.errors import SettingError
from goalward.registry import Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from goalward.figures.regret import growth_figure as growth_figure
    from goalward.figures.regret import regret_figure as regret_figure
    from goalward.learning.run import Run
    from goalward.planning.distribution import CostDistribution
    from goalward.results.results import Results
    from goalward.theory.run_report import Report

registry: Registry[Callable[..., Figure]] = Registry("figure", (__name__,), lambda name, draw: draw)
figure = registry.register


def plot(results: Results | Run | CostDistribution | Report, kind: str = "regret", **settings: Any) -> Figure:
    """Draw a figure of a study, a run or a distribution of costs. ``figure.savefig(path)`` saves the figure.

    Parameters
    ----------
    results
        The results of a study, a run, the distribution of a policy's cost, or a report of `goalward.theory`. For a run,
        regret is drawn along the episodes. If the true model is not known, costs are drawn instead of regret.
    kind
        The name of a figure in ``goalward list figures``: ``regret`` or ``growth``.
    settings
        The settings of the figure, as ``goalward list figures NAME`` lists them. The figure ``regret`` has the settings
        ``measure``, ``axes``, ``level``, ``band`` and ``guides``. The figure of a single run has no settings.

    Raises
    ------
    SettingError
        If the figure has no such setting, or if the value of a setting is not allowed.
    """
    from goalward.learning.run import Run
    from goalward.planning.distribution import CostDistribution
    from goalward.results.results import Results
    from goalward.theory.run_report import Report

    if isinstance(results, Report):
        from goalward.figures.theory import theory_figure

        return theory_figure([results], results.run.agent.name)
    if isinstance(results, Run | CostDistribution) and (settings or kind != "regret"):
        raise SettingError("a run or distribution has only one kind of figure; leave out the kind and the settings")
    if isinstance(results, CostDistribution):
        from goalward.figures.distribution import distribution_figure

        return distribution_figure(results)
    if isinstance(results, Run):
        from goalward.figures.regret import curve_figure

        return curve_figure(results, f"{results.agent.name}: {len(results.costs):,} episodes, seed {results.seed}")
    if not isinstance(results, Results):
        raise SettingError(f"plot needs results of gw.run or gw.open_results, or a run of gw.learn; got {results!r}")
    return registry.find(kind)(results, **settings)
