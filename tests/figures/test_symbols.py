"""How states, actions and causes are written."""

from goalward.acting.stop_conditions import Ended
from goalward.figures.styles import CAUSES, cause_name


def test_causes_are_joined():
    both = cause_name(int(Ended.AFTER_VISITS | Ended.GOALS))
    assert all(CAUSES[cause] in both for cause in (Ended.AFTER_VISITS, Ended.GOALS))


def test_every_cause_has_a_name():
    assert set(CAUSES) == set(Ended)
