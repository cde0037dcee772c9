"""Signals that stop a study end in one exception, and leave the handlers as they were."""

import os
import signal
import threading
from pathlib import Path

import pytest

from goalward.execution.interrupts import Interrupted, interruptible

FOLDER = Path("results/x")


def send(number):
    os.kill(os.getpid(), number)


def test_sigterm_ends_the_block():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted) as raised, interruptible(FOLDER):
        send(signal.SIGTERM)
    assert raised.value.exit_code == 143
    assert str(raised.value) == "terminated; what is done is stored in results/x, and the same command goes on there"
    assert signal.getsignal(signal.SIGTERM) is before


def test_ctrl_c_ends_the_block():
    with pytest.raises(Interrupted, match="interrupted; what is done is stored in results/x") as raised:
        interrupt_by_hand()
    assert raised.value.exit_code == 130


@interruptible(FOLDER)
def interrupt_by_hand():
    raise KeyboardInterrupt


def test_a_second_signal_does_not_disturb_the_cleaning_up():
    cleaned = []

    @interruptible(FOLDER)
    def work():
        try:
            send(signal.SIGTERM)
        finally:
            send(signal.SIGTERM)
            cleaned.append(True)

    with pytest.raises(Interrupted):
        work()
    assert cleaned


def test_other_threads_have_no_handlers():
    entered = []

    @interruptible(FOLDER)
    def work():
        entered.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [before]


def test_an_interruption_is_no_error_of_an_agent():
    # Workers record Exception and SystemExit as failed runs.
    assert not issubclass(Interrupted, Exception | SystemExit)
