"""Right and wrong calls: `test_types.py` lets mypy find the lines that end in ``# wrong``, and no others."""

from typing import assert_type

import goalward as gw
from goalward.agents import PSRL, ULCVI, ContinuousPSRL, Learner
from goalward.settings import Positive

grid = gw.worlds.make("grid-world", rows=5)
car = gw.continuous.make("mountain-car")
assert_type(grid, gw.SSP)
assert_type(car, gw.ContinuousTask)
assert_type(gw.worlds.load("map.txt"), gw.SSP)
assert_type(gw.worlds.grid_world(3, 4, success=0.9), gw.SSP)
assert_type(gw.learn(PSRL(gw.Dirichlet(0.1), value_limit=50), grid, episodes=10), gw.Run)


class Own(PSRL):
    """An agent of a user."""

    boldness: Positive = 0.5


agents: list[Learner] = [PSRL(), gw.agents.QLearning(epsilon=0.2), ULCVI(B_star=6.0, T_star=7.0), Own(boldness=2)]
gw.learn(Own(gw.Neighbourhoods()), grid, 10)
gw.learn(ContinuousPSRL(nodes=[9, 9]), car, 10)
gw.learn(gw.agents.make("psrl", sharpness=2.0), grid, 10)
gw.errors.SettingError("no")

PSRL(priro=1)  # wrong
PSRL(prior="dirichlet")  # wrong
PSRL(value_limit="high")  # wrong
Own(bolness=0.5)  # wrong
ULCVI(B_star=6.0)  # wrong
ULCVI(6.0, 7.0)  # wrong
gw.Dirichlet(concetration=0.1)  # wrong
gw.worlds.grid_world(row=3)  # wrong
gw.worlds.random_mdp(rows="normal")  # wrong
gw.slove(grid)  # wrong
gw.agents.Nothing()  # wrong
gw.worlds.gridworld()  # wrong
gw.continuous.mountaincar()  # wrong
gw.errors.SettingsError()  # wrong
gw.learn(ContinuousPSRL(), grid, 10)  # wrong
gw.learn(PSRL(), car, 10)  # wrong
gw.solve(car)  # wrong
