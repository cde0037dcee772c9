"""Styles of lines, and figures in files."""

from importlib import resources

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from goalward.errors import FileError, SettingError
from goalward.figures.drawing import figure_files, new_figure, save_figure
from goalward.figures.styles import COLOURS, DARK_COLOURS, agent_styles, line_style


def test_styles_do_not_repeat_soon():
    styles = [line_style(number) for number in range(35)]
    assert len({(style.colour, style.dashes) for style in styles}) == 35


def test_an_agent_looks_the_same_in_every_study():
    alone = agent_styles([("PSRL-SSP", "psrl")])["PSRL-SSP"]
    others = [("a", "ulcvi"), ("b", "mine"), ("PSRL-SSP", "psrl"), ("c", "psrl")]
    styles = agent_styles(others)
    assert styles["PSRL-SSP"] == alone
    assert len({style.colour for style in styles.values()}) == 4
    assert agent_styles([("b", "mine")])["b"] == agent_styles([("b", "other")])["b"]


def test_many_agents_have_as_many_styles():
    styles = agent_styles([(f"agent {number}", "psrl") for number in range(35)])
    assert len(set(styles.values())) == 35
    assert len({style.colour for style in list(styles.values())[:7]}) == 7


@pytest.mark.parametrize("colours", [COLOURS, DARK_COLOURS])
def test_colours_stay_apart_for_the_colour_blind(colours):
    # Linear RGB to the cones, one kind missing, back (Viénot, Brettel and Mollon 1999); luminance is kept. Neighbours
    # in the order of use must differ visibly for protanopes and deuteranopes.
    to_cones = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    missing = {
        "protan": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
        "deutan": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
    }
    linear = np.array([to_rgb(colour) for colour in colours]) ** 2.2
    for matrix in missing.values():
        seen = (linear @ to_cones.T @ matrix.T @ np.linalg.inv(to_cones).T).clip(0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, np.newaxis] - seen, axis=2)[np.triu_indices(len(colours), 1)]
        assert apart.min() > 0.1


def luminance(colour):
    """Return the relative luminance of a colour (WCAG 2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(
    ("colours", "grounds"), [(COLOURS, ["#ffffff", "#f7f6f3"]), (DARK_COLOURS, ["#202024", "#17171a"])]
)
def test_colours_stand_out_from_the_page(colours, grounds):
    style = (resources.files("goalward.pages") / "style.css").read_text(encoding="utf-8")
    for ground in grounds:
        assert ground in style
        for colour in colours:
            low, high = sorted((luminance(colour), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 3.0, colour


@pytest.fixture
def figure():
    figure = new_figure(2.0, 1.0)
    figure.subplots().plot([0.0, 1.0], [0.0, 1.0])
    return figure


def test_files_are_the_same_each_time(tmp_path, figure):
    for name in ("first", "second"):
        save_figure(figure, figure_files(tmp_path / name))
    for ending, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        content = (tmp_path / f"first.{ending}").read_bytes()
        assert content.startswith(magic)
        assert content == (tmp_path / f"second.{ending}").read_bytes()


def test_endings_that_are_no_formats(tmp_path):
    with pytest.raises(SettingError, match=r"y\.bmp: .* use the ending \.png or \.pdf or \.svg\. Without"):
        figure_files(tmp_path / "y.bmp")


def test_a_picture_has_the_format_of_its_ending(tmp_path, figure):
    for name, magic in (("x.pdf", b"%PDF"), ("x.svg", b"<?xml"), ("x.PNG", b"\x89PNG")):
        save_figure(figure, [tmp_path / name])
        assert (tmp_path / name).read_bytes().startswith(magic)


def test_files_that_cannot_be_written(tmp_path, figure):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        save_figure(figure, [tmp_path / "file" / "figure.png"])
