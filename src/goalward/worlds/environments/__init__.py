"""Gymnasium environments: worlds as environments, and wrappers. These modules need Gymnasium."""

from goalward.errors import SettingError

__all__ = ["gymnasium"]

try:
    import gymnasium
except ModuleNotFoundError:
    raise SettingError("this needs Gymnasium, which is not installed; pip install 'goalward[gymnasium]'") from None
