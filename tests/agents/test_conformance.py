"""What holds for every agent of the registry: a new one is tested by being registered."""

from __future__ import annotations

import functools
import itertools
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from epoch_rows import epoch_rows
from goalward import SSP, agents, learn, worlds
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.learning.run import Run
from goalward.settings import settings_of
from sample_environments import ModelEnvironment

WORLD = worlds.grid_world(2, 3)
OTHER = worlds.random_mdp(states=8, seed=5, rows="uniform")
# The start leads to the last state before the goal, or into a dead end.
PIT = SSP.from_rows([0, 2, 3, 4], [1, 2, 3, 2], [0.5, 0.5, 1.0, 1.0], np.ones((3, 1)))
EPISODES = 25
LIMIT = 20_000


def unavailable_actions() -> SSP:
    """Return a random model in which some actions are unavailable, one in each state but one."""
    rng = np.random.default_rng(0)
    P, costs = rng.dirichlet(np.ones(6), size=(5, 3)), rng.uniform(0.1, 1.0, (5, 3))
    P[[0, 1, 3, 4], [1, 2, 0, 1]] = 0.0
    return SSP.from_dense(P, costs)


HUGE = unavailable_actions().with_costs(np.where(unavailable_actions().available, 1e300, np.inf))


def run_of(name: str, world: SSP, seed: int = 0, **options: object) -> Run:
    settings = {"rescale": True} if world is HUGE and "rescale" in settings_of(agents.find(name)) else {}
    agent = agents.find(name).from_world(world, episodes=EPISODES, **settings)
    return learn(agent, world, EPISODES, seed, max_steps=LIMIT, keep_steps=True, **options)  # type: ignore[arg-type]


@functools.cache
def first_run(name: str, world: SSP) -> Run:
    """The run with seed 0, made once for all tests."""
    return run_of(name, world)


def same(one: Run, other: Run) -> bool:
    assert one.trajectory is not None
    assert other.trajectory is not None
    columns = zip(one.trajectory, other.trajectory, strict=True)
    return all(np.array_equal(a, b) for a, b in columns) and epoch_rows(one.epochs) == epoch_rows(other.epochs)


@pytest.mark.parametrize("name", [name for name in agents.known() if not agents.find(name).continuous])
class TestEveryAgent:
    """Over the registry."""

    @pytest.mark.parametrize("world", [WORLD, OTHER])
    def test_run(self, name: str, world: SSP) -> None:
        run = first_run(name, world)
        assert not run.truncated
        assert len(run.costs) == EPISODES
        assert run.total_steps == run.epochs.steps.sum()
        assert run.epochs.goals.sum() == EPISODES
        np.testing.assert_array_equal(run.epochs.start_step[1:], np.cumsum(run.epochs.steps)[:-1])

    def test_seeds_matter(self, name: str) -> None:
        assert not same(first_run(name, WORLD), run_of(name, WORLD, seed=1))

    def test_stepwise_is_the_same(self, name: str) -> None:
        agent = agents.find(name).from_world(WORLD, episodes=EPISODES)
        stepwise = learn(agent, ModelEnvironment(WORLD), EPISODES, 0, max_steps=LIMIT, keep_steps=True)
        assert same(first_run(name, WORLD), stepwise)

    def test_same_seed_same_bits_and_the_agent_given_is_not_changed(self, name: str) -> None:
        agent = agents.find(name).from_world(WORLD, episodes=EPISODES)
        before = vars(agent).copy()
        again = learn(agent, WORLD, EPISODES, 0, max_steps=LIMIT, keep_steps=True)
        assert vars(agent) == before
        assert same(first_run(name, WORLD), again)
        # Neither does what an earlier run learnt come back.
        assert same(again, learn(again.agent, WORLD, EPISODES, 0, max_steps=LIMIT, keep_steps=True))

    def test_settings_are_plain(self, name: str) -> None:
        agent = agents.find(name).from_world(WORLD, episodes=EPISODES)
        assert json.loads(json.dumps(agent.settings())) == agent.settings()
        assert agent.name == name
        assert set(agent.given) == set(agent.needs)

    @pytest.mark.parametrize(
        "world",
        [WORLD, OTHER, unavailable_actions(), WORLD.with_give_up(0.5), PIT.with_give_up(0.5), HUGE],
        ids=["grid", "random", "unavailable", "give-up", "dead end", "huge costs"],
    )
    def test_save_and_load(self, name: str, world: SSP, tmp_path: Path) -> None:
        """A loaded agent resumes with the same bits as the agent that was saved.

        In the random world rows have more successors than the counts have room for at first.
        """
        run = first_run(name, world)
        agents.save(run.agent, tmp_path / "agent.npz")
        loaded = agents.load(tmp_path / "agent.npz")
        assert loaded.settings() == run.agent.settings()
        options = {"max_steps": LIMIT, "keep_steps": True, "resume": True}
        went_on = learn(run.agent, world, EPISODES, 9, **options)  # type: ignore[arg-type]
        resumed = learn(loaded, world, EPISODES, 9, **options)  # type: ignore[arg-type]
        assert same(went_on, resumed)

    def test_unknown_setting(self, name: str) -> None:
        with pytest.raises(UnknownNameError, match=f"setting of {name} is called 'colour'"):
            agents.find(name).from_world(WORLD, episodes=EPISODES, colour=1)


