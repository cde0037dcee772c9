"""A small study that every test of this room may run, and agents that misbehave."""

from __future__ import annotations

import pytest

from goalward.execution.pools import InProcess
from goalward.execution.runner import run_study
from goalward.results.store import Store
from goalward.studies.study import load

STUDY = """\
name = "small"
runs = 3
episodes = 30

[[worlds]]
world = "grid-world"
settings = { rows = 2, columns = 2 }
label = "grid"

[[worlds]]
world = "random-mdp"
settings = { states = 3 }
label = "drawn"
draw = "seed"

[[agents]]
agent = "uniform"

[[agents]]
agent = "psrl"
"""

SLOW_STUDY = """\
name = "slow"
runs = 6
episodes = 400

[[worlds]]
world = "grid-world"

[[agents]]
agent = "psrl"

[[agents]]
agent = "slow_agent.py:Slow"
"""

SLOW_AGENT = '''
import time
from goalward.agents import PSRL

class Slow(PSRL):
    """Takes its time: almost a second for a run of 400 episodes."""

    def plan(self, state):
        time.sleep(0.015)
        return super().plan(state)
'''

# Every class does in its own way what the agents of users may do.
AGENTS = '''
import os, signal, sys
from dataclasses import dataclass
import numpy as np
from goalward.agents import Agent, Plan

@dataclass(eq=False)
class Plain(Agent):
    """Plays the first action."""
    action: int = 0
    def plan(self, state):
        return Plan(np.full(self.task.states, self.action), stop_after_goals=1)
    def observe(self, steps):
        pass

class Raises(Plain):
    def plan(self, state):
        raise ValueError("no idea")

class Leaves(Plain):
    def plan(self, state):
        sys.exit(3)

class Kills(Plain):
    def plan(self, state):
        os.kill(os.getpid(), signal.SIGKILL)

class NoAgent:
    pass
'''


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the small study and the misbehaving agents."""
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "agents.py").write_text(AGENTS)
    return tmp_path


@pytest.fixture
def slow(folder):
    """Return a folder with a study that takes long enough to be killed half-way."""
    (folder / "slow.toml").write_text(SLOW_STUDY)
    (folder / "slow_agent.py").write_text(SLOW_AGENT)
    return folder


@pytest.fixture
def write_study(folder):
    """Write a study of the small grid with some agents, given as names or ``(label, name)``."""

    def write(*agents, name="own", extra=""):
        entries = "".join(f'\n[[agents]]\nagent = "{agent}"\n' for agent in agents)
        world = '[[worlds]]\nworld = "grid-world"\nlabel = "grid"\nsettings = { rows = 2, columns = 2 }\n'
        path = folder / f"{name}.toml"
        path.write_text(f'name = "{name}"\nruns = 2\nepisodes = 5\n{extra}\n{world}{entries}')
        return load(path)

    return write


@pytest.fixture
def run_here(folder):
    """Run a study in this process and return its report and its store."""

    def run(study, name="results", **settings):
        store = Store.open(folder / name, create=True)
        return run_study(study, store, InProcess, **settings), store

    return run


@pytest.fixture
def digests():
    """Return what each run of a study is, as the hash of its data, by its place in the study."""

    def read(store, name=None):
        design = store.design(name)
        return {
            (cell.world.label, cell.agent.label, run): store.read(key).document["data_sha256"]
            for cell in design.cells
            for run, key in enumerate(design.keys(cell))
        }

    return read
