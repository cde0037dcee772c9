"""What the doctor says."""

from __future__ import annotations

from typing import Any

from goalward.execution.doctor import Check, facts, run_checks
from goalward.report.tables import columns

__all__ = ["document", "facts", "run_checks", "text"]


def text(found: list[tuple[str, str]], checks: list[Check]) -> str:
    """Write facts and tests for a terminal."""
    parts = [columns([(name, value) for name, value in found], indent="")]
    if checks:
        rows = [("ok" if check.passed else "FAILED", f"{check.seconds:.1f} s", check.name) for check in checks]
        parts.append(columns(rows, right="1", indent=""))
        parts += [f"{check.name}: {check.reason}" for check in checks if not check.passed]
        passed = all(check.passed for check in checks)
        parts.append("all is well" if passed else "something is wrong; goalward --debug doctor may say more")
    return "\n\n".join(parts)


def document(found: list[tuple[str, str]], checks: list[Check]) -> dict[str, Any]:
    """Return facts and tests as plain data."""
    return {"facts": dict(found), "checks": [vars(check) for check in checks]}
