"""A run watched as it happens: streamed to its own page, refused to everybody else."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

import goalward as gw
from browsing import wait_until
from goalward.cli import main
from goalward.pages.live import LiveRecorder, LiveServer

GRID = gw.worlds.grid_world()
EPISODES = 40


class Held(LiveRecorder):
    """Waits at one epoch until it is released."""

    def __init__(self, epoch):
        super().__init__()
        self.hold_at, self.released, self.waiting = epoch, threading.Event(), threading.Event()

    def pause(self):
        super().pause()
        if self.epoch == self.hold_at:
            self.waiting.set()
            assert self.released.wait(60)


@pytest.fixture
def live():
    recorder = Held(12)
    server = LiveServer({"<b>psrl": recorder}, GRID, "grid-world", 0, EPISODES)
    runs = []
    thread = threading.Thread(
        target=lambda: runs.append(gw.learn(gw.agents.PSRL(), GRID, EPISODES, keep_replay=recorder)), daemon=True
    )
    thread.start()
    assert recorder.waiting.wait(60)
    server.thread.start()

    def finish():
        recorder.released.set()
        thread.join()
        server.over.set()
        return runs[0]

    yield server, finish
    finish()
    server.close()


def asked(server, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in ({"Host": f"127.0.0.1:{server.server_port}"} | headers).items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read(200)
    connection.close()
    return found


def test_the_page_follows_the_run(visit, live):
    server, finish = live
    page = visit(server.url)
    assert page.inner_text(".live").startswith("live")
    assert page.inner_text("h1").startswith("<b>psrl")
    wait_until(page, "window.goalward.replays[0].epochs === 12")
    wait_until(page, "window.goalward.lead.last > 1 && window.goalward.lead.frame === window.goalward.lead.last")
    # The newest epoch is not the end of the run while the run goes on.
    assert page.inner_text(".epoch-label") == "now · 12 epochs"
    assert "so far" in page.inner_text(".agent .now")
    wait_until(page, "document.querySelector('.live').textContent.startsWith('live: <b>psrl is in episode ')")
    steps = page.evaluate("window.goalward.lead.frames.start_step[window.goalward.lead.last]")
    assert page.inner_text(".live").endswith(f"of {EPISODES}, after {steps} steps")
    assert re.match(r"episode \d+, (step|after|at its start)", page.inner_text(".agent .step"))
    assert "end of the run" not in page.inner_text("#page")
    run = finish()
    wait_until(page, "document.querySelector('.live').textContent === 'the run is over'")
    wait_until(page, f"document.querySelector('.epoch-label').textContent === 'end · {len(run.epochs)} epochs'")
    assert page.inner_text(".agent .now").startswith(f"end of the run: {EPISODES} episodes")
    assert "end of the run" in page.inner_text(".events")
    assert page.evaluate("window.goalward.replays[0].epochs") == len(run.epochs)
    ends = page.eval_on_selector_all(".regret .curve", "all => all.map((curve) => Number(curve.dataset.last))")
    assert ends == pytest.approx([run.gap_regret[-1]])


def test_other_hosts_and_sites_are_refused(live):
    server, _ = live
    here = f"127.0.0.1:{server.server_port}"
    assert asked(server)[0] == 200
    assert (
        asked(server, Host=f"localhost:{server.server_port}", Origin=f"http://localhost:{server.server_port}")[0] == 200
    )
    for headers in (
        {"Host": f"evil.example:{server.server_port}"},  # a name that was made to point here
        {"Host": "127.0.0.1"},
        {"Host": None},
        {"Host": here, "Origin": "http://evil.example"},
        {"Host": here, "Origin": "null"},
        {"Host": here, "Origin": f"https://{here}"},
        {"Host": here, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Host": here, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Host": here, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ):
        for path in ("/", "/events"):
            status, _, body = asked(server, path, **headers)
            assert status in (400, 403), headers
            assert b"psrl" not in body
    # A link may lead here: the site that it is on cannot read the page.
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert asked(server, **link)[0] == 200
    assert asked(server, "/events", **link)[0] == 403
    assert asked(server, "/etc/passwd")[0] == 404
    assert server.server_address[0] == "127.0.0.1"
    found = asked(server)[1]
    assert (found["Cache-Control"], found["X-Content-Type-Options"]) == ("no-store", "nosniff")


def test_readers_who_leave_early_are_no_error(live, capsys):
    server, _ = live
    threads = threading.active_count()
    for sent in (
        b"",
        b"GET / HTTP/1.1\r\n",
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode(),
    ):
        with socket.create_connection(("127.0.0.1", server.server_port)) as reader:
            reader.sendall(sent)
            # Closed at once, the connection is reset: what the server writes has no reader.
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert asked(server)[0] == 200
    wait_for(lambda: threading.active_count() == threads)
    assert capsys.readouterr().err == ""


def wait_for(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")


def test_the_verb_serves_until_it_is_interrupted():
    command = [
        sys.executable,
        "-m",
        "goalward",
        "watch",
        "grid-world",
        "--rival",
        "q-learning",
        "--episodes",
        "20",
        "--live",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            first = process.stdout.readline()
            assert first.startswith("serving http://127.0.0.1:")
            assert process.stdout.readline() == "the runs are over; the page stays until Ctrl-C\n"
            process.send_signal(signal.SIGINT)
            _, complaints = process.communicate(timeout=60)
        finally:
            process.kill()
    # On a slow machine it says what it does until it serves.
    assert "Traceback" not in complaints
    assert process.returncode in (0, 130)


def test_a_run_that_cannot_begin_is_an_error(capsys):
    with pytest.raises(SystemExit) as done:
        main(["watch", "grid-world", "--agent-set", "value_limit=-1", "--live"])
    assert done.value.code == 2
    assert "value_limit" in capsys.readouterr().err
