"""A small study that every test of this room may run, and agents that misbehave."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.workers import ThisProcess

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

HELD_STUDY = """\
name = "held"
runs = 6
episodes = 50

[[worlds]]
world = "grid-world"

[[agents]]
agent = "psrl"

[[agents]]
agent = "held_agent.py:Held"
"""

HELD_AGENT = '''
import os, threading, time
from pathlib import Path
from goalward.agents import PSRL

HOLD = Path({hold!r})

class Held(PSRL):
    """Plans as PSRL-SSP does, but waits as long as a file is there, and says so with another file."""

    def plan(self, state):
        if HOLD.exists():
            HOLD.with_name(f"waiting-{{os.getpid()}}-{{threading.get_native_id()}}").touch()
        while HOLD.exists():
            time.sleep(0.01)
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


class HeldStudy:
    """A study of twelve runs; six of them wait, wherever they are carried out, until they are released."""

    def __init__(self, folder: Path):
        self.folder, self.hold = folder, folder / "hold"
        self.hold.touch()
        (folder / "held.toml").write_text(HELD_STUDY)
        (folder / "held_agent.py").write_text(HELD_AGENT.format(hold=str(self.hold)))

    def stored(self) -> int:
        return len(list(self.folder.glob("results/runs/*/*.parquet")))

    def waiting(self) -> set[int]:
        """Return the processes in which a run waits, or waited."""
        return {int(path.name.split("-")[1]) for path in self.folder.glob("waiting-*")}

    def waiting_threads(self) -> int:
        """Return in how many threads, of all processes, a run waits, or waited."""
        return len(list(self.folder.glob("waiting-*")))

    def forget_waiting(self) -> None:
        for path in self.folder.glob("waiting-*"):
            path.unlink()

    def release(self) -> None:
        self.hold.unlink(missing_ok=True)


@pytest.fixture
def held(folder):
    """Return a study that does not end before it is released: it can be killed half-way at leisure."""
    made = HeldStudy(folder)
    yield made
    made.release()


@pytest.fixture
def write_study(folder):
    """Write a study of the small grid with some agents, given as names or ``(label, name)``."""

    def write(*agents, name="own", extra=""):
        entries = "".join(f'\n[[agents]]\nagent = "{agent}"\n' for agent in agents)
        world = '[[worlds]]\nworld = "grid-world"\nlabel = "grid"\nsettings = { rows = 2, columns = 2 }\n'
        path = folder / f"{name}.toml"
        path.write_text(f'name = "{name}"\nruns = 2\nepisodes = 5\n{extra}\n{world}{entries}')
        return Study.load(path)

    return write


@pytest.fixture
def run_here(folder):
    """Run a study in this process and return its report and its store."""

    def run(study, name="results", **settings):
        store = Store.open(folder / name, create=True)
        return run_study(study, store, ThisProcess, **settings), store

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