def test_unknown_agent() -> None:
    with pytest.raises(UnknownNameError, match="no agent is called 'prsl'; did you mean 'psrl'"):
        agents.make("prsl")


def test_missing_setting() -> None:
    with pytest.raises(SettingError, match=r"optimal needs model, a fact .*Optimal\.from_world"):
        agents.make("optimal")


def test_near_miss_of_a_setting() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'value_limit'"):
        agents.make("psrl", value_limits=3.0)


def test_luck_is_shared_between_agents() -> None:
    """Uniform and optimal play differently; where they play the same pair at the same step, the same happens."""
    uniform, optimal = run_of("uniform", WORLD), run_of("optimal", WORLD)
    assert uniform.trajectory is not None
    assert optimal.trajectory is not None
    length = min(uniform.total_steps, optimal.total_steps)
    a, b = uniform.trajectory.part(0, length), optimal.trajectory.part(0, length)
    equal = (a.states == b.states) & (a.actions == b.actions)
    assert equal.sum() > 5
    np.testing.assert_array_equal(a.next_states[equal], b.next_states[equal])


class TestSavedFiles:
    """Files that are not what they should be."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        agents.save(run_of("psrl", WORLD).agent, tmp_path / "agent.npz")
        return tmp_path / "agent.npz"

    def test_truncated(self, path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(FileError, match="damaged, or not a goalward file"):
            agents.load(path)

    def test_every_flipped_byte_is_noticed(self, path: Path) -> None:
        """Flip a byte at many places: the file is refused, or what is read is what was written."""
        good = path.read_bytes()
        expected = agents.load(path).to_state()
        refused = 0
        # The directory at the end of the archive and the opening of each array hold what readers stumble over.
        places = {*range(0, len(good), 41), *range(len(good) - 900, len(good), 2)}
        for place, bit in itertools.product(sorted(places), (0x01, 0x10)):
            path.write_bytes(good[:place] + bytes([good[place] ^ bit]) + good[place + 1 :])
            try:
                found = agents.load(path).to_state()
            except FileError:
                refused += 1
                continue
            np.testing.assert_array_equal(found["visits"], expected["visits"])
            np.testing.assert_array_equal(found["belief"]["counts"], expected["belief"]["counts"])
        assert refused > 10

    @pytest.mark.parametrize(
        "opening", [b"{'descr': '<i8', 'shape': (3,", b"{'descr': '<i8'", b"{'descr' \\", b"((((("]
    )
    def test_broken_opening_of_an_array(self, path: Path, opening: bytes) -> None:
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        array = content["learnt.visits.npy"]
        length = int.from_bytes(array[8:10], "little")
        content["learnt.visits.npy"] = array[:10] + opening.ljust(length) + array[10 + length :]
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
        with pytest.raises(FileError, match="damaged, or not a goalward file"):
            agents.load(path)

    def test_tampered(self, path: Path) -> None:
        with np.load(path) as archive:
            content = {name: archive[name] for name in archive.files}
        content["learnt.visits"] = content["learnt.visits"] + 1
        np.savez(path, **content)
        with pytest.raises(FileError, match="does not match its checksum"):
            agents.load(path)

    def test_foreign(self, path: Path, tmp_path: Path) -> None:
        path.write_text("hello")
        with pytest.raises(FileError, match="damaged, or not a goalward file"):
            agents.load(path)
        WORLD.save(tmp_path / "world.npz")
        with pytest.raises(FileError, match=r"has the format 'goalward-ssp'; expected 'goalward-agent'"):
            agents.load(tmp_path / "world.npz")
        with pytest.raises(FileError, match="No such file"):
            agents.load(tmp_path / "nothing.npz")

    def test_version(self, path: Path) -> None:
        with np.load(path) as archive:
            content = {name: archive[name] for name in archive.files}
        header = json.loads(str(content["header"]))
        content["header"] = np.array(json.dumps(header | {"version": 99}))
        np.savez(path, **content)
        with pytest.raises(FileError, match="format version 99; this goalward reads version 1"):
            agents.load(path)

    def test_pickles_are_not_opened(self, path: Path) -> None:
        with np.load(path) as archive:
            content = {name: archive[name] for name in archive.files}
        content["learnt.visits"] = np.array([{"a": 1}], dtype=object)
        np.savez(path, **content)
        with pytest.raises(FileError, match="damaged"):
            agents.load(path)

    def test_unwritable(self, path: Path) -> None:
        with pytest.raises(FileError, match="cannot be written"):
            agents.save(agents.load(path), path / "no" / "folder.npz")

    def test_a_failed_write_leaves_the_old_file(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = path.read_bytes()
        agent = agents.load(path)

        def full(*args: object, **arrays: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("goalward.files.os.replace", full)
        with pytest.raises(FileError, match="No space left"):
            agents.save(agent, path)
        assert path.read_bytes() == before
        assert [entry.name for entry in path.parent.iterdir()] == ["agent.npz"]

    def test_not_learnt(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match=r"has not learnt anything yet; .* save run\.agent"):
            agents.save(agents.make("psrl"), tmp_path / "agent.npz")


UNCOMPILED = """
import hashlib
import numpy as np
import goalward as gw

