"""Tables, figures, pages and documents made from results. Nothing here computes a result.

The package is also a function: ``goalward.report(results)`` returns the page about a study, as
`goalward.report.report_page.report` does.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalward.report.html_page import Page


class CallablePackage(ModuleType):
    """A package that can be called: ``goalward.report`` names both this package and what users call."""

    def __call__(self, results: Any, *, level: float = 0.95) -> Page:
        """Return a page about a study; see `goalward.report.report_page.report`."""
        from goalward.report.report_page import report

        return report(results, level=level)


sys.modules[__name__].__class__ = CallablePackage
