"""The sweep over scales: what wins, what fails, and luck of its own."""

from __future__ import annotations

import numpy as np
import pytest

import goalward as gw
from goalward import Tuning, learn, tune, worlds
from goalward.agents import PSQL, PSRL, UCSSP, ULCVI, VISSP, BernsteinSSP
from goalward.errors import ConvergenceError, SettingError
from goalward.learning import tuning
from goalward.seeds import run_seed

GRID = worlds.grid_world(2, 3)


def test_the_table_is_what_the_runs_give() -> None:
    found = tune(BernsteinSSP, GRID, 80, seeds=[3, 4], scales=[0.01, 1.0, 0.1])
    assert found.scales.tolist() == [1.0, 0.1, 0.01]
    for scale, row in zip(found.scales.tolist(), found.regrets.tolist(), strict=True):
        seeds = [run_seed(seed, "tune", "bernstein-ssp") for seed in (3, 4)]
        assert row == [learn(BernsteinSSP(scale=scale), GRID, 80, seed).gap_regret[-1] for seed in seeds]
    assert found.scale == found.scales[np.argmin(found.means)] == 0.01
    assert not set(seeds) & set(range(100))


def test_the_largest_of_equal_scales_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "final_regret", lambda agent, *_: 5.0 if agent.scale < 0.5 else 9.0)
    assert tune(VISSP, GRID, 3, seeds=[1], scales=[0.1, 1.0, 0.2]).scale == 0.2


def test_runs_that_fail_count_as_infinitely_bad() -> None:
    found = tune(UCSSP, GRID, 40, seeds=[1, 2], scales=[1.0, 1e-3], max_sweeps=4)
    assert np.isinf(found.regrets[1]).all()
    assert found.scale == 1.0
    cut = tune(BernsteinSSP, GRID, 200, seeds=[1], scales=[1.0, 0.001], max_steps=3000)
    assert np.isinf(cut.regrets[0]).all()
    assert cut.scale == 0.001


def test_nothing_got_through() -> None:
    with pytest.raises(SettingError, match="no scale of bernstein-ssp got through all its runs; raise max_steps"):
        tune(BernsteinSSP, GRID, 50, seeds=[1], scales=[1.0], max_steps=10)


def test_other_settings_and_facts_reach_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watch(agent: ULCVI, *_: object) -> float:
        seen.append((agent.B_star, agent.T_star, agent.delta, agent.scale))
        return agent.scale

    monkeypatch.setattr(tuning, "final_regret", watch)
    tune(ULCVI, GRID, 3, seeds=[1], delta=0.2, T_star=7.0, scales=[0.5])
    assert seen == [(pytest.approx(gw.hardness(GRID).B_star), 7.0, 0.2, 0.5)]
    assert tune(ULCVI, GRID, 3, seeds=[1]).scales.tolist() == sorted(ULCVI.scales, reverse=True)


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        (PSRL, {"seeds": [1]}, "psrl has no setting called scale"),
        (VISSP, {"seeds": []}, "there are 17 scales and 0 seeds"),
        (VISSP, {"seeds": [1], "scales": []}, "there are 0 scales and 1 seeds"),
        (VISSP, {"seeds": [1], "scales": [-1.0]}, r"scale is -1\.0; it must be a positive number"),
    ],
)
def test_refusals(agent: type, options: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        tune(agent, GRID, 3, **options)  # type: ignore[arg-type]


def test_what_is_shown() -> None:
    found = Tuning("uc-ssp", 0.1, np.array([1.0, 0.1]), np.array([[30.0, 50.0], [10.0, 12.0]]))
    assert repr(found) == "Tuning(uc-ssp, scale=0.1, regret=11, scales=2)"


def test_an_error_that_is_none_of_tuning_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tuning, "run_agent", broken)
    with pytest.raises(ZeroDivisionError):
        tune(VISSP, GRID, 3, seeds=[1])
    assert issubclass(ConvergenceError, gw.GoalwardError)


def test_scales_that_are_missing() -> None:
    with pytest.raises(SettingError, match="there are 0 scales and 2 seeds"):
        tune(PSQL, GRID, 5, seeds=range(2))
    assert tune(PSQL, GRID, 5, seeds=range(2), scales=[1.0]).scale == 1.0


def test_agents_by_their_names() -> None:
    world = worlds.grid_world(2, 2)
    by_name = tune("bernstein-ssp", world, 5, seeds=[0], scales=[0.1])
    assert by_name.regrets.tolist() == tune(BernsteinSSP, world, 5, seeds=[0], scales=[0.1]).regrets.tolist()
