from dataclasses import replace

from goalward.report.paper_values import PUBLISHED, published_table
from goalward.results.summary import summarise
from made_up_results import cell_results, study


def test_the_published_values_stand_beside_ours():
    cell = cell_results("GridWorld", "ULCVI", 2.0)
    assert published_table(summarise(study(cell)), "theory") is None
    long = replace(cell, cell=replace(cell.cell, episodes=10_000))
    text = published_table(summarise(study(long)), "theory")
    assert text.splitlines()[-1].split()[:2] == ["GridWorld", "ULCVI"]
    assert text.endswith("361,000")
    assert set(PUBLISHED["theory"]) == set(PUBLISHED["tuned"])
