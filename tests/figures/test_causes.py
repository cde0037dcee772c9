"""Bars of causes are checked by what they are made of."""

import pytest

from goalward.figures.causes import draw_shares, shown_shares


def test_small_causes_become_one():
    assert shown_shares({"a": 1.0, "b": 3.0}) == {"a": 0.25, "b": 0.75}
    assert shown_shares({"a": 0.0}) == {}
    small = shown_shares({"a": 1000.0, **{f"c{n}": 4.0 for n in range(3)}})
    assert list(small) == ["a", "something else"]
    assert sum(small.values()) == pytest.approx(1.0)


def test_bars_are_shares_with_their_sum_beside_them():
    figure = draw_shares({"one": {"x": {"a": 1.0, "b": 3.0}, "y": {"b": 2.0}}, "two": {"x": {"c": 0.0}}})
    assert [panel.get_title() for panel in figure.axes] == ["one", "two"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    bars = figure.axes[0].patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0.0, 0.25), (0.25, 0.75), (0.0, 1.0)]
    assert bars[1].get_facecolor() == bars[2].get_facecolor() != bars[0].get_facecolor()
    assert [text.get_text() for text in figure.axes[0].texts] == ["4", "2"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["x", "y"]
