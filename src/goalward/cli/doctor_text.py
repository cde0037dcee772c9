"""What `goalward doctor` prints."""

from __future__ import annotations

from typing import Any

from goalward.cli.doctor import Check
from goalward.text_tables import columns

__all__ = ["doctor_document", "doctor_text"]


def doctor_text(facts: list[tuple[str, str]], checks: list[Check]) -> str:
    """Write facts about the installation and the results of its tests."""
    parts = [columns(facts, indent="")]
    if checks:
        rows = [("ok" if check.passed else "FAILED", f"{check.seconds:.1f} s", check.name) for check in checks]
        parts.append(columns(rows, right=[1], indent=""))
        parts += [f"{check.name}: {check.reason}" for check in checks if not check.passed]
        passed = all(check.passed for check in checks)
        parts.append("all is well" if passed else "something is wrong; goalward --debug doctor may say more")
    return "\n\n".join(parts)


def doctor_document(facts: list[tuple[str, str]], checks: list[Check]) -> dict[str, Any]:
    """Return facts and tests as plain data."""
    return {"facts": dict(facts), "checks": [vars(check) for check in checks]}
