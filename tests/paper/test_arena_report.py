"""The arena in text, Markdown, plain data and a figure."""

from __future__ import annotations

import json

import pytest

from goalward.json_documents import json_text
from goalward.paper.arena_files import publish_arena
from goalward.paper.arena_text import arena_document, arena_markdown, arena_text
from goalward.paper.ratios import Ratios, compare_all
from made_up_results import cell_results, study


@pytest.fixture
def ratios() -> Ratios:
    cells = [cell_results(world, "base", 8.5) for world in ("one", "two")]
    cells += [cell_results("one", "a|b", 3.5, caveat="no theorem"), cell_results("two", "cut", 8.5, cut=50)]
    return compare_all(
        study(*cells), "base", refusals={("two", "a|b"): "costs above 1", ("one", "cut"): "costs above 1"}
    )


def test_text(ratios: Ratios) -> None:
    text = arena_text(ratios)
    assert "2 worlds: gap regret after 100 episodes relative to base, mean of 4 runs with 95 % intervals" in text
    assert "2 a|b *" in text
    assert "0.50 [" in text
    assert "refused" in text
    assert "a|b refuses two: costs above 1" in text
    assert "a|b: no theorem" in text
    assert "3 cut" in text
    assert ">0." in text
    assert "what they had paid by then" in text


def test_markdown_and_plain_data(ratios: Ratios) -> None:
    text = arena_markdown(ratios, "my|arena")
    assert "my|arena" not in text
    assert all(line.count(" | ") == text.splitlines()[6].count(" | ") for line in text.splitlines()[6:11])
    document = json.loads(json_text(arena_document(ratios)))
    assert document["groups"][""]["worlds"] == ["one", "two"]
    assert document["groups"][""]["agents"][0]["agent"] == "a|b"
    assert [cell["refusal"] for cell in document["cells"] if cell["refusal"]] == ["costs above 1"] * 2


def test_files(ratios: Ratios, tmp_path) -> None:
    written = publish_arena(ratios, tmp_path, "arena")
    assert sorted(path.name for path in written) == ["arena.csv", "arena.md"]
    assert all(path.stat().st_size > 100 for path in written)
    assert (tmp_path / "arena.csv").read_text().startswith("world,agent,tail,cut_off,failed,missing,cpu,refusal,ratio")
