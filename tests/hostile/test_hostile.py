"""The attacks, briefly: fixed seeds, some hundred cases each. `make attack` goes on for ten minutes with others."""

from __future__ import annotations

import pytest
from harness import ATTACKS, run_attack

CASES = {"model_files": 150, "planner": 300, "run_files": 25, "saved_agents": 300, "signals": 4, "study_files": 80}


# Not those on Dask: a case takes a cluster of three processes. tests/studies/test_dask.py has fixed ones.
@pytest.mark.parametrize("attack", [name for name in ATTACKS if not name.startswith("dask")])
def test_attack(attack: str) -> None:
    report = run_attack(attack, range(CASES[attack]))
    assert report.failures == []
    assert report.cases == CASES[attack]
    assert min(report.outcomes["refused"], report.outcomes["used"]) > 0, "the attack does not reach both answers"
