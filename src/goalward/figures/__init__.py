"""Figures of results, drawn by Matplotlib, and what pages share with them: styles and symbols.

A figure is one function below ``@figure("name")`` in a module of this package: it takes results and the settings it
understands, and returns a Matplotlib figure. `plot`, ``goalward plot --kind`` and their messages find it by its name.
Matplotlib is imported with the first figure.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from goalward.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from goalward.learning.run import Run
    from goalward.results.results import Results

    Draw = Callable[..., Figure]

__all__ = ["checked_kind", "figure", "figure_names", "figure_settings", "plot"]

_figures: dict[str, Draw] = {}


def figure(name: str) -> Callable[[Draw], Draw]:
    """Register a function as the figure of this name; the first line of its docstring describes it."""

    def register(draw: Draw) -> Draw:
        _figures[name] = draw
        return draw

    return register


def all_figures() -> dict[str, Draw]:
    """Return the function of each figure, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_figures.items()))


def figure_names() -> dict[str, str]:
    """Return the names of all figures, each with a line that describes it."""
    return {name: str(inspect.getdoc(draw)).partition("\n")[0] for name, draw in all_figures().items()}


def figure_settings(name: str) -> dict[str, Any]:
    """Return the settings of a figure with their defaults."""
    _, *settings = inspect.signature(all_figures()[name]).parameters.values()
    return {setting.name: setting.default for setting in settings}


def checked_kind(kind: str) -> str:
    """Return the name of a figure; raise UnknownNameError if there is none of this name."""
    known = all_figures()
    if kind not in known:
        raise UnknownNameError("kind of plot", kind, known)
    return kind


def plot(results: Results | Run, kind: str = "regret", **settings: Any) -> Figure:
    """Draw one figure of a study, or the regret of one run; ``figure.savefig(path)`` writes it.

    Parameters
    ----------
    results
        The results of a study. Or a run: then its regrets along the episodes are drawn, or its costs if the true model
        is not known.
    kind
        The name of a figure: ``regret``, ``growth``, ``causes`` or ``grid``; ``goalward list figures`` describes them.
    settings
        The settings of the figure, as ``goalward list figures NAME`` lists them: for ``regret`` its ``measure``,
        ``axes`` and ``level``; for ``grid`` its ``agent``, ``world`` and ``run``. A single run has none.

    Raises
    ------
    SettingError
        If a setting is given that this kind of figure does not have.
    """
    from goalward.learning.run import Run
    from goalward.results.results import Results

    if isinstance(results, Run):
        from goalward.figures.regret import curve_figure

        if settings or kind != "regret":
            raise SettingError("a single run is drawn in one way: leave out the kind and its settings")
        return curve_figure(results, f"{results.agent.name}: {len(results.costs):,} episodes, seed {results.seed}")
    if not isinstance(results, Results):
        raise SettingError(
            f"plot takes results, as gw.run and gw.open_results return them, or a run of gw.learn; this is {results!r}"
        )
    taken = figure_settings(checked_kind(kind))
    for name in settings.keys() - taken:
        raise SettingError(f"a figure of kind {kind} has no setting {name}; it takes {', '.join(taken)}")
    return all_figures()[kind](results, **settings)
