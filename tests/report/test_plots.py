"""Which figure `goalward plot` draws, and of what."""

import numpy as np
import pytest

from goalward import worlds
from goalward.errors import SettingError, UnknownNameError
from goalward.report.plots import plot
from goalward.results.study_results import open_results
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


def test_by_default_the_last_agent_in_the_first_grid(results):
    figure = plot(results, "grid", run=1)
    assert figure.get_suptitle() == "psrl in corridor, run 1: 10 episodes"
    assert len(figure.axes[0].texts) == 2


def test_an_agent_and_a_world_by_name(results):
    figure = plot(results, "grid", agent="uniform", world="corridor")
    assert figure.get_suptitle() == "uniform in corridor, run 0: 10 episodes"
    assert list(figure.axes[0].texts) == []


def test_causes_are_named(results):
    figure = plot(results, "causes")
    assert [panel.get_title() for panel in figure.axes] == ["drawn", "corridor"]
    assert "visits of a pair" in [text.get_text() for text in figure.legends[0].get_texts()]
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert np.sum(widths) == pytest.approx(2.0, abs=0.02)


def test_regret_and_its_axes(results):
    figure = plot(results, "regret", measure="gap_regret", axes="log")
    assert {panel.get_xscale() for panel in figure.axes} == {"log"}
    assert {panel.get_ylabel() for panel in figure.axes} == {"sum of optimality gaps"}


def test_what_cannot_be_drawn(results):
    for arguments, error, message in (
        ({"kind": "gird"}, UnknownNameError, "did you mean 'grid'"),
        ({"kind": "grid", "world": "drawn"}, SettingError, "drawn is not a grid"),
        ({"kind": "grid", "world": "corridr"}, UnknownNameError, "did you mean 'corridor'"),
        ({"kind": "grid", "agent": "psl"}, UnknownNameError, "did you mean 'psrl'"),
        ({"kind": "growth"}, SettingError, "sweeps no numeric setting"),
    ):
        with pytest.raises(error, match=message):
            plot(results, **arguments)
