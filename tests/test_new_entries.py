"""What is added in one file and still needs a line in a second place: a message names the file to edit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from goalward.agents import registry as agents
from goalward.beliefs.base import registry as priors
from goalward.figures import registry as figures
from goalward.results.export import COLUMNS
from goalward.results.measures import MEASURES
from goalward.worlds import registry as worlds

ROOT = Path(__file__).parent.parent
PAGES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))}
NAMES = {
    "world": worlds.known(),
    "agent": agents.known(),
    "prior": priors.known(),
    "figure": figures.known(),
    "column": [statistic.name for measure in MEASURES for statistic in measure.statistics],
    "column of goalward export": list(COLUMNS),
}


def mentions(text: str, name: str) -> bool:
    """Whether a page has a name in code, between backticks or in an indented command, or as a heading."""
    short = re.escape(re.sub(r"-v\d+$", "", name))
    return re.search(rf"(`[^`\n]*|^    .*|^#+ )(?<![\w-]){short}(-v\d+)?(?![\w-])", text, re.MULTILINE) is not None


def test_what_is_registered_is_documented() -> None:
    to_do = []
    for kind, names in NAMES.items():
        home = max(PAGES, key=lambda page: sum(mentions(PAGES[page], name) for name in names))
        for name in names:
            if not any(mentions(text, name) for text in PAGES.values()):
                to_do.append(f"the {kind} {name} is not documented: add it to {home.relative_to(ROOT)}")
    assert not to_do, "\n".join(to_do)


@pytest.mark.parametrize("package", ["agents", "beliefs", "cli", "continuous", "figures", "worlds"])
def test_modules_with_entries_are_listed(package: str) -> None:
    """Only listed modules are imported, so an entry in any other module does not exist for users."""
    folder = ROOT / "src/goalward" / package
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    imports = re.findall(r"^ *from (\S+) import (.*)$", text, re.MULTILINE)
    listed = set(re.findall(r"\w+", " ".join(f"{module} {names}" for module, names in imports)))
    adding = re.compile(r"^@(register|figure|app\.command)\b", re.MULTILINE)
    entries = [path for path in folder.rglob("*.py") if adding.search(path.read_text(encoding="utf-8"))]
    assert entries
    missing = [path.name for path in entries if path.stem not in listed and path.stem != "__init__"]
    assert not missing, f"list {', '.join(missing)} in src/goalward/{package}/__init__.py"


def test_every_agent_for_tables_has_a_golden_run() -> None:
    recorded = json.loads((ROOT / "tests/agents/golden_runs.json").read_text(encoding="utf-8"))["runs"]
    for name, agent in agents:
        known = agent.continuous or any(re.split(", | in ", key)[0] == name for key in recorded)
        assert known, f"no run of {name} is recorded: run python tests/agents/golden_runs.py, see its first lines"
