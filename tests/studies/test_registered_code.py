"""Worlds, priors and agents that users register: results of older code are never taken for those of newer code."""

import importlib.util
import sys

import pytest

import goalward as gw
from goalward.agents.base import registry as agents
from goalward.beliefs.base import registry as priors
from goalward.errors import SettingError
from goalward.studies.store import Store
from goalward.worlds import registry as worlds

WORLD = """
from goalward import SSP
from goalward.worlds import register
from own_costs import COST

@register("own-world-v0")
def own_world(seed: int = 0) -> SSP:
    '''One state, left with probability one half.'''
    return SSP.from_dense([[[0.5, 0.5]]], [[FACTOR * COST]])
"""
PRIOR = """
from goalward.beliefs.dirichlet import Dirichlet
from goalward.beliefs.base import register

@register("own-prior")
class OwnPrior(Dirichlet):
    '''A Dirichlet prior.'''
    def __init__(self, concentration: float = 0.1):
        super().__init__(FACTOR * concentration)
"""
AGENT = """
from goalward.agents import PSRL, register

@register("own-agent")
class OwnAgent(PSRL):
    '''PSRL-SSP that trusts what it has seen more.'''
    def begin(self, task, rng):
        self.sharpness = FACTOR
        super().begin(task, rng)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a module, in place of what it was before, and import it as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def forget():
        for registry in (worlds, priors, agents):
            for name in [name for name in registry.entries if name.startswith("own-")]:
                del registry.entries[name]
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]

    def write_module(name, text):
        forget()
        # Bytecode is compared by whole seconds, and these edits follow each other at once.
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        importlib.import_module(name)

    yield write_module
    forget()


def costs(study):
    """Run a study and return the costs of all episodes of its runs, as the files have them."""
    results = gw.run(study, "results", workers=1)
    store = Store.open("results")
    keys = [key for cell in results.design.cells for key in results.design.keys(cell)]
    return [store.read(key).column("cost").tolist() for key in keys]


def study(world="grid-world", agent="uniform", settings=None, **entries):
    return {
        "name": "own",
        "runs": 2,
        "episodes": 20,
        "worlds": [{"world": world, **entries}],
        "agents": [{"agent": agent, "settings": settings or {}}],
    }


@pytest.mark.parametrize("drawn", [{}, {"draw": "seed"}])
def test_an_edited_world_is_run_again(write, tmp_path, drawn):
    (tmp_path / "own_costs.py").write_text("COST = 1.0")
    write("own_world", WORLD.replace("FACTOR", "1.0"))
    first = costs(study("own-world", **drawn))
    write("own_world", WORLD.replace("FACTOR", "3.0"))
    assert costs(study("own-world", **drawn)) == [[3.0 * cost for cost in run] for run in first]
    write("own_world", WORLD.replace("FACTOR", "1.0"))
    assert costs(study("own-world", **drawn)) == first
    assert len(list(tmp_path.glob("results/runs/*/*.parquet"))) == 4


@pytest.mark.parametrize("drawn", [{}, {"draw": "seed"}])
def test_a_world_that_a_file_beside_it_changes_is_run_again(write, tmp_path, drawn):
    (tmp_path / "own_costs.py").write_text("COST = 1.0")
    write("own_world", WORLD.replace("FACTOR", "1.0"))
    first = costs(study("own-world", **drawn))
    (tmp_path / "own_costs.py").write_text("COST = 3.0")
    write("own_world", WORLD.replace("FACTOR", "1.0"))
    assert costs(study("own-world", **drawn)) == [[3.0 * cost for cost in run] for run in first]


def test_an_edited_prior_is_run_again(write):
    given = study(agent="psrl", settings={"prior": {"kind": "own-prior"}})
    write("own_prior", PRIOR.replace("FACTOR", "1.0"))
    first = costs(given)
    write("own_prior", PRIOR.replace("FACTOR", "100.0"))
    second = costs(given)
    assert first == costs(study(agent="psrl"))
    assert second == costs(study(agent="psrl", settings={"prior": {"kind": "dirichlet", "concentration": 10.0}}))
    assert first != second


def test_an_edited_prior_that_worlds_are_drawn_from_is_run_again(write):
    given = study(draw="prior", prior={"kind": "own-prior"})
    write("own_prior", PRIOR.replace("FACTOR", "1.0"))
    first = costs(given)
    write("own_prior", PRIOR.replace("FACTOR", "100.0"))
    second = costs(given)
    assert first == costs(study(draw="prior", prior="dirichlet"))
    assert second == costs(study(draw="prior", prior={"kind": "dirichlet", "concentration": 10.0}))
    assert first != second


def test_an_edited_agent_is_run_again(write):
    write("own_agent", AGENT.replace("FACTOR", "1.0"))
    first = costs(study(agent="own-agent"))
    write("own_agent", AGENT.replace("FACTOR", "50.0"))
    assert costs(study(agent="own-agent")) == costs(study(agent="psrl", settings={"sharpness": 50.0})) != first


def test_a_run_is_not_made_with_other_code_than_its_key_says(write, tmp_path):
    (tmp_path / "own_costs.py").write_text("COST = 1.0")
    write("own_world", WORLD.replace("FACTOR", "1.0"))
    read = gw.Study.from_dict(study("own-world"))
    write("own_world", WORLD.replace("FACTOR", "3.0"))
    with pytest.raises(SettingError, match="the code of own-world-v0 has changed since the study was read"):
        gw.run(read, "results", workers=1)


def test_code_without_a_text_is_new_in_every_session():
    def defined():
        namespace = {}
        exec("def build(): pass", namespace)
        return namespace["build"]

    from goalward.registry import code_digest

    assert code_digest(defined()) != code_digest(defined())
    assert code_digest(gw.worlds.grid_world) is None
    assert code_digest(study) == code_digest(costs)


FILE = """
from goalward import SSP, Dirichlet

def world(cost: float = 1.0, seed: int = 0):
    return SSP.from_dense([[[0.5, 0.5]]], [[FACTOR * cost]])

class Own(Dirichlet):
    def __init__(self, concentration: float = 0.1):
        super().__init__(FACTOR * concentration)
"""


def test_worlds_and_priors_in_files_are_hashed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prior = {"prior": {"kind": "own.py:Own", "concentration": 0.2}}
    given = study("own.py:world")
    (tmp_path / "own.py").write_text(FILE.replace("FACTOR", "1.0"))
    first, believed = costs(given), costs(study(agent="psrl", settings=prior))
    assert believed == costs(study(agent="psrl", settings={"prior": {"kind": "dirichlet", "concentration": 0.2}}))
    (tmp_path / "own.py").write_text(FILE.replace("FACTOR", "50.0"))
    assert costs(given) == [[50.0 * cost for cost in run] for run in first]
    assert costs(study(agent="psrl", settings=prior)) == costs(
        study(agent="psrl", settings={"prior": {"kind": "dirichlet", "concentration": 10.0}})
    )
    # The stored study is complete: it runs from the results folder alone, without the file.
    (tmp_path / "own.py").unlink()
    for path in (tmp_path / "results" / "studies" / "own").glob("*.toml"):
        assert gw.Study.load(path).design.reference == f"own/{path.stem}"
    shown = gw.Study.load(next((tmp_path / "results" / "studies" / "own").glob("*.toml")), execute=False)
    shown.check()
