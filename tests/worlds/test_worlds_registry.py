"""What every world promises, checked over the registry, and the registry itself."""

import inspect
import re

import gymnasium
import numpy as np
import pytest
from dense_oracle import best_values

import goalward as gw
import goalward.worlds.base
import goalward.worlds.grid
from goalward import SSP, worlds
from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.settings import read_settings, settings_of

SECTIONS = ["States", "Actions", "Transitions", "Costs", "Start and goal", "Known values"]


@pytest.fixture
def empty_registry(monkeypatch):
    worlds.known()
    monkeypatch.setattr(goalward.worlds.base.registry, "entries", {})


MODELS = [id for id in worlds.known() if not worlds.find(id).continuous]


@pytest.mark.parametrize("id", MODELS)
class TestEveryModel:
    def test_is_a_valid_model(self, id):
        world = worlds.make(id)
        assert SSP.from_rows(world.indptr, world.successors, world.probabilities, world.costs) == (
            world.with_initial_state(0)
        )
        assert world.layout is None or len(world.layout.cells) == world.states

    def test_is_the_same_every_time(self, id):
        assert worlds.make(id).digest == worlds.make(id).digest

    def test_survives_a_file(self, id, tmp_path):
        world = worlds.make(id)
        world.save(tmp_path / "world.npz")
        again = worlds.load(str(tmp_path / "world.npz"))
        assert again == world
        assert again.layout == world.layout
        assert again.action_names == world.action_names

    def test_the_optimal_value_is_that_of_a_linear_program_and_that_documented(self, id):
        world = worlds.make(id)
        value = best_values(world.to_dense(), world.costs)[world.initial_state]
        assert gw.solve(world).values[world.initial_state] == pytest.approx(value, rel=1e-6)
        text = inspect.getdoc(worlds.find(id).build).partition("Known values")[2].partition("V*(start)")[2]
        known = re.search(r"\d+\.\d{4}", text)
        assert known, f"the docstring of {id} lacks its known value: V*(start) = {value:.4f}"
        assert float(known[0]) == pytest.approx(value, abs=6e-5)


def test_documentation_of_worlds_has_the_sections_in_order():
    for _, world in worlds.registry:
        text = inspect.getdoc(world.build)
        titles = re.findall(r"^:([A-Z][a-z ]+): \S", text, flags=re.MULTILINE)
        # A section may be replaced by a sentence of the description: "Actions are those of GridWorld."
        assert [title for title in titles if title in SECTIONS] == [title for title in SECTIONS if title in titles]
        missing = set(SECTIONS) - set(titles)
        assert not missing or "are those of GridWorld." in text, f"the docstring of {world.id} lacks {missing}"


def test_settings_are_readable_from_text():
    for _, world in worlds.registry:
        defaults = {name: setting.default for name, setting in settings_of(world.build).items()}
        plain = {name: default for name, default in defaults.items() if "\n" not in str(default)}
        assert read_settings(f"{name}={default}" for name, default in plain.items()) == plain


@pytest.mark.parametrize(
    ("id", "digest"),
    [
        ("grid-world-v0", "9114538040df19cc"),
        ("grid-map-v0", "97b471629fbaa898"),
    ],
)
def test_worlds_do_not_move_without_a_new_version(id, digest):
    assert worlds.make(id).digest[:16] == digest


def test_random_mdp_does_not_move_without_a_new_version():
    # Not the digest: the last bit of a normalised row depends on how NumPy adds.
    world = worlds.make("random-mdp-v1", states=8, seed=5, rows="uniform")
    np.testing.assert_allclose(
        world.probabilities[:3], [0.24002164667355153, 0.2408976080049868, 0.15365073353873834], rtol=1e-14
    )
    np.testing.assert_allclose(world.costs[0], [0.3757000414797116, 0.706774204473923], rtol=1e-14)
    world = worlds.make("random-mdp-v1")
    np.testing.assert_allclose(
        world.probabilities[:3], [0.24484541283228942, 0.04894408449837829, 0.14962026219935037], rtol=1e-14
    )
    np.testing.assert_allclose(world.costs[0], [0.042345828083175, 0.8165384191173729], rtol=1e-14)


def test_an_id_without_version_is_the_newest(empty_registry):
    for version in (2, 10, 9):
        worlds.register(f"toy-v{version}")(make_toy(version))
    assert worlds.find("toy").id == "toy-v10"
    assert worlds.make("toy").states == 10
    assert worlds.make("toy-v2").states == 2
    assert worlds.known() == ("toy-v10", "toy-v2", "toy-v9")


