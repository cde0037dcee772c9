"""The pages hang together: tables of contents name each, links lead to headings, public names are described."""

import re
from collections import Counter
from pathlib import Path

import pytest

import goalward
from goalward import agents, worlds

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def entries(page):
    """Return the pages that the tables of contents of a page name."""
    found = []
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines if not line.startswith(":")]
        if ":glob:" in lines:
            found += [path for name in names for path in page.parent.glob(f"{name}.md") if path != page]
        else:
            found += [(page.parent / f"{name}.md").resolve() for name in names]
    return found


def test_every_page_is_in_one_table_of_contents():
    named = Counter(path for page in PAGES for path in entries(page))
    assert {path for path in named if not path.is_file()} == set()
    assert [path.name for path, times in named.items() if times > 1] == []
    assert {path.relative_to(DOCS).as_posix() for path in PAGES if path not in named} == {"index.md"}


def slug(heading):
    """Return the anchor that GitHub and MyST give a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("\\", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page):
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        assert anchor in anchors(other), f"{page.name} links to {target}#{anchor}"


def test_every_public_name_is_in_the_reference():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    described = set(re.findall(r"auto(?:class|function):: goalward\.(?:\w+\.)*(\w+)$", text, re.MULTILINE))
    packages = {"__version__", "agents", "continuous", "errors", "report", "theory", "worlds"}
    assert set(goalward.__all__) - packages - {"GoalwardError"} <= described
    assert ":: goalward.errors" in text
    # The directive writes every entry of a registry.
    assert "{registered} goalward.agents" in text
    assert agents.known()
    assert "{registered} goalward.worlds" in text
    assert worlds.known()
