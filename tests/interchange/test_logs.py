"""What a log says: the posterior of a pen-and-paper world, logs of real runs, and logs that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import stats

import goalward as gw
from goalward.errors import CostError, FileError, GoalwardError, SettingError

HEADER = "episode,step,state,action,cost,next_state\n"
LOG = """1,0,home,bus,1,stop
1,1,stop,wait,2,home
1,2,home,walk,5,work
2,1,stop,wait,4,work
2,0,home,bus,1,stop
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def test_a_log_becomes_counts_costs_and_names(path: Path) -> None:
    path.write_text(HEADER + LOG)
    estimate = gw.learn_from(path, goal="work")
    mean = estimate.mean
    assert (mean.state_names, mean.action_names, mean.initial_state) == (("home", "stop"), ("bus", "wait", "walk"), 0)
    assert mean.costs.tolist() == [[1, np.inf, 5], [np.inf, 3, np.inf]]
    assert estimate.visits.tolist() == [[2, 0, 1], [0, 2, 0]]
    # Dirichlet parameters 0.1 + n over home, stop and work.
    assert mean.row(0, 0)[1] == pytest.approx(np.array([0.1, 2.1, 0.1]) / 2.3)
    assert mean.row(1, 1)[1] == pytest.approx(np.array([1.1, 0.1, 1.1]) / 2.3)
    assert (estimate.solution.values == gw.solve(mean).values).all()
    assert (estimate.policy == estimate.solution.policy).all()
    assert estimate.value == estimate.solution.values[0]
    assert repr(estimate).startswith("LogEstimate(states=2, actions=3, steps=5, value=")


def test_every_way_in_says_the_same(path: Path) -> None:
    path.write_text(HEADER + LOG)
    rows = [line.split(",") for line in LOG.splitlines()]
    columns: dict[str, Any] = {"episode": [int(row[0]) for row in rows], "step": [int(row[1]) for row in rows]}
    columns |= {"cost": [float(row[4]) for row in rows]}
    columns |= {name: [row[at] for row in rows] for name, at in (("state", 2), ("action", 3), ("next_state", 5))}
    parquet.write_table(pa.table(columns), path.with_suffix(".parquet"))
    first = gw.learn_from(path, goal="work")
    for other in (columns, pa.table(columns), path.with_suffix(".parquet"), str(path)):
        assert gw.learn_from(other, goal="work").mean == first.mean


def test_the_interval_is_that_of_the_posterior() -> None:
    """One state, one action: the cost is c / p with p beta distributed, so its quantiles are known."""
    log = {"state": ["s"] * 10, "action": ["a"] * 10, "cost": [2.0] * 10, "next_state": ["s"] * 3 + ["goal"] * 7}
    estimate = gw.learn_from(log, samples=2000, level=0.8, seed=3)
    posterior = stats.beta(7.1, 3.1)
    low, high = estimate.interval
    # The probabilities below the two ends are 0.1 and 0.9, up to the noise of 2000 draws.
    assert posterior.sf(2.0 / low) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 2000))
    assert posterior.sf(2.0 / high) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 2000))
    assert estimate.value == pytest.approx(2.0 / (7.1 / 10.2))


def test_the_interval_shrinks_around_the_truth() -> None:
    world = gw.worlds.grid_world()
    rng = np.random.default_rng(0)
    optimal = gw.solve(world)
    widths = []
    for steps in (3_000, 30_000):
        states, actions, next_states = [], [], []
        state = world.initial_state
        for _ in range(steps):
            action = int(rng.integers(world.actions))
            successors, probabilities = world.row(state, action)
            after = int(rng.choice(successors, p=probabilities))
            states.append(state)
            actions.append(action)
            next_states.append(after)
            state = world.initial_state if after == world.goal else after
        log = {"state": states, "action": actions, "cost": np.ones(steps), "next_state": next_states}
        estimate = gw.learn_from(log, goal=world.goal)
        start = optimal.values[world.initial_state]
        low, high = estimate.interval
        assert low < start * 1.1
        assert high > start * 0.95
        widths.append(high - low)
    assert widths[1] < 0.5 * widths[0]
    assert (estimate.policy[estimate.mean.initial_state]) >= 0


def test_the_same_seed_gives_the_same_interval(path: Path) -> None:
    path.write_text(HEADER + LOG)
    assert gw.learn_from(path, goal="work").interval == gw.learn_from(path, goal="work").interval
    assert gw.learn_from(path, goal="work").interval != gw.learn_from(path, goal="work", seed=1).interval


def test_a_support_of_what_was_seen(path: Path) -> None:
    path.write_text(HEADER + LOG)
    estimate = gw.learn_from(path, goal="work", support="logged")
    assert estimate.mean.row(0, 0)[0].tolist() == [1]
    assert estimate.mean.row(1, 1)[1] == pytest.approx(np.array([1.1, 1.1]) / 2.2)


