"""All tests of claims by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import SmallSource

from goalward.errors import UnknownNameError
from goalward.paper import claims
from goalward.paper.claims import check_claims
from goalward.paper.claims.claims import Verdict


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all tests small, whatever the size they ask for."""
    monkeypatch.setattr(claims, "RunSource", lambda store, pool: SmallSource(store.folder, 2, 100))


@pytest.mark.usefixtures("small")
def test_claims_are_tested_and_runs_stored(tmp_path: Path) -> None:
    found = check_claims(tmp_path, only=["prior", "withheld"], workers=1)
    assert [each.key for each in found] == ["withheld", "prior"]  # in the order of the table
    assert found[0].verdict is Verdict.HOLDS
    stored = sorted(tmp_path.rglob("*.parquet"))
    assert len(stored) == 4
    times = [path.stat().st_mtime_ns for path in stored]
    assert check_claims(tmp_path, only=["prior"], workers=1) == found[1:]
    assert [path.stat().st_mtime_ns for path in stored] == times


def test_unknown_tests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no test of claims is called 'rivalz'; did you mean 'rivals'"):
        check_claims(tmp_path, only=["rivalz"])
    assert not list(tmp_path.iterdir())