def make_toy(version):
    def toy(states: int = version) -> SSP:
        """Toy: for this test."""
        return worlds.random_mdp(states=states)

    return toy


def test_registration_refuses_what_would_not_work(empty_registry):
    with pytest.raises(ValueError, match="'Toy' cannot name a world"):
        worlds.register("Toy")
    with pytest.raises(ValueError, match="it must end in a version: 'toy-v0'"):
        worlds.register("toy")(make_toy(1))
    worlds.register("toy-v1")(make_toy(1))
    with pytest.raises(ValueError, match="already registered"):
        worlds.register("toy-v1")
    assert worlds.known() == ("toy-v1",)


def test_near_misses_are_offered():
    with pytest.raises(UnknownNameError, match="did you mean 'grid-world'"):
        worlds.make("gridworld")
    with pytest.raises(UnknownNameError, match="no setting of grid-world-v0 is called 'row'; did you mean 'rows'"):
        worlds.make("grid-world", row=5)
    with pytest.raises(UnknownNameError, match="did you mean 'grid-world'"):
        worlds.make("grid-world-v7")


def test_load_reads_settings():
    assert worlds.load("grid-world", ["rows=5", " success = 0.9 "]) == worlds.grid_world(rows=5, success=0.9)
    assert worlds.load("random-mdp", ["rows=uniform"]) == worlds.random_mdp(rows="uniform")
    assert worlds.load("random-mdp-v1") == worlds.random_mdp()


def test_load_reads_maps(tmp_path):
    (tmp_path / "maze.txt").write_text("S.#\n..G\n")
    name = str(tmp_path / "maze.txt")
    assert worlds.load(name, ["success=0.9"]) == worlds.grid_map("S.#\n..G", success=0.9)


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (["rows"], SettingError, "expected NAME=VALUE, such as rows=5, got 'rows'"),
        (["=3"], SettingError, "expected NAME=VALUE"),
        (["rows=five"], SettingError, "rows is 'five'; it must be an integer"),
        (["rows=2.5"], SettingError, "rows is 2.5; it must be an integer"),
        (["success=high"], SettingError, "success is 'high'; it must be a number"),
        (["rows=3", "rows=4"], SettingError, "rows is set twice"),
        (["colums=3"], UnknownNameError, "did you mean 'columns'"),
    ],
)
def test_settings_that_cannot_be_read(pairs, error, message):
    with pytest.raises(error, match=message):
        worlds.load("grid-world", pairs)


def test_a_file_starts_where_it_is_told(tmp_path):
    path = tmp_path / "world.json"
    ssp = two_stops()
    ssp.save(path)
    assert worlds.load(str(path)).initial_state == 0
    assert worlds.load(str(path), ["start=1"]).initial_state == worlds.load(str(path), start="stop").initial_state == 1
    with pytest.raises(UnknownNameError, match="no state is called '2'; there are: home, stop"):
        worlds.load(str(path), start="2")
    with pytest.raises(UnknownNameError, match="no state is called 'shop'; did you mean 'stop'"):
        worlds.load(str(path), start="shop")


def two_stops():
    return SSP.from_transitions([("home", "bus", "stop", 1.0, 1.0), ("stop", "bus", "work", 1.0, 1.0)], goals=["work"])


def test_files_that_cannot_be_read(tmp_path):
    worlds.grid_world().save(tmp_path / "world.json")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00S")
    with pytest.raises(UnknownNameError, match=r"no setting of .*\.json is called 'rows'"):
        worlds.load(str(tmp_path / "world.json"), ["rows=3"])
    with pytest.raises(SettingError, match=r"\.json files have no option goal, only start; leave out goal"):
        worlds.load(str(tmp_path / "world.json"), ["goal=3"])
    with pytest.raises(SettingError, match="grid-world is a built-in world, which has its own goal; omit --goal"):
        worlds.load("grid-world", goal=["3"])
    with pytest.raises(FileError, match="No such file"):
        worlds.load(str(tmp_path / "missing.txt"))
    with pytest.raises(FileError, match="not a text file"):
        worlds.load(str(tmp_path / "bytes.txt"))
    with pytest.raises(FileError, match=r"not '\.nm'\. Convert the model with PRISM or Storm"):
        worlds.load("walk.nm")
    with pytest.raises(FileError, match=r"loaded from \.npz, .*, not '\.doc'"):
        worlds.load(str(tmp_path / "world.doc"))