def test_another_prior(path: Path) -> None:
    path.write_text(HEADER + LOG)
    estimate = gw.learn_from(path, goal="work", prior=gw.Dirichlet(1.0))
    assert estimate.mean.row(0, 0)[1] == pytest.approx(np.array([1.0, 3.0, 1.0]) / 5.0)
    with pytest.raises(SettingError, match="support is only for the default prior; leave out support"):
        gw.learn_from(path, goal="work", prior=gw.Dirichlet(1.0), support="logged")


def test_unfinished_episodes_are_refused_or_left_out(path: Path) -> None:
    """The pit is reached and never left; without it, the bridge leads nowhere, and so does the road to it."""
    path.write_text(HEADER + LOG + "3,0,home,jump,1,bridge\n3,1,bridge,fall,1,pit\n")
    message = r"row 8 .*leads to 'pit', where no action was ever played \(1 such steps\); name this state as a goal"
    with pytest.raises(FileError, match=message):
        gw.learn_from(path, goal="work")
    estimate = gw.learn_from(path, goal="work", drop_unfinished=True)
    assert (estimate.left_out, estimate.mean.state_names) == (2, ("home", "stop"))
    assert estimate.mean.action_names == ("bus", "wait", "walk")
    assert gw.learn_from(path, goal=["work", "pit"]).mean.states == 3


def test_the_start_can_be_named(path: Path) -> None:
    path.write_text(HEADER + LOG)
    assert gw.learn_from(path, goal="work", start="stop").mean.initial_state == 1


def test_columns_of_episodes_may_be_absent(path: Path) -> None:
    path.write_text("state,action,cost,next_state\n" + "".join(f"{line[4:]}\n" for line in LOG.splitlines()))
    assert gw.learn_from(path, goal="work").visits.sum() == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,home,walk,5,work\n", "step in row 7 .*does not continue the step in row 4"),
        ("1,3,home,walk,5,work\n", "step in row 7 .*does not continue the step in"),
        ("3,0,home,bus,1,stop\n3,1,home,bus,1,stop\n", "row 8 .*does not continue the step in"),
        ("3,0,work,walk,1,home\n", "the step in row 7 .*starts in the goal, where episodes end"),
        ("3,0,home,walk,-1,work\n", "the step in row 7 .*has cost -1; costs must be finite and not negative"),
        ("3,0,home,walk,inf,work\n", "the step in row 7 .*has cost inf"),
        ("3,0,,walk,1,work\n", "there is no state in row 7"),
        ("3,zero,home,walk,1,work\n", "Row #7: .* invalid value 'zero'"),
    ],
)
def test_logs_that_are_wrong(path: Path, line: str, message: str) -> None:
    path.write_text(HEADER + LOG + line)
    with pytest.raises(FileError, match=f"^{path}: .*{message}"):
        gw.learn_from(path, goal="work")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no state is called goal; pass goal="),
        ({"goal": "wrok"}, "no state is called 'wrok'; did you mean 'work'"),
        ({"goal": "work", "start": "hime"}, "no state with a logged action is called 'hime'; did you mean 'home'"),
        ({"goal": "work", "support": "seen"}, "support is 'seen'; it must be 'all' or 'logged'"),
        ({"goal": "work", "samples": 1}, "samples is 1; it must be an integer of at least 2"),
        ({"goal": "work", "level": 1.0}, "level is 1.0; it must be a number between 0 and 1, both excluded"),
        ({"goal": "work", "seed": -1}, "seed is -1"),
    ],
)
def test_choices_that_do_not_fit(path: Path, options: dict[str, Any], message: str) -> None:
    path.write_text(HEADER + LOG)
    with pytest.raises(GoalwardError, match=message):
        gw.learn_from(path, **options)


def test_a_log_that_never_reaches_the_goal(path: Path) -> None:
    path.write_text(HEADER + "1,0,home,bus,1,stop\n1,1,stop,wait,1,home\n")
    with pytest.raises(FileError, match=r"the step in row 2 .*starts in the goal"):
        gw.learn_from(path, goal="home")
    with pytest.raises(FileError, match="no state is called 'far'"):
        gw.learn_from(path, goal="far")
    path.write_text(HEADER + "1,0,home,bus,1,stop\n2,0,far,walk,1,work\n")
    estimate = gw.learn_from(path, goal="work", drop_unfinished=True)
    assert estimate.mean.state_names == ("far",)


def test_faults_of_a_log_in_memory_are_named_by_row() -> None:
    log = {"state": ["a", "b"], "action": ["x", "x"], "cost": [1.0, -1.0], "next_state": ["b", "goal"]}
    with pytest.raises(CostError, match=r"^the step in row 1 \(counted from 0\) has cost -1"):
        gw.learn_from(log)
