"""Enters the worlds in Gymnasium's registry once both packages are loaded, in whatever order that happens.

``import goalward`` must not load Gymnasium, and Gymnasium does not ask other packages what they register. So if it is
not loaded yet, a finder waits for its import and enters the worlds right after it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["register_when_loaded"]


class Arrival(MetaPathFinder):
    """Waits until Gymnasium is loaded. A search for it that loads nothing, as by `find_spec`, does not end the wait."""

    looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that others find, with a loader that enters the worlds at its end."""
        if fullname != "gymnasium" or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                register()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def register() -> None:
    from goalward.environments.registration import register_worlds

    register_worlds()


def register_when_loaded() -> None:
    """Enter the worlds now if Gymnasium is loaded, otherwise as soon as it is."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, Arrival) for finder in sys.meta_path):
        sys.meta_path.insert(0, Arrival())
