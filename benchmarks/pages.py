"""Size, loading time and drawing speed of goalward's pages: `make bench-pages`.

The command line makes the pages in a temporary folder, and Playwright opens them in headless Chromium. "Ready" is the
time from requesting the page until it can be used. "Moves" is the number of slider moves drawn per second, and "play"
the number of frames per second while the agents move; both are at most 60. All are medians of five, in wall-clock time.
The file also gives the load of the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from processes import duration, machine, say, table

RESULTS = Path(__file__).resolve().parent / "results" / "pages.md"
GOALWARD = [sys.executable, "-m", "goalward"]
ROUNDS = 5
PAGES = {
    "GridWorld, two agents, 10,000 episodes": [
        "watch", "grid-world", "--rival", "q-learning", "--episodes", "10000",
    ],
    "20 x 20 grid, two agents, 300 episodes": [
        "watch", "grid-world", "--set", "rows=20", "--set", "columns=20", "--rival", "posterior-mean",
        "--agent-set", "prior=neighbourhoods", "--rival-set", "prior=neighbourhoods", "--episodes", "300",
    ],
    "Taxi-v4, 100 episodes": ["watch", "Taxi-v4", "--episodes", "100"],
    "the paper's study, 100 runs": ["report", "results/paper-theory"],
}  # fmt: skip
# Moves the slider in every frame that the browser draws, and returns the frames per second.
MOVES = """async () => {
    const slider = document.querySelector("input[type=range]");
    if (!slider) return null;
    const last = Number(slider.max), frames = 90;
    const next = () => new Promise(requestAnimationFrame);
    await next();
    const began = performance.now();
    for (let i = 0; i < frames; i++) {
        slider.value = Math.round(last * i / frames);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await next();
    }
    return 1000 * frames / (performance.now() - began);
}"""
# Plays a run for one and a half seconds, and returns the frames per second.
PLAY = """async () => {
    const page = window.goalward;
    if (!page.playButton) return null;
    page.go(Math.floor(Number(page.slider.max) / 2));
    page.setSpeed("run");
    page.play(true);
    const began = performance.now();
    let frames = 0;
    while (performance.now() - began < 1500) {
        await new Promise(requestAnimationFrame);
        frames += 1;
    }
    page.play(false);
    return 1000 * frames / (performance.now() - began);
}"""


def measured(page: Any, address: str) -> tuple[float, float | None, float | None]:
    """Open a page; return the seconds until it is ready, the slider moves per second and the frames per second."""
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    ready = time.perf_counter() - began
    return ready, page.evaluate(MOVES), page.evaluate(PLAY)


def main() -> None:
    browser_path = os.environ.get("GOALWARD_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        say("no browser found, so nothing was measured; install chromium, or set GOALWARD_BROWSER to a browser's path")
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([*GOALWARD, "reproduce"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for name, arguments in PAGES.items():
            path = Path(folder) / f"{arguments[0]}.html"
            began = time.perf_counter()
            subprocess.run([*GOALWARD, *arguments, "--out", path], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            making = time.perf_counter() - began
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            rounds = [measured(page, path.as_uri()) for _ in range(ROUNDS)]
            page.close()
            drawn = [
                f"{median(values):.0f}"
                if (values := [numbers[index] for numbers in rounds if numbers[index] is not None])
                else ""
                for index in (1, 2)
            ]
            size = f"{path.stat().st_size / 1e6:.2f} MB"
            rows.append([name, duration(making), size, duration(median(numbers[0] for numbers in rounds)), *drawn])
            say(f"  {rows[-1]}")
        version = browser.version
        browser.close()
    heading = ["page", "made in", "size", "ready", "moves/s", "play, frames/s"]
    load = f"{os.getloadavg()[0]:.1f}"
    text = f"""# Pages

Written by `make bench-pages`. {machine()}
Chromium {version}, headless, without a graphics card. Load average at the end: {load}.
Wall-clock times, medians of {ROUNDS}.

{table(heading, rows)}
"""
    RESULTS.write_text(text, encoding="utf-8")
    say(text)


if __name__ == "__main__":
    main()
