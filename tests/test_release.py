"""What a release says of itself agrees."""

import re
from collections.abc import Callable
from pathlib import Path

import goalward

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    changes = re.findall(
        r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert cited is not None
    assert cited[1] == changes[0] == goalward.__version__


def test_every_extra_is_described() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    part = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", part, re.MULTILINE)
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert extras
    assert [name for name in extras if f"\n| `{name}` |" not in page] == []


WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("gymnasium", "dask", "distributed"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import goalward
goalward.Study.load("paper-theory").check()
print(len(goalward.worlds.known()))
"""


def test_the_paper_needs_no_extra(run_python: Callable[[str], str]) -> None:
    assert int(run_python(WITHOUT_EXTRAS)) == len(goalward.worlds.known())
