"""Verbs on Gymnasium environments and on users' own files."""

import json

import pytest

import goalward as gw

OWN = '''
import gymnasium
from goalward.agents import PSRL

closed = []

class Lake(gymnasium.Wrapper):
    """A lake that does not say where its goal is."""
    def __init__(self, fails_after=10**9):
        super().__init__(gymnasium.make("FrozenLake-v1", is_slippery=False))
        self.left = fails_after

    def step(self, action):
        self.left -= 1
        if not self.left:
            raise RuntimeError("out of ice")
        return self.env.step(action)

    def close(self):
        print("closed")
        super().close()

class Corridor:
    """Three rooms in a row, without a class or a space of Gymnasium."""
    action_space = 2

    def reset(self, *, seed=None):
        self.room = 0
        return self.room, {}

    def step(self, action):
        self.room = max(self.room + (1 if action else -1), 0)
        return self.room, -1.0, self.room == 3, False, {}

class Forgetful(PSRL):
    """Plans as PSRL-SSP does, until it does not."""
    patience: int = 3
    def observe(self, steps):
        if self.patience == 0:
            raise KeyError("gone")
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)


def test_an_environment_is_learnt_through_its_steps(call):
    code, out, err = call(
        "learn", "FrozenLake-v1", "--set", "is_slippery=false", "--give-up-cost", "10", "--episodes", "40", "--format",
        "json",
    )  # fmt: skip
    assert code == 0, err
    import gymnasium

    lake = gw.Environment(gymnasium.make("FrozenLake-v1", is_slippery=False), give_up_cost=10.0)
    expected = gw.learn(gw.agents.PSRL(), lake, 40)
    assert json.loads(out)["curve"][-1]["cost"] == expected.costs.sum()
    assert json.loads(out)["run"]["steps"] == expected.total_steps


def test_a_page_is_made_in_the_model_of_a_table(call, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = call("watch", "FrozenLake-v1", "--give-up-cost", "20", "--episodes", "20", "--out", page)
    assert (code, "psrl: 20 episodes" in out) == (0, True), err
    assert page.exists()


def test_a_file_is_learnt_with_rules_and_closed(call, own):
    code, out, _ = call(
        "learn", "own.py:Lake", "--goal", "1.0", "--cost", "2", "--give-up-cost", "5", "--episodes", "9"
    )
    assert (code, out.startswith("closed\npsrl in own.py:Lake, seed 0")) == (0, True)
    code, _, err = call("learn", "own.py:Lake", "--goal", "trminated")
    assert (code, err) == (2, "goalward: no rule for goals is called 'trminated'; did you mean 'terminated'?\n")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["own.py:Lake", "--set", "fails_after=20", "--goal", "1.0", "--give-up-cost", "5"], "line 16: RuntimeError"),
        (["grid-world", "--agent", "own.py:Forgetful", "--agent-set", "patience=0"], "line 40: KeyError: 'gone'"),
    ],
)  # fmt: skip
def test_errors_in_users_files_are_theirs(call, own, arguments, place):
    code, _, err = call("learn", *arguments)
    assert (code, "a bug in goalward" in err) == (2, False)
    assert f"own.py, {place}" in err


def test_list_shows_the_settings_of_a_class_in_a_file(call, own):
    code, out, _ = call("list", "agents", "own.py:Forgetful")
    assert (code, "patience" in out) == (0, True)
    code, out, _ = call("list", "worlds", "own.py:Lake")
    assert (code, "fails_after" in out) == (0, True)


def test_run_shows_a_study_as_json_without_executing_files(call, own, tmp_path):
    (tmp_path / "own.py").write_text(OWN + "\nraise SystemExit('executed')\n")
    study = (
        'name = "own"\n[[worlds]]\nworld = "own.py:Lake"\ngoal = 1\ngive_up_cost = 5.0\n[[agents]]\nagent = "psrl"\n'
    )
    (tmp_path / "own.toml").write_text(study)
    code, out, err = call("run", "own.toml", "--show", "--format", "json")
    assert code == 0, err
    assert json.loads(err or out)["worlds"][0] | {"code": ""} == {
        "world": "own.py:Lake", "label": "Lake", "settings": {}, "goal": 1.0, "give_up_cost": 5.0, "code": "",
    }  # fmt: skip


def test_results_of_an_environment_are_drawn_and_compared_by_cost(call, own, tmp_path):
    """There is no regret without a model."""
    agents = "".join(f'[[agents]]\nagent = "{name}"\n' for name in ("psrl", "uniform"))
    study = f'name = "own"\nruns = 3\nepisodes = 20\n[[worlds]]\nworld = "own.py:Corridor"\n{agents}'
    (tmp_path / "own.toml").write_text(study)
    assert call("run", "own.toml", "--workers", "1")[0] == 0
    for axes in ("linear", "log"):
        code, out, err = call("plot", "results/own", "--axes", axes, "--out", f"{axes}.svg")
        assert (code, (tmp_path / f"{axes}.svg").exists()) == (0, True), err
    code, out, err = call("summary", "results/own", "--compare", "psrl", "uniform", "--format", "json")
    assert (code, json.loads(out)["comparison"][0]["measure"]) == (0, "cost"), err
    assert json.loads(out)["comparison"][0]["first_lower"] == 3


@pytest.mark.parametrize("verb", ["show", "solve"])
def test_an_environment_of_no_library_has_no_table(call, own, verb):
    code, _, err = call(verb, "own.py:Corridor")
    assert (code, "has no table of transitions" in err) == (2, True), err
