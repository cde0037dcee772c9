"""Tables of texts."""

import pytest

from goalward.formatting import markdown_text
from goalward.text_tables import columns, markdown_table


def test_columns_line_up_without_trailing_blanks():
    text = columns([("a", "1", "x"), ("long", "23", "")], right=[1])
    assert text == "  a       1   x\n  long   23"


def test_only_the_named_columns_are_aligned_at_the_right():
    """Columns 1 and 2 stay at the left although 12 is written with their digits."""
    rows = [tuple("abcdefghijklm"), ("xx",) * 13]
    assert markdown_table(rows, right=[12]).splitlines()[1] == "| " + "--- | " * 12 + "---: |"
    assert columns(rows, right=[12], indent="").splitlines()[0] == "    ".join("abcdefghijkl") + "     m"


def test_rows_of_different_lengths_are_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        columns([("a", "b"), ("c",)])


def test_markdown_aligns_numbers_at_the_right():
    rows = markdown_table([("name", "count"), ("a", "1")], right=[1]).splitlines()
    assert rows == ["| name | count |", "| --- | ---: |", "| a | 1 |"]


def test_markup_is_escaped():
    assert markdown_text(r"a|b*c_d<e\f") == r"a\|b\*c\_d&lt;e\\f"
