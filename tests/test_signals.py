"""Signals that stop goalward end in one exception, once, and can be taken as requests."""

import ctypes
import os
import signal
import subprocess
import sys
import threading

import pytest

from goalward import signals as interrupts
from goalward.cli import main
from goalward.signals import Interrupted


@pytest.fixture(autouse=True)
def _as_before():
    """Start as a fresh process does, and leave the handlers of the tests as they were."""
    interrupts._received.clear()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    sys.unraisablehook = hook
    interrupts._received.clear()


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "interrupted (SIGINT)"), (signal.SIGTERM, 143, "terminated (SIGTERM)")],
)
def test_the_first_signal_is_raised_and_says_what_is_kept(number, code, said):
    interrupts.catch_signals()
    with pytest.raises(Interrupted) as raised, interrupts.keeping("all is kept"):
        send(number)
    assert (raised.value.exit_code, str(raised.value)) == (code, f"{said}; all is kept")
    assert interrupts.received() == number
    # Wherever the first exception was lost, long loops raise it again.
    with pytest.raises(Interrupted, match="nothing was changed"):
        interrupts.check_interrupt()


@pytest.mark.parametrize("module", ["goalward.progress", "goalward.cli"])
def test_a_signal_while_modules_are_imported_prints_no_traceback(module):
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['/usr/bin/goalward', '--version']\n"
        "from goalward.__main__ import entry\n"
        "entry()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, "Traceback" in ended.stderr) == (130, False)


def test_a_second_signal_does_not_disturb_the_cleaning_up():
    def leave():
        try:
            send(signal.SIGTERM)
        finally:
            send(signal.SIGINT)

    interrupts.catch_signals()
    with pytest.raises(Interrupted) as raised:
        leave()
    assert raised.value.exit_code == 143


def test_ctrl_c_without_handlers_says_what_is_kept():
    with pytest.raises(KeyboardInterrupt) as raised, interrupts.keeping("all is kept"):
        raise KeyboardInterrupt
    assert raised.value.__notes__ == ["all is kept"]


def test_a_request_to_stop_is_seen_and_a_second_one_raises():
    interrupts.catch_signals()
    before = signal.getsignal(signal.SIGTERM)
    with interrupts.stop_requests() as requested, interrupts.stop_requests() as inner:
        assert requested() == 0
        send(signal.SIGTERM)
        assert requested() == inner() == 1
        with pytest.raises(Interrupted):
            send(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
    assert interrupts.received() == signal.SIGTERM


def test_long_work_is_interrupted_at_once():
    interrupts.catch_signals()
    with interrupts.stop_requests() as requested:
        with pytest.raises(Interrupted), interrupts.interruptible():
            send(signal.SIGINT)
        assert requested() == 1


def test_what_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.catch_signals()
    send(signal.SIGINT)
    assert interrupts.received() == 0


def test_other_threads_have_no_handlers():
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=interrupts.catch_signals)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interruption_is_no_error_of_an_agent():
    # Workers record Exception and SystemExit as failed runs.
    assert not issubclass(Interrupted, Exception | SystemExit)


def test_a_signal_that_a_compiler_swallows_is_not_taken_for_a_mistake(monkeypatch, capsys):
    # Compilers call back through C, where exceptions are lost, and fail later for want of what the callback had to do.
    def facts():
        ctypes.CFUNCTYPE(None)(lambda: send(signal.SIGTERM))()
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr("goalward.cli.installation.installed", facts)
    interrupts.catch_signals()
    with pytest.raises(Interrupted) as raised:
        main(["doctor"])
    assert raised.value.exit_code == 143
    assert capsys.readouterr().err == ""
