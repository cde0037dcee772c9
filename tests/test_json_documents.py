"""Plain data for other programs, and texts in files."""

import json
import math

import pytest

from goalward.errors import FileError
from goalward.json_documents import json_text, write_text


def test_json_has_null_for_what_it_cannot_hold():
    document = {"a": [1.0, math.inf, (math.nan, "x")], "b": {"c": -math.inf, "d": True, "e": None}}
    assert json.loads(json_text(document)) == {"a": [1.0, None, [None, "x"]], "b": {"c": None, "d": True, "e": None}}


def test_texts_that_cannot_be_written(tmp_path):
    write_text(tmp_path / "new" / "file.csv", "x")
    assert (tmp_path / "new" / "file.csv").read_text() == "x"
    with pytest.raises(FileError, match="choose a place that can be written"):
        write_text(tmp_path / "new", "x")
