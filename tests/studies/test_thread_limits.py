"""Linear algebra uses one thread wherever runs are made, because the number of threads can change the last bit."""

import os
import subprocess
import sys

import pytest

from goalward.studies.workers import cores

AGENT = '''
import ctypes, sys
import numpy as np
from goalward.agents import PSRL

def threads():
    """Return how many threads the OpenBLAS of NumPy uses."""
    return ctypes.CDLL(np.linalg._umath_linalg.__file__).scipy_openblas_get_num_threads64_()

class Counts(PSRL):
    def plan(self, state):
        print("threads:", threads(), file=sys.stderr)
        return super().plan(state)
'''
STUDY = """
name = "threads"
runs = 1
episodes = 1
[[worlds]]
world = "grid-world"
[[agents]]
agent = "counts.py:Counts"
"""
RUN_IN_PYTHON = """
import numpy as np, goalward as gw
from counts import threads
before = threads()
gw.run("study.toml", workers=1)
assert threads() == before, "the threads of the caller are as before"
"""


@pytest.mark.skipif(
    cores() == 1 or sys.platform != "linux", reason="needs two cores and the OpenBLAS of NumPy's wheels"
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", RUN_IN_PYTHON],
        ["-m", "goalward", "run", "study.toml", "--workers", "1"],
        ["-m", "goalward", "learn", "grid-world", "--agent", "counts.py:Counts", "--episodes", "1"],
    ],
)
def test_runs_use_one_thread(tmp_path, arguments):
    (tmp_path / "counts.py").write_text(AGENT)
    (tmp_path / "study.toml").write_text(STUDY)
    unset = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counted = {line for line in done.stderr.splitlines() if line.startswith("threads:")}
    assert counted == {"threads: 1"}
