"""Figures of studies are checked by what they are made of; how they look was judged by eye."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from goalward.errors import SettingError
from goalward.figures.regret import growth_figure, name_lines, regret_figure
from goalward.results.curves import band
from goalward.results.results import open_results
from goalward.results.summary import summary_table, sweep_rows
from goalward.statistics import mean_interval
from goalward.studies.study import Study
from made_up_results import cell_results, study


def test_a_panel_for_each_world_and_a_line_for_each_agent():
    cells = [cell_results(world, agent, 2.0) for world in ("one", "two") for agent in ("a", "b", "c")]
    figure = regret_figure(study(*cells))
    assert [panel.get_title() for panel in figure.axes] == ["one", "two"]
    assert [len(panel.lines) for panel in figure.axes] == [3, 3]
    assert figure.legends == []
    looks = [[(line.get_color(), line.get_linestyle()) for line in panel.lines] for panel in figure.axes]
    assert looks[0] == looks[1]
    assert len(set(looks[0])) == 3


def test_a_line_that_leaves_the_panel_moves_no_name():
    panel = Figure().subplots()
    panel.set_ylim(0.0, 100.0)
    ends = {"low": 20.0, "middle": 50.0, "guide": 300.0}
    name_lines(panel, [(name, "black", np.array([1.0]), np.array([end])) for name, end in ends.items()])
    assert [text.get_position()[1] for text in panel.texts] == pytest.approx([0.2, 0.5, 1.0])


def test_caveats_are_in_the_legend():
    cells = [cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, caveat="no theorem covers it")]
    figure = regret_figure(study(*cells))
    assert {text.get_text() for text in figure.axes[0].texts} == {"a", "b *"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["* no theorem covers it"]


def test_lines_are_means_and_bands_are_t_intervals():
    results = cell_results("one", "a", 2.0)
    points, mean, _, high = band(results, "regret", 0.9)
    line = regret_figure(study(results), level=0.9).axes[0].lines[0]
    assert line.get_xdata().tolist() == points.tolist() == list(range(1, 101))
    assert np.array_equal(line.get_ydata(), mean)
    for place in (0, 49, 99):
        expected = mean_interval(results.curves["regret"][:, place], 0.9)
        assert (mean[place], high[place] - mean[place]) == pytest.approx((expected.value, expected.half_width))


def test_lines_are_medians_and_bands_the_middle_of_the_runs():
    results = cell_results("one", "a", 2.0, runs=5)
    figure = regret_figure(study(results), level=0.5, band="median")
    panel = figure.axes[0]
    # Run r has the regret (2 + r) k: the quartiles of five such runs are those of the runs 1, 2 and 3.
    assert panel.lines[0].get_ydata().tolist() == pytest.approx((4.0 * np.arange(1, 101)).tolist())
    (outline,) = panel.collections[0].get_paths()
    at_end = outline.vertices[outline.vertices[:, 0] == 100.0, 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((300.0, 500.0))


def test_steps_are_averaged_over_blocks_of_episodes():
    results = cell_results("one", "a", 2.0, runs=1)
    steps = np.arange(100.0)[::-1]
    results.curves["steps"][:] = steps
    line = regret_figure(study(results), "steps").axes[0].lines[0]
    ends = line.get_xdata().astype(int)
    starts = [0, *ends[:-1]]
    assert 20 < len(ends) < 50
    assert ends[-1] == 100
    assert ends[-2] < 95, "the last block is as long as those before it"
    assert line.get_ydata() == pytest.approx([steps[a:b].mean() for a, b in zip(starts, ends, strict=True)])


@pytest.mark.parametrize("axes", ["linear", "log"])
def test_guides_grow_as_the_root_and_the_logarithm(axes):
    results = study(cell_results("one", "a", 2.0), cell_results("one", "b", 9.0))
    panel = regret_figure(results, axes=axes, guides=True).axes[0]
    _, _, root, logarithm = panel.lines
    x = root.get_xdata()
    assert root.get_ydata() / root.get_ydata()[-1] == pytest.approx(np.sqrt(x / x[-1]))
    assert logarithm.get_ydata() / logarithm.get_ydata()[-1] == pytest.approx(np.log1p(x) / np.log1p(x[-1]))
    assert {text.get_text() for text in panel.texts} == {"a", "b", "√K", "log K"}
    assert len(regret_figure(results, axes=axes, guides=False).axes[0].lines) == 2
    # There is no growth law for the steps of an episode.
    assert len(regret_figure(results, "steps", axes, guides=True).axes[0].lines) == 2


@pytest.mark.parametrize(("measure", "first"), [("gap_regret", 1.0), ("steps", 1.0)])
def test_lines_on_log_axes_start_together(measure, first):
    results = study(cell_results("one", "a", 2.0, cut=60), cell_results("one", "b", 1.0))
    cut, _, whole = regret_figure(results, measure, "log", guides=False).axes[0].lines
    assert cut.get_xdata()[0] == whole.get_xdata()[0] == first


def test_a_line_ends_where_its_first_run_was_cut_off():
    figure = regret_figure(study(cell_results("one", "a", 2.0, cut=60), cell_results("one", "b", 1.0)))
    cut, cross, whole = figure.axes[0].lines
    assert cut.get_xdata()[-1] == 60
    assert (cross.get_marker(), cross.get_xdata().tolist()) == ("x", [60])
    assert whole.get_xdata()[-1] == 100


def test_cells_without_runs_leave_no_line():
    empty = cell_results("one", "a", 2.0, runs=0)
    figure = regret_figure(study(empty, cell_results("one", "b", 1.0)))
    assert len(figure.axes[0].lines) == 1


@pytest.mark.parametrize("axes", ["linear", "log"])
def test_worlds_without_runs_say_so(axes):
    cells = [cell_results("one", "a", 2.0), cell_results("two", "a", 2.0, runs=0)]
    figure = regret_figure(study(*cells), axes=axes, guides=False)
    assert [[text.get_text() for text in panel.texts] for panel in figure.axes] == [["a"], ["no runs yet"]]
    figure.canvas.draw()


@pytest.mark.parametrize("axes", ["linear", "log"])
def test_infinite_regret_can_be_drawn(axes):
    lost, dead = cell_results("one", "a", 2.0), cell_results("two", "a", 2.0)
    lost.curves["gap_regret"][:, 60:] = np.inf
    dead.curves["gap_regret"][:] = np.inf
    figure = regret_figure(study(lost, dead), "gap_regret", axes)
    figure.canvas.draw()
    finite = [np.isfinite(panel.lines[0].get_ydata()) for panel in figure.axes]
    assert finite[0].tolist() == [True] * 60 + [False] * 40
    assert not finite[1].any()


def test_axes():
    for axes in ("linear", "log"):
        panel = regret_figure(study(cell_results("one", "a", 2.0)), axes=axes).axes[0]
        assert panel.get_xscale() == panel.get_yscale() == axes
    with pytest.raises(SettingError, match="axes is 'polar'; it must be 'linear' or 'log'"):
        regret_figure(study(cell_results("one", "a", 2.0)), axes="polar")


def test_growth_across_a_sweep():
    cells = [cell_results(f"grid, n {n}", "a", 5.0 * n**2, swept={"n": n}) for n in (2, 4, 8)]
    results = study(*cells)
    (row,) = sweep_rows(results, 0.95)
    assert (row.world, row.agent, row.setting, row.values) == ("grid", "a", "n", (2.0, 4.0, 8.0))
    assert row.exponent.value == pytest.approx(1.9, abs=0.15)
    panel = growth_figure(results).axes[0]
    assert panel.get_legend().get_texts()[0].get_text().startswith("a: exponent 1.9")
    assert [text.get_text() for text in panel.get_xticklabels()] == ["2", "4", "8"]
    with pytest.raises(SettingError, match="sweeps a numeric setting"):
        growth_figure(study(cell_results("grid", "a", 5.0)))


def test_growth_has_one_panel_for_a_swept_world(folder, run_here):
    worlds = [{"world": "grid-world", "sweep": {"columns": [2, 3, 4]}}]
    content = {"name": "own", "runs": 3, "episodes": 20, "worlds": worlds, "agents": [{"agent": "uniform"}]}
    _, store = run_here(Study.from_dict(content))
    results = open_results(store.folder)
    (panel,) = growth_figure(results, band="median", level=0.5).axes
    assert panel.get_title() == "grid-world"
    assert [text.get_text() for text in panel.get_xticklabels()] == ["2", "3", "4"]
    (bars,) = panel.containers
    finals = [sorted(cell.values["gap_regret"]) for cell in results.cells]
    assert bars.lines[0].get_ydata().tolist() == pytest.approx([runs[1] for runs in finals])
    ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    quartiles = [[(low + middle) / 2, (middle + high) / 2] for low, middle, high in finals]
    assert ends == pytest.approx(np.array(quartiles))


def test_growth_of_an_unfinished_sweep():
    def swept(*runs):
        return study(
            *(
                cell_results(f"grid, n {n}", "a", 5.0 * n, swept={"n": n}, runs=r)
                for n, r in zip((2, 4, 8), runs, strict=True)
            )
        )

    for runs, said, lines in (((0, 0, 0), ["no complete runs"], 0), ((4, 0, 4), [], 1)):
        results = swept(*runs)
        figure = growth_figure(results)
        panel = figure.axes[0]
        assert [text.get_text() for text in panel.texts] == said
        drawn = [line for line in panel.lines if len(line.get_xdata()) == 3 and line.get_marker() == "None"]
        assert sum(bool(np.isfinite(line.get_ydata()).all()) for line in drawn) == lines
        figure.canvas.draw()


@pytest.mark.parametrize("agents", [1, 8])
def test_legends_are_never_cut_off(agents):
    label = "psrl prior={'kind': 'dirichlet', 'concentration': 0.001} value_limit=20 perturb_costs=True and more words"
    figure = regret_figure(study(*(cell_results("one", f"{label} {n}", 1.0 + n) for n in range(agents))))
    figure.canvas.draw()
    box, page = figure.legends[0].get_window_extent(), figure.bbox
    assert 0.0 <= box.x0 < box.x1 <= page.x1
    assert 0.0 <= box.y0 < box.y1 <= page.y1
    # The panel keeps its size.
    assert figure.axes[0].get_window_extent().height > 300
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [" ".join(text.split()) for text in shown] == [f"{label} {n}" for n in range(agents)]


def test_runs_intervals_and_regime_stand_in_the_figure():
    cells = [cell_results("one", "a", 1.0), cell_results("one", "b", 2.0)]
    cells[1].cell.agent.identity["settings"] = {"scale": 1.0}
    said = regret_figure(study(*cells), level=0.9).get_suptitle()
    assert all(part in said for part in ("4 runs", "90 %", "theory"))
    cells[1].cell.agent.identity["settings"] = {"scale": 0.01}
    assert "tuned" in regret_figure(study(*cells)).get_suptitle()


def test_an_optimal_agent_has_no_regret_in_tables_and_on_logarithmic_axes(folder, run_here):
    """Rounding errors of the planner are no regret: they would stretch the axis down to 1e-14."""
    agents = [{"agent": "psrl"}, {"agent": "optimal"}]
    content = {"name": "own", "runs": 2, "episodes": 50, "worlds": [{"world": "random-mdp-v1"}], "agents": agents}
    _, store = run_here(Study.from_dict(content))
    results = open_results(store.folder)
    _, optimal = summary_table(results).rows
    assert (optimal["gap_regret"].value, optimal["gap_regret"].half_width) == (0.0, 0.0)
    assert math.isnan(optimal["exponent"].value)
    (panel,) = regret_figure(results, axes="log").axes
    assert panel.get_ylim()[0] > 1e-3
    assert {text.get_text() for text in panel.texts} == {"optimal ≤ 0", "psrl", "√K", "log K"}
