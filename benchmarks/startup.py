"""Startup time, compile time and memory of goalward: `make bench-startup`.

Times are CPU seconds of whole processes, the smallest of several repetitions. Cold commands find no compiled kernels;
warm commands find all that they need. Peak memory is that of the process. The tables go to the terminal and to
benchmarks/results/startup.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import duration, machine, one_core, say, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "startup.md"
PYTHON = [sys.executable, "-c"]
GOALWARD = [sys.executable, "-m", "goalward"]
STUDY = [*GOALWARD, "run", str(HERE.parent / "examples" / "my_study.toml"), "--workers", "1", "--out"]
# name: (command, repetitions, target in CPU seconds); a cold command compiles its kernels every time.
STARTS: dict[str, tuple[list[str], int, float]] = {
    "python, nothing imported": ([*PYTHON, ""], 5, 0.1),
    "import goalward": ([*PYTHON, "import goalward"], 5, 0.1),
    "goalward --help": ([*GOALWARD, "--help"], 5, 0.2),
    "goalward show grid-world, warm": ([*GOALWARD, "show", "grid-world"], 5, 0.6),
    "goalward learn grid-world, warm": ([*GOALWARD, "learn", "grid-world"], 5, 0.8),
    "goalward learn grid-world, cold": ([*GOALWARD, "learn", "grid-world"], 2, 4.0),
    "goalward run examples/my_study.toml, cold": (STUDY, 2, 12.0),
    "all agents, cold": ([*PYTHON, "import goalward as gw; gw.warm_up()"], 1, 35.0),
}
PEAK = "\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
WORLD = "import goalward as gw; world = gw.worlds.{}; "
KNOWN = "gw.learn(gw.agents.PSRL(prior=gw.Dirichlet(0.1, support=world)), world, 1, max_steps=3)"
MEMORY = {
    "import goalward": "import goalward",
    "3 x 4 grid, 1,000 episodes": WORLD.format("grid_world()") + "gw.learn(gw.agents.PSRL(), world, 1000)",
    "300 x 300 grid solved": WORLD.format("grid_world(300, 300)") + "gw.solve(world)",
    "1000 x 1000 grid solved": WORLD.format("grid_world(1000, 1000)") + "gw.solve(world)",
    "30 x 30 grid, default prior, three steps": WORLD.format("grid_world(30, 30)")
    + "gw.learn(gw.agents.PSRL(), world, 1, max_steps=3)",
    "100 x 100 grid, known support, three steps": WORLD.format("grid_world(100, 100)") + KNOWN,
}


def cpu_seconds(command: list[str], cache: str) -> float:
    """Return the CPU seconds of one process; a study gets a new results folder."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*command, folder] if command is STUDY else command
        before = os.times()
        environment = os.environ | {"GOALWARD_CACHE_DIR": cache}
        subprocess.run(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=True, cwd=folder
        )
    after = os.times()
    return max(0.0, after.children_user + after.children_system - before.children_user - before.children_system)


def starts_table() -> str:
    rows = []
    for name, (command, repetitions, most) in STARTS.items():
        with tempfile.TemporaryDirectory() as warm:
            if name.endswith("warm"):
                cpu_seconds(command, warm)
            seconds = []
            for _ in range(repetitions):
                with tempfile.TemporaryDirectory() as cold:
                    seconds.append(cpu_seconds(command, cold if name.endswith("cold") else warm))
        rows.append([name, duration(min(seconds)), duration(most)])
        say("  " + "  ".join(rows[-1]))
    return table(["what", "CPU", "target"], rows)


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