@pytest.mark.parametrize(
    ("id", "settings"),
    [
        ("grid-world", {"rows": 10**9, "columns": 2}),
        ("four-rooms", {"side": 10**5}),
        ("maze", {"rows": 10**9}),
        ("random-mdp", {"states": 10**6}),
        ("river-swim", {"states": 10**6}),
        ("combination-lock", {"length": 10**6}),
        ("traps", {"length": 10**6}),
        ("needle", {"states": 10**6}),
        ("layers", {"depth": 10**6}),
        ("clusters", {"blocks": 10**6}),
        ("sparse-mdp", {"states": 10**10}),
    ],
)
def test_worlds_that_no_memory_holds_are_refused_at_once(id, settings):
    with pytest.raises(SettingError, match=r"GB of memory, but this machine has \d|at most 2147483647 are allowed"):
        worlds.make(id, **settings)


def test_an_id_of_gymnasium_is_an_environment_and_its_table_a_model():
    lake = worlds.load_world("FrozenLake-v1", ["is_slippery=false"], give_up_cost="5")
    assert (lake.environment.unwrapped.spec.id, lake.task(3).give_up) == ("FrozenLake-v1", 4)
    bare = gw.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert worlds.load("FrozenLake-v1", ["is_slippery=false"]) == bare
    assert worlds.load("FrozenLake-v1", ["is_slippery=false"], give_up_cost=5.0) == bare.with_give_up(5.0)
    inner = worlds.load("goalward.environments:goalward/GridWorld-v0", ["rows=2"])
    assert inner == worlds.grid_world(rows=2)
    with pytest.raises(SettingError, match="the goal of Blackjack-v1 is not known"):
        worlds.load_world("Blackjack-v1")
    with pytest.raises(SettingError, match="Blackjack-v1 has no table"):
        worlds.load("Blackjack-v1", goal="1.0")
    with pytest.raises(UnknownNameError, match=r"is called 'Taxi-v9'; did you mean 'Taxi-v4'\?"):
        worlds.load_world("Taxi-v9")
    with pytest.raises(SettingError, match="nowhere:Taxi-v4 needs nowhere: install it"):
        worlds.load_world("nowhere:Taxi-v4")
    with pytest.raises(SettingError, match=r"Gymnasium cannot make Taxi-v4: .*wheels"):
        worlds.load_world("Taxi-v4", ["wheels=4"])


OWN = """
import goalward as gw

def map(size: int = 2):
    return gw.worlds.grid_world(size, size)

def lake(**settings):
    import gymnasium
    return gymnasium.make("FrozenLake-v1", **settings)

def told():
    return gw.Environment(lake(), give_up_cost=7.0)

def wrong():
    return 1 / 0

def needs(size): return size
number = 3
"""


def test_a_function_in_a_file_returns_a_model_an_environment_or_a_world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    assert worlds.load_world("own.py:map", ["size=3"]) == worlds.grid_world(3, 3)
    assert worlds.load_world("own.py:map", give_up_cost=4.0) == worlds.grid_world(2, 2).with_give_up(4.0)
    assert worlds.load_world("own.py:lake", give_up_cost=3.0).task(1).costs[5, -1] == 3.0
    assert worlds.load_world("own.py:told").task(1).costs[5, -1] == 7.0
    assert worlds.load("own.py:lake") == gw.from_gymnasium("FrozenLake-v1")
    assert worlds.find("own.py:map").family == "map"
    for name, options, message in [
        ("told", {"goal": "1.0"}, "told is a world that defines its goal and costs itself; omit goal"),
        ("map", {"goal": "1.0"}, "map is a model; omit goal"),
        ("map", {"settings": ["size=a"]}, "size is 'a'; it must be an integer"),
        ("wrong", {}, r"the world wrong cannot be created .*own.py, line 15: ZeroDivisionError: division by zero"),
        ("needs", {}, "the world needs cannot be created .TypeError: needs.. missing 1 required"),
        ("number", {}, "number in own.py is not a class or a function"),
        ("mop", {}, "no class or function in own.py is called 'mop'; did you mean 'map'?"),
    ]:
        with pytest.raises(GoalwardError, match=message):
            worlds.load_world(f"own.py:{name}", **options)
