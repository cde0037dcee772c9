"""Study files with something wrong: one line that names the place, or the study in full; nothing is ever executed."""

from __future__ import annotations

import random
import time
from pathlib import Path

from mutations import call, mutate_text

STUDY = """\
# A study
name = "small"
description = "two worlds"
seed = 3
runs = 2
episodes = 5
max_steps = 1000

[[worlds]]
world = "grid-world-v0"
settings = { rows = 2, columns = 2, success = 0.9 }
label = "grid"

[[worlds]]
world = "random-mdp"
sweep = { states = [3, 4] }
draw = "seed"

[[agents]]
agent = "psrl"
settings = { prior = { kind = "dirichlet", concentration = 0.5 } }

[[agents]]
agent = "uc-ssp"
label = "own"
sweep = { scale = [1.0, 0.1] }
worlds = ["grid"]

[[agents]]
agent = "trap.py:Trap"
"""
TRAP = "open('sprung', 'w').close()\n"


def absurd(rng: random.Random) -> str:
    """Return a study that is far too large or deep."""
    return rng.choice([
        STUDY.replace("runs = 2", "runs = 100000000"),
        STUDY.replace("runs = 2", f"runs = {'9' * 5000}"),
        STUDY.replace("seed = 3", f"seed = {'9' * 5000}"),
        STUDY.replace("[3, 4]", "[" + ", ".join(map(str, range(2, 90_000))) + "]"),
        STUDY.replace('"two worlds"', "[" * 5000 + "]" * 5000),
        STUDY.replace("rows = 2,", "rows = " + "{ a = " * 3000 + "1" + " }" * 3000 + ","),
        STUDY.replace("rows = 2,", "rows = 1000000000,"),
        STUDY.replace("episodes = 5", "episodes = 1000000000000000000"),
    ])  # fmt: skip


def attack(rng: random.Random, folder: Path) -> str:
    """Show a changed study."""
    text = absurd(rng) if rng.random() < 0.1 else mutate_text(rng, STUDY)
    (folder / "study.toml").write_text(text, encoding="utf-8", errors="replace")
    (folder / "trap.py").write_text(f"import os\nos.chdir({str(folder)!r})\n{TRAP}")
    began = time.process_time()
    code, out, err = call("run", str(folder / "study.toml"), "--show")
    assert code in (0, 2), (code, err[-500:])
    assert len(err.strip().splitlines()) <= 1, err
    assert len(err) < 2_000, len(err)
    assert "Traceback" not in out + err
    assert not (folder / "sprung").exists(), "the file of an agent was executed"
    assert time.process_time() - began < 10.0, "too slow"
    return "used" if code == 0 else "refused"
