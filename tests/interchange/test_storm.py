"""Storm and goalward read each other's files and agree on what they hold.

The files in samples/ were made by Storm 1.13 with `storm_peer.py`, with its answers beside them. Where .venv-peers has
stormpy (make .venv-peers/.installed), Storm builds the same models anew, and reads what goalward writes.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalward import SSP, solve, worlds
from goalward.planning.solve import solve_all
from strategies import random_model

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"
PEER = HERE.parents[1] / ".venv-peers" / "bin" / "python"
needs_storm = pytest.mark.skipif(not PEER.exists(), reason="stormpy is not there: make .venv-peers/.installed")


def values_of(answer: dict[str, Any]) -> np.ndarray:
    """Return Storm's values at the states that are no goals."""
    values = [np.inf if value is None else value for value in answer["values"]]
    return np.delete(values, answer["goals"])


def peer(*arguments: object) -> Any:
    done = subprocess.run(
        [PEER, HERE / "storm_peer.py", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def agrees(ssp: SSP, answer: dict[str, Any]) -> bool:
    # Storm is asked for nine digits, which it gives for decision processes and not for chains.
    return bool(np.allclose(solve_all(ssp, 1e-9).values, values_of(answer), rtol=1e-6, atol=1e-9))


@pytest.mark.parametrize(
    "path", sorted(path for path in SAMPLES.iterdir() if path.suffix in (".umb", ".drn")), ids=lambda path: path.name
)
def test_samples_have_the_values_that_storm_found(path: Path) -> None:
    answer = json.loads((SAMPLES / f"{path.stem.split('-')[0]}.json").read_text())
    assert agrees(SSP.load(path, cost="cost"), answer)


def test_what_a_sample_says() -> None:
    ssp = SSP.load(SAMPLES / "walk-named.drn", cost="cost")
    assert ssp.state_names == ("x=1", "x=0", "x=2", "x=3")
    assert ssp.action_names == ("left", "right", "")
    assert ssp.costs.tolist() == [[1, 2, np.inf], [np.inf, np.inf, 3], [1, 2, np.inf], [1, 2, np.inf]]
    assert ssp.initial_state == 0
    timed = SSP.load(SAMPLES / "walk.umb", cost="time", start=2)
    assert (timed.initial_state, timed.state_names, timed.action_names) == (2, None, None)
    assert timed.costs.tolist() == [[1, 1], [1, np.inf], [1, 1], [1, 1]]


def test_names_of_states_are_the_values_of_variables() -> None:
    ssp = SSP.load(SAMPLES / "slope-named-xz.umb", start="lost=false,x=1,y=-1")
    assert ssp.state_names is not None
    assert ssp.state_names[:3] == ("lost=false,x=0,y=0", "lost=false,x=1,y=0", "lost=false,x=0,y=-1")
    assert ssp.state_name(ssp.initial_state) == "lost=false,x=1,y=-1"
    assert ssp.action_names == ("ahead", "climb", "creep", "sink", "wait")


def test_choices_of_one_label_are_told_apart_by_position() -> None:
    for name in ("twice-named.drn", "twice-named-xz.umb"):
        ssp = SSP.load(SAMPLES / name)
        assert (ssp.actions, ssp.action_names, ssp.state_names) == (2, None, ("s=2", "s=1", "s=0"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Any]]:
    """Build every PRISM text with Storm; return the files it writes with its answers."""
    folder = tmp_path_factory.mktemp("exported")
    answers = {path.stem: peer("export", path, folder) for path in sorted(SAMPLES.glob("*.prism"))}
    files = [path for path in sorted(folder.iterdir()) if path.suffix in (".umb", ".drn")]
    return {path: answers[path.stem.split("-")[0]] for path in files}


@needs_storm
def test_what_storm_exports_is_read_with_the_same_values(exported: dict[Path, dict[str, Any]]) -> None:
    assert len(exported) == 25
    for path, answer in exported.items():
        assert agrees(SSP.load(path, cost="cost"), answer), path.name


@needs_storm
@pytest.mark.parametrize("ending", [".umb", ".drn"])
def test_what_goalward_writes_is_read_by_storm_with_the_same_values(tmp_path: Path, ending: str) -> None:
    named = SSP.from_transitions(
        [
            ("at home", "take the bus", "on the way", 0.75, 2.0),
            ("at home", "take the bus", "at home", 0.25, 2.0),
            ("at home", "walk\n", "work", 1.0, 10.0),
            ("on the way", "walk_", "work", 1 / 3, 0.1),
            ("on the way", "walk_", "at home", 2 / 3, 0.1),
            ("pit", "walk_", "pit", 1.0, 0.0),
            ("on the way", "jump", "pit", 0.5, 0.0),
            ("on the way", "jump", "work", 0.5, 0.0),
        ],
        goals=["work"],
        initial_state="on the way",
    )
    lonely = SSP.from_dense([[[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], [[0.0] * 3] * 2], [[1.0, 7.0], [1.0, 1.0]])
    models = [
        named,
        lonely,
        worlds.grid_world(),
        worlds.load("random-mdp"),
        random_model(3, states=60, actions=3, successors=4, goal=0.1),
        *(SSP.load(SAMPLES / name) for name in ("free.umb", "slope.drn", "twice-named.drn", "chain.umb")),
    ]
    paths = [tmp_path / f"{number}{ending}" for number in range(len(models))]
    for ssp, path in zip(models, paths, strict=True):
        ssp.save(path)
    for ssp, path, answer in zip(models, paths, peer("check", *paths), strict=True):
        assert agrees(ssp, answer), path.name
        assert agrees(SSP.load(path), answer), path.name


@needs_storm
def test_storm_finds_the_same_largest_probability_of_reaching_the_goal(tmp_path: Path) -> None:
    """Random models in which every action may be the last, and a loop that decides nothing."""
    paths, found = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        S, A = 40, 3
        P = np.zeros((S, A, S + 1))
        for pair in np.ndindex(S, A):
            P[pair][rng.choice(np.arange(1, S + 1), 3, replace=False)] = rng.dirichlet(np.ones(3)) * 0.98
            P[pair][0] = 0.02
        P[0], P[0, :, 0] = 0.0, 1.0
        P[5, 0], P[6, 0] = np.eye(S + 1)[6], np.eye(S + 1)[5]
        ssp = SSP.from_dense(P, np.ones((S, A)), 7, normalize=True)
        paths.append(tmp_path / f"{seed}.umb")
        ssp.save(paths[-1])
        found.append(solve(ssp, 1e-9, goal_first=True).goal_probability)
    for mine, answer in zip(found, peer("reach", *paths), strict=True):
        np.testing.assert_allclose(mine, values_of(answer), rtol=1e-7)
        assert 0.0 < mine[7] < 1.0
