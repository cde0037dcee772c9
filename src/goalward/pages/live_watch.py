"""What `goalward watch --live` does: runs in threads, a server for the page, and an end by Ctrl-C."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goalward.cli.single_run import finite_world, run_once
from goalward.long_work import hushed
from goalward.pages.live_server import LiveRecorder, LiveServer
from goalward.pages.watch import run_labels

__all__ = ["watch_live"]

SECONDS_BETWEEN_CHECKS = 0.1


def watch_live(
    world: str,
    settings: Sequence[str],
    chosen: Sequence[tuple[str, Sequence[str]]],
    common: Mapping[str, Any],
    *,
    delay: float,
    show: bool,
    stopped: Callable[[], int],
    say: Callable[..., None],
) -> None:
    """Carry runs out while a page shows them; serve it until the user interrupts.

    Parameters
    ----------
    world, settings
        As `run_once` takes them.
    chosen
        The agents and their settings.
    common
        What else `run_once` takes, for all of them.
    delay
        Seconds to wait at each epoch.
    show
        Whether to show the page in a browser.
    stopped
        Returns the number of a signal that has arrived, otherwise 0.
    say
        Prints lines for the user.
    """
    labels = run_labels([name for name, _ in chosen])
    recorders = {label: LiveRecorder(delay) for label in labels}
    errors: list[BaseException] = []

    def carry_out(label: str, name: str, given: Sequence[str]) -> None:
        try:
            run_once(
                world, settings, agent=name, agent_settings=given, observer=recorders[label],
                watch=lambda done, steps: not stopped() and not errors, **common,
            )  # fmt: skip
        except BaseException as error:
            errors.append(error)
        finally:
            recorders[label].started.set()

    threads = [
        threading.Thread(target=carry_out, args=(label, name, given), daemon=True)
        for label, (name, given) in zip(labels, chosen, strict=True)
    ]
    # The model is the same for all runs; the page has it with its optimal values.
    model = finite_world(world, settings)
    if common.get("give_up_cost") is not None:
        model = model.with_give_up(common["give_up_cost"])
    server = LiveServer(recorders, lambda: model, Path(world).name, common["seed"], common["episodes"])
    try:
        for thread in threads:
            thread.start()
        for recorder in recorders.values():
            recorder.started.wait()
        raise_first(errors)
        server.start()
        say(f"serving {server.url} on this machine only; Ctrl-C ends it")
        if show and not webbrowser.open(server.url):
            say("no browser was found; open the address in one")
        with hushed():
            while not stopped():
                if not any(thread.is_alive() for thread in threads) and not server.over.is_set():
                    raise_first(errors)
                    server.over.set()
                    say("the runs are over; the page stays until Ctrl-C")
                server.closing.wait(SECONDS_BETWEEN_CHECKS)
        for thread in threads:
            thread.join()
    finally:
        server.close()


def raise_first(errors: Sequence[BaseException]) -> None:
    """Raise what went wrong in a run."""
    if errors:
        raise errors[0]
