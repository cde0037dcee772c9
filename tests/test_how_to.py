"""The how-to pages, word for word: cells of notebooks, files with captions, and commands in ``sh`` blocks."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from goalward.cli import main

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


def execute(page: str) -> dict[str, object]:
    """Execute the cells of a page in the working directory; return the last value of every cell, by its expression."""
    names: dict[str, object] = {"__name__": "__main__"}
    values: dict[str, object] = {}
    for cell in CELL.findall(text_of(page)):
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
    for module in ("my_agent", "my_env", "my_prior", "my_world"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def commands_of(page: Path) -> list[str]:
    """Return the command lines of the ``sh`` blocks; a line that ends in a backslash goes on in the next one."""
    text = "\n".join(COMMANDS.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]


WITH_COMMANDS = [page for page in sorted(PAGES.glob("*.md")) if commands_of(page)]


@pytest.mark.usefixtures("page_folder")
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command of a page succeeds, one after the other, in a folder with the files that the page shows."""
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        Path(name).write_text(text, encoding="utf-8")
    for command in commands_of(page):
        program, *arguments = shlex.split(command, comments=True)
        assert program == "goalward"
        with pytest.raises(SystemExit) as done:
            main(arguments)
        assert done.value.code in (0, None), f"{command}\n{capsys.readouterr().err}"


def test_most_pages_have_commands() -> None:
    assert len(WITH_COMMANDS) >= 8


@pytest.mark.usefixtures("page_folder")
def test_an_agent() -> None:
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
