"""A real browser for the tests of pages: Debian's chromium, or the one that GOALWARD_BROWSER names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
]  # fmt: skip


def browser_path() -> str | None:
    """Return where the browser is."""
    given = os.environ.get("GOALWARD_BROWSER")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start one browser for all tests of a process; without one the tests are skipped, but not where CI=true."""
    path = browser_path()
    if path is None:
        message = "no browser for the tests of pages: apt-get install chromium, or set GOALWARD_BROWSER to one"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page file; afterwards check that it logged no error and asked for nothing but itself."""
    contexts, complaints, requests = [], [], []

    def go(path: Path | str, view: str = "", **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        address = path if isinstance(path, str) else path.resolve().as_uri()
        requests_before = len(requests)
        page.goto(address + (f"#{view}" if view else ""))
        page.wait_for_selector("html[data-ready]")
        del requests[requests_before]  # the page itself
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []
    assert [request for request in requests if "/events" not in request] == []
