"""Studies with goal tasks whose states are continuous: steps instead of regret."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward.errors import GoalwardError

STUDY = {
    "name": "field",
    "runs": 2,
    "episodes": 3,
    "max_steps": 5_000,
    "worlds": [{"world": "navigation-v0"}],
    "agents": [{"agent": "aggregated-psrl", "settings": {"cells": 4}}],
}


def test_steps_are_kept_and_drawn_and_regret_is_not_made_up(tmp_path: Path) -> None:
    results = gw.run(STUDY, tmp_path, workers=1)
    cell = results.cells[0]
    direct = [
        gw.learn(gw.agents.AggregatedPSRL(cells=4), gw.continuous.make("navigation"), 3, spec.seed, max_steps=5_000)
        for spec in results.design.specs(cell.cell)
    ]
    done = cell.episodes_done.min()
    np.testing.assert_array_equal(cell.curves["steps"][:, :done], [run.steps[:done] for run in direct])
    assert np.isnan(cell.curves["regret"]).all()
    assert np.isnan(results.summary().rows[0]["regret"].value)
    figure = gw.plot(results, measure="steps")
    assert figure.axes[0].get_ylabel() == "steps of the episode"


@pytest.mark.parametrize(
    ("world", "agent", "message"),
    [
        ("navigation", "psrl", "psrl needs finitely many states"),
        ("grid-world", "continuous-psrl", "continuous-psrl needs a goal task with continuous states"),
    ],
)
def test_agents_that_do_not_fit_their_world_are_refused_before_any_run(
    world: str, agent: str, message: str, tmp_path: Path
) -> None:
    study = STUDY | {"worlds": [{"world": world}], "agents": [{"agent": agent}]}
    with pytest.raises(GoalwardError, match=message):
        gw.run(study, tmp_path, workers=1)
