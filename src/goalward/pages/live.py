"""`goalward watch --live` runs agents in threads. A local server streams the runs to a page.

The server listens on the loopback address and a free port. It refuses requests for another host. It also refuses
requests from pages of other sites, which have another origin or are marked as cross-site by the browser
(Sec-Fetch-Site). A link on another site may open the page, because the other site cannot read the page. An opened page
gets the current state of the runs. After that, it gets updates as server-sent events, several times a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar, cast

from goalward.acting.contract import Plan
from goalward.figures.styles import agent_styles
from goalward.learning.replay import MOST_MODEL_NUMBERS, Recorder
from goalward.pages.page import Block, Page, script_json
from goalward.pages.planes import run_facts
from goalward.pages.watch import MOST_PAGE_STEPS, agent_document, watch_document
from goalward.ssp.model import SSP

ADDRESS = "127.0.0.1"
SECONDS_BETWEEN_UPDATES = 0.3
SECONDS_TO_WAIT = 30.0
"""How long a client may take to send a request or to read the answer."""
SHARE_OF_TIME = 0.2
"""Preparing updates takes at most this share of the time, so that large replays do not slow the runs down."""
SECONDS_BETWEEN_CHECKS = 0.1  # checks whether the runs have ended or a signal has arrived

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Make a method of a recorder hold the recorder's lock during each call."""

    @wraps(method)
    def holding(self: LiveRecorder, *values: Any) -> Any:
        with self.lock:
            return method(self, *values)

    return cast(Method, holding)


class LiveRecorder(Recorder):
    """A recorder that other threads may read. It waits `delay` seconds at the start of every epoch."""

    def __init__(self, delay: float = 0.0):
        super().__init__()
        self.delay = delay
        self.lock = threading.RLock()
        self.started = threading.Event()

    begin, enter, close = locked(Recorder.begin), locked(Recorder.enter), locked(Recorder.close)
    replay = locked(Recorder.replay)

    def plan(self, plan: Plan, state: int) -> None:
        with self.lock:
            super().plan(plan, state)
        self.pause()

    def room(self) -> int:
        with self.lock:
            steps = super().room()
        if self.online is not None:
            self.pause()
        return steps

    def pause(self) -> None:
        """Report that the run has started, and wait `delay` seconds."""
        self.started.set()
        if self.delay:
            time.sleep(self.delay)


class LiveServer(ThreadingHTTPServer):
    """Streams runs to pages. `recorders` maps the label of each agent to the recorder of the agent's run."""

    daemon_threads = True

    def __init__(self, recorders: Mapping[str, LiveRecorder], world: SSP, name: str, seed: int, episodes: int):
        super().__init__((ADDRESS, 0), RequestHandler)
        self.recorders, self.world = dict(recorders), world
        self.facts = run_facts("watch", recorders, name, seed, episodes)
        self.over = threading.Event()
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def close(self) -> None:
        """End the streams and the server."""
        self.closing.set()
        if self.thread.is_alive():
            self.shutdown()
        self.server_close()

    def page(self) -> str:
        """Return the page with the current state of the runs."""
        block = Block()
        replays = {label: recorder.replay() for label, recorder in self.recorders.items()}
        document = watch_document(block, self.facts, self.world, replays, [""] * len(replays))
        return Page("watch", document["title"], document, block, live=True).html

    def update(self, index: int) -> str:
        """Return the current state of the agent `index`, as the data of an event."""
        label, recorder = list(self.recorders.items())[index]
        styles = agent_styles((name, other.agent.name) for name, other in self.recorders.items())
        block = Block()
        with recorder.lock:
            agent = agent_document(block, label, styles[label], recorder.replay(), MOST_MODEL_NUMBERS, MOST_PAGE_STEPS)
        return script_json({"place": index, "agent": agent, "block": block.text()})


