"""How long goalward takes to start and how much memory it takes: `make bench-startup`.

Wall-clock and CPU seconds of whole processes, the smallest of several; kernels compiled before where "warm" is said.
Peak memory is that of the process itself. The table goes to the terminal and to benchmarks/results/startup.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import duration, machine, one_core, say, table

RESULTS = Path(__file__).resolve().parent / "results" / "startup.md"
PYTHON = [sys.executable, "-c"]
PEAK = "\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
WORLD = "import goalward as gw; world = gw.worlds.{}; "
SOLVE = [*PYTHON, WORLD.format("grid_world()") + "gw.solve(world)"]
LEARN = [*PYTHON, WORLD.format("grid_world()") + "gw.learn(gw.agents.PSRL(), world, 10)"]
# name: (command, repetitions)
STARTS: dict[str, tuple[list[str], int]] = {
    "python, nothing imported": ([*PYTHON, ""], 5),
    "goalward --help": ([sys.executable, "-m", "goalward", "--help"], 5),
    "import goalward": ([*PYTHON, "import goalward"], 5),
    "first solve, warm": (SOLVE, 5),
    "first learn, warm": (LEARN, 5),
    "first solve, nothing compiled": (SOLVE, 1),
    "first learn, nothing compiled": (LEARN, 1),
}
KNOWN = "gw.learn(gw.agents.PSRL(prior=gw.Dirichlet(0.1, support=world)), world, 1, max_steps=3)"
TIED = "gw.learn(gw.agents.PSRL(prior=gw.TiedDirichlet.slip(world)), world, 1, max_steps=3)"
MEMORY = {
    "import goalward": "import goalward",
    "3 x 4 grid, 1,000 episodes": WORLD.format("grid_world()") + "gw.learn(gw.agents.PSRL(), world, 1000)",
    "300 x 300 grid made": WORLD.format("grid_world(300, 300)"),
    "300 x 300 grid solved": WORLD.format("grid_world(300, 300)") + "gw.solve(world)",
    "1000 x 1000 grid made": WORLD.format("grid_world(1000, 1000)"),
    "1000 x 1000 grid solved": WORLD.format("grid_world(1000, 1000)") + "gw.solve(world)",
    "30 x 30 grid, default prior, three steps": WORLD.format("grid_world(30, 30)")
    + "gw.learn(gw.agents.PSRL(), world, 1, max_steps=3)",
    "100 x 100 grid, known support, three steps": WORLD.format("grid_world(100, 100)") + KNOWN,
    "316 x 316 grid, tied slips, three steps": WORLD.format("grid_world(316, 316)") + TIED,
}


def started(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall-clock and the CPU seconds of one process."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, spent


def starts_table() -> str:
    rows = []
    for name, (command, repetitions) in STARTS.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | ({"GOALWARD_CACHE_DIR": cache} if "nothing compiled" in name else {})
            if "warm" in name:
                started(command, environment)
            figures = [started(command, environment) for _ in range(repetitions)]
        wall, cpu = (min(kind) for kind in zip(*figures, strict=True))
        rows.append([name, duration(cpu), duration(wall)])
        say("  " + "  ".join(rows[-1]))
    return table(["what", "CPU", "wall clock"], rows)


def memory_table() -> str:
    rows = []
    for name, program in MEMORY.items():
        done = subprocess.run([*PYTHON, program + PEAK], stdout=subprocess.PIPE, text=True, check=True)
        rows.append([name, f"{int(done.stdout.split()[-1]) / 1024:.0f} MB"])
        say("  " + "  ".join(rows[-1]))
    return table(["what", "peak memory"], rows)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    one_core()
    text = f"""# Start-up and memory

Written by `make bench-startup`. {machine()}

## Start-up

{starts_table()}

## Memory

{memory_table()}
"""
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
