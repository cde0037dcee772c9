"""What comes with goalward runs: the studies, the example of an agent of one's own."""

import runpy
from pathlib import Path

import pytest

from goalward import learn, worlds
from goalward.errors import FileError, UnknownNameError
from goalward.results.results import load_results
from goalward.results.summary import summary_tables
from goalward.studies import study as shipped
from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study, find_study, shipped_folder, shipped_studies
from goalward.studies.workers import ThisProcess

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "studies").glob("*.toml"))


def small(path, **changes):
    """Return a study with fewer runs and episodes."""
    return Study.load(path).replace(**{"runs": 2, "episodes": 5} | changes)


@pytest.mark.parametrize("name", NAMES)
def test_every_study_is_right_and_named_like_its_file(name):
    study = Study.load(name)
    study.check()
    assert study.design.name == name
    assert study.spec.description


@pytest.mark.parametrize("name", ["bayesian-regret", "growth", "paper-theory", "paper-tuned", "paper-instances"])
def test_the_studies_of_the_paper_run(name, tmp_path):
    study = small(name)
    store = Store.open(tmp_path, create=True)
    report = run_study(study, store, ThisProcess)
    assert report.complete, report.failures
    tables = summary_tables(load_results(store, study.design))
    assert len(tables[0]) == len(study.design.cells)
    assert (len(tables) == 2) == (name == "growth")


def test_where_the_studies_are(monkeypatch, tmp_path):
    installed = Path(shipped.__file__).parent / "shipped"  # a wheel has them there, a checkout does not
    folder = installed if installed.is_dir() else ROOT / "studies"
    assert shipped_folder() == folder
    assert [spec.name for spec in shipped_studies()] == NAMES
    assert find_study("growth") == folder / "growth.toml"
    assert find_study("./growth") == Path("growth")
    with pytest.raises(UnknownNameError, match="did you mean 'growth'"):
        find_study("grwth")
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "a" / "b" / "goalward" / "studies" / "study.py"))
    with pytest.raises(FileError, match="the studies shipped with goalward are not installed"):
        shipped_folder()


def test_the_example_of_an_agent_learns(tmp_path):
    study = small(ROOT / "examples" / "my_study.toml", episodes=300)
    store = Store.open(tmp_path, create=True)
    assert run_study(study, store, ThisProcess).complete
    results = load_results(store, study.design)
    example, psrl = results.cells
    assert (example.cell.agent.label, psrl.cell.agent.label) == ("EpsilonGreedy", "psrl")
    # It learns: the second half of the episodes costs a fraction of what the uniformly random policy would, 36 each.
    curves = example.curves["gap_regret"]
    middle = int((example.points <= 150).sum()) - 1
    assert ((curves[:, -1] - curves[:, middle]) / 150 < 9.0).all()


@pytest.mark.parametrize("world", ["four-rooms", "river-swim", "maze"])
def test_the_example_of_an_agent_finds_far_goals(world):
    agent = runpy.run_path(str(ROOT / "examples" / "my_agent.py"))["EpsilonGreedy"]()
    assert len(learn(agent, worlds.load(world), 50, max_steps=20_000).costs) == 50


def test_the_example_of_an_agent_learns_where_actions_are_unavailable():
    agent = runpy.run_path(str(ROOT / "examples" / "my_agent.py"))["EpsilonGreedy"]()
    run = learn(agent, worlds.grid_map("S.O\n..G").with_give_up(20.0), 20)
    assert len(run.costs) == 20
