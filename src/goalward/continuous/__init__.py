"""Tasks with continuous states, and the agents that learn in them.

>>> import goalward as gw
>>> gw.continuous.make("navigation", wind=0.1).spec.actions
4
"""

from typing import TYPE_CHECKING, Any

from goalward.lazy import lazy

if TYPE_CHECKING:
    from goalward.continuous.aggregated_psrl import AggregatedPSRL as AggregatedPSRL
    from goalward.continuous.psrl import ContinuousPSRL as ContinuousPSRL
    from goalward.continuous.task import ContinuousTask as ContinuousTask
    from goalward.continuous.tasks import mountain_car as mountain_car
    from goalward.continuous.tasks import navigation as navigation
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__, ["make"])


def make(id: str, /, **settings: Any) -> "ContinuousTask":
    """Return the continuous task `id`, such as ``mountain-car``, with `settings`."""
    from goalward.continuous.task import ContinuousTask
    from goalward.errors import SettingError
    from goalward.worlds.base import build

    task = build(id, settings)
    if not isinstance(task, ContinuousTask):
        raise SettingError(f"{id} has finitely many states; use goalward.worlds.make({id!r})")
    return task
