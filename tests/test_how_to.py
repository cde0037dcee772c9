"""The pages on writing an algorithm, a prior and a world: an empty file, `file.py:Name` in a study, a figure."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def execute(page: str) -> dict[str, object]:
    """Execute the cells of a page in the working directory; return the last value of every cell, by its expression."""
    names: dict[str, object] = {"__name__": "__main__"}
    values: dict[str, object] = {}
    for cell in CELL.findall((PAGES / page).read_text(encoding="utf-8")):
        if cell.startswith("%%writefile "):
            first, _, text = cell.partition("\n")
            Path(first.split()[1]).write_text(text, encoding="utf-8")
            continue
        *body, last = cell.rstrip().split("\n")
        if last.startswith((" ", "}", "]", ")")) or " = " in last:
            exec(cell, names)
        else:
            exec("\n".join(body), names)
            values[last] = eval(last, names)  # noqa: S307
    return names | values


@pytest.fixture
def page_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("my_agent", "my_prior", "my_world"):
        monkeypatch.delitem(sys.modules, module, raising=False)


@pytest.mark.usefixtures("page_folder")
def test_an_algorithm() -> None:
    values = execute("write-an-agent.md")
    assert isinstance(values["gw.plot(results)"], Figure)
    assert isinstance(values["gw.plot(report)"], Figure)
    assert {row["agent"] for row in values["results"].runs()} == {"psrl", "doubling only"}  # type: ignore[attr-defined]


@pytest.mark.usefixtures("page_folder")
def test_a_prior() -> None:
    """Three exact tests at 0.001 together: wrong with probability 0.001 if the belief is right."""
    values = execute("write-a-prior.md")
    assert isinstance(values["gw.plot(results)"], Figure)
    tests = values["gw"].theory.agreement(values["sampled"], values["true"], ["a", "b", "c"])  # type: ignore[attr-defined]
    assert min(test.p for test in tests) > 0.001 / 3
    summary = {row["agent"]: row["gap_regret"] for row in values["results"].summary()}  # type: ignore[attr-defined]
    assert summary["near successors"] < summary["every successor alike"]


@pytest.mark.usefixtures("page_folder")
def test_a_world() -> None:
    values = execute("write-a-world.md")
    assert isinstance(values['gw.plot(results, "growth")'], Figure)
    lengths = {cell.cell.world.swept["length"] for cell in values["results"].cells}  # type: ignore[attr-defined]
    assert lengths == {3, 6, 12}
