"""Code and console sessions in README, the pages of docs/ and docstrings are executed; links and paths exist."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

from goalward.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


SOURCES = sorted((ROOT / "src" / "goalward").rglob("*.py"))


def blocks(page, language, prompt):
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in found if block.startswith(prompt)]


def examples(page):
    return blocks(page, "python", ">>> ")


def sessions(page):
    return blocks(page, "console", "$ goalward ")


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples may write results
    text = "\n".join(examples(page))
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    printed = []
    outcome = doctest.DocTestRunner().run(example, out=printed.append)
    assert outcome.attempted
    assert not outcome.failed, "".join(printed)


def module_of(path):
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


WITH_EXAMPLES = [module_of(path) for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=lambda page: page.name)
def test_console_examples(page, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for block in sessions(page):
        command, _, expected = block.partition("\n")
        with pytest.raises(SystemExit):
            main(command.removeprefix("$ goalward ").split())
        assert capsys.readouterr().out == expected


def test_links_and_named_files_are_there():
    """Paths are those of the repository or, shorter, those of the package."""
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        links = [target for target in re.findall(r"\]\(([^)#]+)", text) if not target.startswith("https://")]
        missing += [f"{page.name} links to {target}" for target in links if not (page.parent / target).exists()]
        for path in re.findall(r"(?<![\w/.])[a-z][\w-]*(?:/[\w-]+)+\.(?:py|toml)\b", text):
            if not any((folder / path).is_file() for folder in (ROOT, ROOT / "src" / "goalward")):
                missing.append(f"{page.name} names {path}")
    assert missing == []
