"""The command line as a test calls it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from goalward.cli import main

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a verb; return its exit code and what it prints on standard output and on standard error."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return leaving.value.code, printed.out, printed.err  # type: ignore[return-value]

    return run
