"""A study on a Dask cluster whose connection to the scheduler is cut twenty times, at random moments.

The study finishes without a traceback, with the bits that it has without a cluster.
"""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from dask_signals import cluster
from signals import LIMIT

import goalward as gw
from goalward.studies.store import Store
from processes import Proxy, start_goalward

CUTS = 20
AGENT = """\
import time
from goalward.agents import PSRL

class Slow(PSRL):
    def plan(self, state):
        time.sleep(0.005)
        return super().plan(state)
"""
STUDY = """\
name = "slow"
runs = 60
episodes = 30

[[worlds]]
world = "grid-world"

[[agents]]
agent = "slow.py:Slow"
"""


@cache
def expected() -> list[str]:
    """Return the hashes of all runs, as they are without a cluster."""
    with TemporaryDirectory(prefix="goalward-attack-") as folder:
        write(Path(folder))
        gw.run(Path(folder) / "slow.toml", Path(folder) / "results", workers=2)
        return contents(Path(folder) / "results")


def write(folder: Path) -> None:
    (folder / "slow.py").write_text(AGENT)
    (folder / "slow.toml").write_text(STUDY)


def contents(folder: Path) -> list[str]:
    """Return the hash of the data of every run."""
    store = Store.open(folder)
    design = store.design()
    return [store.read(key).document["data_sha256"] for cell in design.cells for key in design.keys(cell)]


def attack(rng: random.Random, folder: Path) -> str:
    """Cut the connection of a study again and again."""
    found = cluster()
    found.mend()
    write(folder)
    proxy = Proxy(int(found.address.rpartition(":")[2]))
    proxy.start()
    process = start_goalward(folder, "run", "slow.toml", "--out", "results", "--dask", proxy.address)
    cuts, began = 0, time.monotonic()
    try:
        while cuts < CUTS and process.poll() is None and time.monotonic() - began < LIMIT:
            time.sleep(rng.uniform(0.05, 0.8))
            if proxy.pairs:
                proxy.cut()
                cuts += 1
        out, err = process.communicate(timeout=LIMIT)
    finally:
        proxy.server.close()
        if process.poll() is None:
            process.kill()
            process.communicate()
    report = (cuts, process.returncode, out, err)
    assert "Traceback" not in err, report
    assert process.returncode in (0, 2), report
    if process.returncode == 2:  # it was cut before the study had begun
        assert "no Dask scheduler answers" in err or "has no workers" in err, report
        return "refused"
    assert cuts == CUTS, report
    assert contents(folder / "results") == expected(), report
    return "used"
