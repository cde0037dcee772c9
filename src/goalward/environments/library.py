"""Gymnasium, or one sentence if it is not installed."""

from goalward.errors import SettingError

__all__ = ["gymnasium"]

try:
    import gymnasium
except ModuleNotFoundError:
    raise SettingError("this needs Gymnasium, which is not installed; pip install '.[gymnasium]'") from None