class RequestHandler(BaseHTTPRequestHandler):
    """Answers requests for the page and for updates of the page."""

    server: LiveServer
    timeout = SECONDS_TO_WAIT

    def handle(self) -> None:
        """Answer a request. If the client disconnects early, raise no error."""
        with suppress(ConnectionError, TimeoutError):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Print nothing, because the terminal shows the progress of the runs."""

    def refused(self) -> bool:
        """Refuse a request for another host or from another site's page. Return whether it was refused."""
        hosts = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        own = {None, *(f"http://{host}" for host in hosts)}
        is_link = self.path == "/" and self.headers.get("Sec-Fetch-Dest") == "document"
        own_site = self.headers.get("Sec-Fetch-Site") in (None, "none", "same-origin") or is_link
        if self.headers.get("Host") in hosts and self.headers.get("Origin") in own and own_site:
            return False
        self.send_error(HTTPStatus.FORBIDDEN, "This server answers its own page only")
        return True

    def do_GET(self) -> None:
        if self.refused():
            return
        if self.path == "/":
            content = self.server.page().encode("utf-8")
            self.begin_answer("text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        elif self.path == "/events":
            self.stream()
        else:
            self.send_error(HTTPStatus.NOT_FOUND, "There is only one page here")

    def begin_answer(self, kind: str) -> None:
        """Send response headers. The headers forbid caching, and forbid other pages to embed the response."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")

    def stream(self) -> None:
        """Send updates until the runs have ended, the server stops or the client disconnects."""
        self.begin_answer("text/event-stream")
        self.end_headers()
        live, sent = self.server, [-1] * len(self.server.recorders)
        while not live.closing.is_set():
            # Read this before preparing the updates, so that the last updates are complete.
            over = live.over.is_set()
            began = time.monotonic()
            # Pages ignore this comment. If the client has disconnected, writing the comment fails.
            self.wfile.write(b":\n\n")
            for index, recorder in enumerate(live.recorders.values()):
                if recorder.total_steps != sent[index]:
                    sent[index] = recorder.total_steps
                    self.send("agent", live.update(index))
            if over:
                self.send("end", "{}")
                return
            live.closing.wait(max(SECONDS_BETWEEN_UPDATES, (time.monotonic() - began) / SHARE_OF_TIME))

    def send(self, kind: str, data: str) -> None:
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()


def watch_live(
    runs: Mapping[str, Callable[..., object]],
    world: SSP,
    name: str,
    *,
    seed: int,
    episodes: int,
    delay: float,
    show: Callable[[str], None],
    stopped: Callable[[], int],
    say: Callable[..., None],
) -> None:
    """Run agents while a page shows their progress. Serve the page until the user interrupts.

    `runs` maps the label of each agent to a function that runs the agent. The function is called in a thread, with
    a recorder as ``keep_replay`` and with a function ``watch`` that returns False to end the run. Every epoch begins
    with a pause of `delay` seconds. `show` gets the URL. `stopped` returns the number of a received signal, or 0.
    """
    recorders = {label: LiveRecorder(delay) for label in runs}
    errors: list[BaseException] = []

    def run_in_thread(label: str) -> None:
        try:
            runs[label](keep_replay=recorders[label], watch=lambda done, steps: not stopped() and not errors)
        except BaseException as error:
            errors.append(error)
        finally:
            recorders[label].started.set()

    threads = [threading.Thread(target=run_in_thread, args=(label,), daemon=True) for label in runs]
    server = LiveServer(recorders, world, name, seed, episodes)
    try:
        for thread in threads:
            thread.start()
        for recorder in recorders.values():
            recorder.started.wait()
        if errors:
            raise errors[0]
        server.thread.start()
        say(f"serving {server.url} on this machine only; Ctrl-C ends it")
        show(server.url)
        while not stopped():
            if not any(thread.is_alive() for thread in threads) and not server.over.is_set():
                if errors:
                    raise errors[0]
                server.over.set()
                say("the runs are over; the page stays until Ctrl-C")
            server.closing.wait(SECONDS_BETWEEN_CHECKS)
        for thread in threads:
            thread.join()
    finally:
        server.close()
