"""One run by itself, and an agent that goes on."""

from pathlib import Path

import pytest

from goalward import agents, learn, worlds
from goalward.agents import agent_file
from goalward.cli.learn import run_once
from goalward.errors import SettingError
from goalward.seeds import run_seed


def test_it_is_the_run_of_learn() -> None:
    found = run_once("grid-world", ["rows=2"], agent_settings=["value_limit=9.0"], episodes=30, seed=7)
    expected = learn(agents.PSRL(value_limit=9.0), worlds.grid_world(2), 30, 7)
    assert (found.origin["world"], found.run.costs.tolist()) == ("grid-world", expected.costs.tolist())
    assert found.origin == {"world": "grid-world", "settings": ["rows=2"], "rules": {}, "seed": 7, "episodes": 30}
    assert found.seconds > 0.0


def test_a_kept_agent_goes_on_with_new_luck(tmp_path: Path) -> None:
    first = run_once("grid-world", ["rows=2"], episodes=30, seed=7)
    agent_file.save(first.run.agent, tmp_path / "kept.npz", first.origin)
    second = run_once(None, episodes=20, resume=tmp_path / "kept.npz")
    seed = run_seed(7, "resume", 30)
    expected = learn(first.run.agent, worlds.grid_world(2), 20, seed, resume=True)
    assert (second.run.seed, second.run.costs.tolist()) == (seed, expected.costs.tolist())
    assert second.origin == {"world": "grid-world", "settings": ["rows=2"], "rules": {}, "seed": 7, "episodes": 50}


def test_a_watch_ends_the_run() -> None:
    seen: list[tuple[int, int]] = []

    def watch(done: int, steps: int) -> bool:
        seen.append((done, steps))
        return len(seen) < 2

    found = run_once("grid-world", episodes=10**6, watch=watch)
    assert len(seen) == 2
    assert found.run.truncated


def test_no_world() -> None:
    with pytest.raises(SettingError, match="no world is given"):
        run_once(None)
