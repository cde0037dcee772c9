"""The server of worker processes is not disturbed by Ctrl-C while it starts."""

from __future__ import annotations

from pathlib import Path

from processes import start_python

SCRIPT = """\
import os, signal, threading
from multiprocessing import forkserver
from goalward.studies.worker_process import Batch
from goalward.studies.workers import Processes

def ignores_interrupts(task):
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN and signal.SIGINT not in blocked

def interrupt(started):
    while not started.wait(0.01):
        pid = forkserver._forkserver._forkserver_pid
        if pid is not None:
            os.kill(pid, signal.SIGINT)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = threading.Event()
    threading.Thread(target=interrupt, args=(started,)).start()
    pool = Processes(1)
    result = pool.submit(Batch(abs, [-3])).result()[0]
    started.set()
    print(result, pool.submit(Batch(ignores_interrupts, [0])).result()[0])
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
    pool.close()
"""


def test_ctrl_c_while_the_server_starts(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    process = start_python(tmp_path, "script.py")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "3 True\nFalse\n", "")