rng = np.random.default_rng(0)
P, costs = rng.dirichlet(np.ones(6), size=(5, 3)), rng.uniform(0.1, 1.0, (5, 3))
P[[0, 1, 3, 4], [1, 2, 0, 1]] = 0.0  # actions that are not available
world = gw.SSP.from_dense(P, costs)
for name in [name for name in gw.agents.known() if not gw.agents.find(name).continuous]:
    agent = gw.agents.find(name).from_world(world, episodes=6)
    run = gw.learn(agent, world, 6, seed=0, max_steps=300, keep_steps=True)
    content = b"".join(column.tobytes() for column in (*run.trajectory, run.gaps))
    print(name, len(run.epochs), hashlib.sha256(content).hexdigest())
for prior in (gw.Dirichlet(0.3), gw.Dirichlet(0.1, support=world), gw.Neighbourhoods()):
    belief = prior.belief(gw.agents.Task.of(world, 5))
    print(belief.sample(np.random.default_rng(1)).digest, belief.mean().digest)
"""


def test_uncompiled_agents_give_the_same_bits_where_actions_are_not_available(run_python) -> None:  # type: ignore[no-untyped-def]
    found = run_python(UNCOMPILED)
    assert len(found.splitlines()) == sum(not agents.find(name).continuous for name in agents.known()) + 3
    assert run_python(UNCOMPILED, NUMBA_DISABLE_JIT="1") == found
