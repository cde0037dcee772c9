"""Settings that hold for every test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run and every machine; GOALWARD_HYPOTHESIS=search looks for new ones instead.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("search", settings.get_profile("fixed"), derandomize=False, max_examples=10_000)
settings.load_profile(os.environ.get("GOALWARD_HYPOTHESIS", "fixed"))

# Shells start jobs of the background with SIGINT ignored, and processes inherit that from their parent.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["study_fixtures"]

RunPython = Callable[..., str]


@pytest.fixture
def run_python(pytestconfig: pytest.Config) -> RunPython:
    """Run a program text in a fresh interpreter and return what it prints; warnings are errors, as they are here."""
    ignored = [part for warning in pytestconfig.getoption("pythonwarnings") or [] for part in ("-W", warning)]

    def run(code: str, *, path: Path | None = None, **environment: str) -> str:
        own_package = {"PYTHONPATH": str(path)} if path else {}
        settings = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | own_package | environment
        command = [sys.executable, "-W", "error", *ignored, "-c", code]
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
