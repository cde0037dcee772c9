"""How states, actions and causes are written."""

import pytest

from goalward.acting.stop_conditions import Ended
from goalward.figures.styles import CAUSES, cause_name


@pytest.mark.parametrize(
    ("ended", "name"),
    [
        (Ended.AFTER_VISITS, "visits of a pair"),
        (Ended.AFTER_VISITS | Ended.GOALS, "visits of a pair and goals reached"),
        (Ended.GOALS | Ended.EPISODES, "goals reached"),
        (Ended.EPISODES, "the end of the run"),
        (Ended.MAX_STEPS | Ended.DEAD_END, "the step limit and a dead end"),
    ],
)
def test_causes_are_joined_and_conditions_of_the_plan_come_first(ended, name):
    assert cause_name(int(ended)) == name


def test_every_cause_has_a_name():
    assert set(CAUSES) == set(Ended)
