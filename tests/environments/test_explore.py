"""Models that are built by copying an environment, against tables, hand-made models and searches of the simulator."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import pytest

import goalward as gw
from goalward.errors import ModelError, SettingError

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.spaces import Discrete  # noqa: E402


def rows_by_name(model: gw.SSP) -> dict[tuple[str, str], tuple[dict[str, float], float]]:
    """The rows and costs of all states that can be reached from the start, by names; dead ends are one state."""
    texts = model.state_names or map(str, range(model.states))
    live = model.available.any(axis=1)
    names = [*(name if live[state] else "dead end" for state, name in enumerate(texts)), "goal"]
    actions = model.action_names or list(map(str, range(model.actions)))
    found, queue, seen = {}, deque([model.initial_state]), {model.initial_state}
    while queue:
        state = queue.popleft()
        for action in range(model.actions):
            row = state * model.actions + action
            entries = slice(model.indptr[row], model.indptr[row + 1])
            successors = model.successors[entries].tolist()
            if successors:
                row_names: dict[str, float] = {}
                for successor, probability in zip(successors, model.probabilities[entries].tolist(), strict=True):
                    row_names[names[successor]] = row_names.get(names[successor], 0.0) + probability
                found[names[state], actions[action]] = row_names, float(model.costs[state, action])
            for successor in successors:
                if successor < model.states and successor not in seen:
                    seen.add(successor)
                    queue.append(successor)
    return found


@pytest.mark.parametrize(
    ("name", "options"),
    [("FrozenLake-v1", {"is_slippery": False}), ("FrozenLake8x8-v1", {"is_slippery": False}), ("CliffWalking-v1", {})],
)
def test_deterministic_tables_are_found_exactly(name: str, options: dict[str, Any]) -> None:
    env = gymnasium.make(name, **options)
    model, table = gw.explore(env), gw.from_gymnasium(gymnasium.make(name, **options))
    assert rows_by_name(model) == rows_by_name(table)
    assert gw.solve(model).values[model.initial_state] == gw.solve(table).values[table.initial_state]


def test_taxi_with_its_many_starts_is_found_exactly() -> None:
    """All but the frequencies of the first states, each of which a reset has with probability 1/300."""
    table = gw.from_gymnasium(gymnasium.make("Taxi-v4"))
    model = gw.explore(gymnasium.make("Taxi-v4"), resets=200)
    ours, theirs = rows_by_name(model), rows_by_name(table)
    starts, expected = (rows.pop(("start", "south"))[0] for rows in (ours, theirs))
    assert ours == theirs
    assert starts.keys() <= expected.keys()
    assert len(starts) > 120  # 146 on average


def test_slippery_ice_is_estimated_from_samples() -> None:
    """Each frequency of 40 samples is off by more than 0.36 with probability below 2 exp(-2 40 0.36²) = 7e-5; of
    the at most 132 frequencies one is, with probability below 0.01. The seed is fixed."""
    with pytest.raises(ModelError, match=r"different outcomes in two tries.* pass samples=100"):
        gw.explore(gymnasium.make("FrozenLake-v1"))
    model = gw.explore(gymnasium.make("FrozenLake-v1"), samples=40, seed=1)
    ours, theirs = rows_by_name(model), rows_by_name(gw.from_gymnasium("FrozenLake-v1"))
    assert ours.keys() == theirs.keys()
    for pair, (row, cost) in ours.items():
        assert row.keys() == theirs[pair][0].keys()
        assert row == pytest.approx(theirs[pair][0], abs=0.36)
        assert cost == theirs[pair][1]
    few = [gw.explore(gymnasium.make("FrozenLake-v1"), samples=5, seed=1).digest for _ in range(2)]
    assert few[0] == few[1]


class Corridor(gymnasium.Env):  # type: ignore[misc]
    """Cells 0..3, the goal is 3; the door before it opens on the second push. Jumping off ends the episode."""

    def __init__(self, hidden: bool = False) -> None:
        self.hidden = hidden
        self.action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.pushed = 0, False
        return self.observation(), {}

    def observation(self) -> Any:
        return self.cell if self.hidden else (self.cell, self.pushed)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == 2:
            return self.observation(), -5.0, True, False, {}
        if action == 0:
            self.cell = max(self.cell - 1, 0)
        elif self.cell == 2 and not self.pushed:
            self.pushed = True
        else:
            self.cell += 1
        return self.observation(), -1.0, self.cell == 3, False, {}


def goal(outcome: Any) -> bool:
    return outcome.terminated and outcome.action != 2


def test_observations_without_a_space_are_named_by_what_appears() -> None:
    env = Corridor()
    env.reset(seed=3)
    env.step(1)
    model = gw.explore(env, goal=goal)
    assert env.observation() == (1, False)  # as before
    assert gw.solve(model).values[model.initial_state] == 4.0  # 0, 1, 2, pushed, goal
    assert model.state_names is not None
    assert set(model.state_names) >= {"(0, False)", "(2, True)"}
    assert gw.structure(model).never.size  # where it jumped off
    restarts = gw.explore(env, goal=goal, give_up_cost=2.0)
    assert gw.structure(restarts).never.size == 0


def test_clone_and_restore_replace_copies() -> None:
    env = Corridor()
    env.lock = threading.Lock()  # type: ignore[attr-defined]
    env.reset()
    with pytest.raises(SettingError, match=r"Corridor cannot be copied \(TypeError: cannot pickle '_thread.lock'"):
        gw.explore(env, goal=goal)
    with pytest.raises(SettingError, match="clone and restore together"):
        gw.explore(env, goal=goal, clone=lambda env: 1)

    def restore(env: Any, snapshot: tuple[int, bool]) -> None:
        env.cell, env.pushed = snapshot

    model = gw.explore(env, goal=goal, clone=lambda env: (env.cell, env.pushed), restore=restore)
    assert rows_by_name(model) == rows_by_name(gw.explore(Corridor(), goal=goal))


def test_states_that_hide_something_are_reported() -> None:
    with pytest.raises(ModelError, match=r"different outcomes in two tries.*pass a key="):
        gw.explore(Corridor(hidden=True), goal=goal)
    env = Corridor(hidden=True)
    model = gw.explore(env, goal=goal, key=lambda observation: (observation, env.pushed))
    assert rows_by_name(model) == rows_by_name(gw.explore(Corridor(), goal=goal))


def test_what_cannot_be_explored() -> None:
    with pytest.raises(SettingError, match="has more than 3 states"):
        gw.explore(gymnasium.make("CliffWalking-v1"), max_states=3)
    with pytest.raises(ModelError, match="reached the goal, which is"):
        gw.explore(Corridor(), goal=lambda outcome: False)
    with pytest.raises(SettingError, match="samples is 0"):
        gw.explore(Corridor(), goal=goal, samples=0)


class TestMiniGrid:
    """Only where MiniGrid is installed: pip install '.[minigrid]'."""

    @pytest.fixture(params=["Empty-5x5", "Empty-8x8", "DoorKey-5x5", "DoorKey-6x6"])
    def env(self, request: pytest.FixtureRequest) -> Any:
        pytest.importorskip("minigrid", reason="MiniGrid is not installed: pip install '.[minigrid]'")
        return gymnasium.make(f"MiniGrid-{request.param}-v0")

    @staticmethod
    def key(env: Any) -> Any:
        def state(observation: Any = None) -> tuple[Any, ...]:
            bare = env.unwrapped
            things = [thing.encode() for thing in bare.grid.grid if thing is not None and thing.type in ("door", "key")]
            carried = None if bare.carrying is None else bare.carrying.type
            where = [i for i, thing in enumerate(bare.grid.grid) if thing is not None and thing.type in ("door", "key")]
            at = tuple(map(int, bare.agent_pos))
            return (*at, int(bare.agent_dir), carried, str(list(zip(where, things, strict=True))))

        return state

    def shortest(self, env: Any) -> int:
        """Search the simulator with plain sequences of actions from the seeded reset: no copies, no model."""
        key = self.key(env)
        env.reset(seed=0)
        queue: deque[tuple[int, ...]] = deque([()])
        seen = {key()}
        while True:
            path = queue.popleft()
            for action in range(6):
                env.reset(seed=0)
                for move in path:
                    env.step(move)
                _, reward, terminated, _, _ = env.step(action)
                if terminated and reward > 0:
                    return len(path) + 1
                if key() not in seen:
                    seen.add(key())
                    queue.append((*path, action))

    def test_the_optimum_is_the_shortest_path(self, env: Any) -> None:
        model = gw.explore(env, goal=lambda outcome: outcome.reward > 0, cost=1.0, key=self.key(env))
        assert gw.solve(model).values[model.initial_state] == self.shortest(env)

    def test_learning_numbers_what_appears(self) -> None:
        pytest.importorskip("minigrid", reason="MiniGrid is not installed: pip install '.[minigrid]'")
        env = gymnasium.make("MiniGrid-Empty-5x5-v0")
        world = gw.Environment(env, goal=lambda outcome: outcome.reward > 0, cost=1.0, key=self.key(env), max_states=40)
        run = gw.learn(gw.agents.PSRL(), world, 150, seed=0)
        assert run.reached[-50:].all()
        assert run.costs[-50:].mean() < 8.0  # the shortest way takes 5 steps
