"""The page of `goalward report`: the studies of a results folder as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goalward import __version__
from goalward.errors import FileError, SettingError
from goalward.pages.page import Page
from goalward.pages.page_data import Block
from goalward.pages.study_data import shares_of, study_document
from goalward.paper.claims.text import read_claims
from goalward.results.results import Results, load_results
from goalward.statistics import checked_level
from goalward.studies.store import Store

__all__ = ["report", "report_of_folder"]


def report(results: Results | Sequence[Results], *, level: float = 0.95) -> Page:
    """Return a page about a study: regret curves, summary, facts about the agents, settings of every run.

    In a notebook the page shows itself; ``report(results).save("report.html")`` writes it.

    Parameters
    ----------
    results
        What `goalward.run` or `goalward.open_results` returns, or several of them.
    level
        The confidence level of the intervals.
    """
    found = [results] if isinstance(results, Results) else list(results)
    if not found or not all(isinstance(each, Results) for each in found):
        raise SettingError(f"report takes results, as gw.run and gw.open_results return them; this is {results!r}")
    return make_page(found, [], checked_level(level))


def report_of_folder(folder: Path, study: str | None = None, level: float = 0.95) -> tuple[Page, list[str]]:
    """Return the page of a study, or of all studies of a folder, and what a reader must be told besides."""
    store = Store.open(folder)
    # Asking for the only study of a folder that has none raises an error that says so.
    names: list[str | None] = [*store.studies()] or [None] if study is None else [study]
    found, troubles = [], []
    for name in names:
        try:
            found.append(load_results(store, store.design(name)))
        except FileError as error:
            if len(names) < 2:
                raise
            troubles.append(f"The study {name} cannot be read: {error}.")
    if not found:
        raise FileError(f"{folder}: none of its studies can be read. {' '.join(troubles)}")
    return make_page(found, troubles, checked_level(level), read_claims(folder)), troubles


def make_page(
    found: Sequence[Results], troubles: Sequence[str], level: float, claims: list[dict[str, Any]] | None = None
) -> Page:
    block = Block()
    title = found[0].design.name if len(found) == 1 else f"{len(found)} studies"
    document = {
        "kind": "report",
        "version": __version__,
        "title": title,
        "studies": [
            study_document(block, results, level, share) for results, share in zip(found, shares_of(found), strict=True)
        ],
        "claims": claims or [],
        "troubles": list(troubles),
    }
    return Page("report", f"{title}: report", document, block)
