"""Which figure `goalward plot` draws, and of what."""

import dataclasses
import pickle

import numpy as np
import pytest

import goalward as gw
from goalward import figures, worlds
from goalward.errors import SettingError, UnknownNameError
from goalward.figures import figure, plot
from goalward.figures.drawing import new_figure
from goalward.results.results import open_results
from goalward.studies.study import Study

STUDY = """
name = "mixed"
runs = 2
episodes = 10
[[worlds]]
world = "random-mdp"
label = "drawn"
[[worlds]]
world = "corridor.npz"
label = "corridor"
[[agents]]
agent = "uniform"
[[agents]]
agent = "psrl"
"""


@pytest.fixture
def results(folder, run_here):
    """Return results of a world without a layout and of a grid that comes from a file."""
    worlds.grid_world(1, 3).save(folder / "corridor.npz")
    (folder / "mixed.toml").write_text(STUDY)
    _, store = run_here(Study.load(folder / "mixed.toml"))
    (folder / "corridor.npz").unlink()
    return open_results(store.folder)


CONTINUOUS = """
name = "hills"
runs = 1
episodes = 1
max_steps = 5_000
[[worlds]]
world = "navigation"
[[agents]]
agent = "aggregated-psrl"
settings = { cells = 4 }
"""


@pytest.fixture
def continuous(folder, run_here):
    """Return results of a world without a finite model."""
    (folder / "hills.toml").write_text(CONTINUOUS)
    _, store = run_here(Study.load(folder / "hills.toml"), name="hills")
    return open_results(store.folder)


def test_regret_and_its_axes(results):
    figure = plot(results, "regret", measure="gap_regret", axes="log")
    assert {panel.get_xscale() for panel in figure.axes} == {"log"}
    assert {panel.get_ylabel() for panel in figure.axes} == {"gap regret"}


def test_figures_can_be_pickled(results):
    figure = pickle.loads(pickle.dumps(plot(results)))
    assert len(figure.axes) >= 2


def test_a_single_run():
    run = gw.learn(gw.agents.PSRL(), worlds.make("river-swim"), 30, seed=0)
    (axes,) = plot(run).axes
    assert [line.get_ydata()[-1] for line in axes.lines] == [run.regret[-1], run.gap_regret[-1]]
    with pytest.raises(SettingError, match="leave out the kind"):
        plot(run, "growth")


def test_a_single_run_without_a_model_shows_its_costs():
    env = gw.to_gymnasium(worlds.grid_world())
    run = gw.learn(gw.agents.PSRL(), gw.from_gymnasium(env), 20, seed=0)
    run = dataclasses.replace(run, optimal_value=np.nan)
    (axes,) = plot(run).axes
    each, average = (line.get_ydata() for line in axes.lines)
    assert each.tolist() == run.costs.tolist()
    assert average[-1] == pytest.approx(run.costs.mean())


def test_worlds_without_a_finite_model(continuous):
    (panel,) = plot(continuous).axes
    assert (panel.get_ylabel(), len(panel.texts)) == ("cost of the episode", 1)
    (panel,) = plot(continuous, measure="regret").axes
    assert [text.get_text() for text in panel.texts] == ["V* is not known: no regret"]


def test_a_figure_is_one_function(results, monkeypatch):
    """Its name, its description and its settings are known from then on."""
    monkeypatch.setattr(figures.registry, "entries", dict(figures.registry.entries))

    @figure("levels")
    def levels_figure(results, level=0.95):
        """Draw nothing but the level."""
        drawn = new_figure(2.0, 1.0)
        drawn.suptitle(f"{len(results.cells)} cells, {level}")
        return drawn

    assert plot(results, "levels", level=0.5).get_suptitle() == "4 cells, 0.5"
    assert "levels" in figures.registry.known()
    with pytest.raises(UnknownNameError, match="no setting of levels is called 'run'"):
        plot(results, "levels", run=1)


def test_what_cannot_be_drawn(results):
    for arguments, error, message in (
        ({"kind": "regert"}, UnknownNameError, "did you mean 'regret'"),
        ({"measure": "x"}, SettingError, "measure is 'x'; it must be one of regret, gap_regret, cost, steps"),
        ({"level": "x"}, SettingError, "level is 'x'; it must be a number between 0 and 1"),
        ({"kind": "growth", "level": "x"}, SettingError, "level is 'x'; it must be a number between 0 and 1"),
        ({"results": "results"}, SettingError, "got 'results'"),
        ({"kind": "growth"}, SettingError, "sweeps a numeric setting"),
    ):
        with pytest.raises(error, match=message):
            plot(**{"results": results} | arguments)
