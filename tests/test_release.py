"""What a release says of itself agrees."""

import importlib
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

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
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert extras
    assert [name for name in extras if f"\n| `{name}` |" not in page] == []


def test_the_package_index_gets_links_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook runs while the package is built, by a backend that is not installed here."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.syspath_prepend(str(ROOT))
    metadata = {"urls": tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]}
    importlib.import_module("hatch_build").ReadmeHook().update(metadata)
    assert {"Source", "Issues", "Documentation", "Changelog"} <= metadata["urls"].keys()
    text = metadata["readme"]["text"]
    assert f"/raw/v{goalward.__version__}/docs/" in text
    assert all(target.startswith(("https://", "#")) for target in re.findall(r"\]\(([^)]*)\)", text))


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
