"""Time and memory of experiments: `make bench-experiments`, or only some parts with ARGS="short reading".

    reproduce       the paper's full comparison: with a cold kernel cache, with a warm one, and when it is complete
    long            overhead in processor time of runs that learn for about a second, with one and with two workers
    short           overhead in processor time of a run of 10 episodes
    reading         status, summary, plot, report and export of 2,000 and of 20,000 stored runs of 10 episodes, and
                    an extrapolation to a million runs

Overhead is everything but learning. Wall-clock times depend on the load of the machine, so the tables also show
processor times. `alone` is the processor time divided by the number of busy cores: the least time on an otherwise idle
machine. Memory is the largest peak of any process. Each part replaces only its own section of
benchmarks/results/experiments.md; --quick runs small studies and writes no file.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import goalward as gw
from goalward.studies.run_file import encode
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.worker import facts_of
from processes import machine, say, table

RESULTS = Path(__file__).resolve().parent / "results" / "experiments.md"
TICK = os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Records processor time and peak memory of a process and its descendants: reads /proc ten times a second."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid, self.times, self.peaks, self.over = pid, {}, {}, False

    def run(self) -> None:
        while not self.over:
            for pid in self.family():
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                self.times[pid] = (int(fields[11]) + int(fields[12])) / TICK
                peak = [line for line in status.splitlines() if line.startswith("VmHWM")]
                self.peaks[pid] = max(self.peaks.get(pid, 0), int(peak[0].split()[1]) if peak else 0)
            time.sleep(0.1)

    def family(self) -> set[int]:
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        below, grown = {self.pid}, True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in below} - below
            below |= more
            grown = bool(more)
        return below


Row = tuple[str, ...]
HEADS = ["what", "wall clock", "processor", "alone", "peak memory", "target"]


def measure(folder: Path, *arguments: str) -> tuple[float, float, float]:
    """Run goalward; return the wall-clock seconds, the processor seconds and the peak megabytes of one process."""
    # Each part has its own kernel cache: it starts cold, and no other process can make it cold again.
    environment = {"GOALWARD_CACHE_DIR": str(folder / "cache")}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "goalward", *arguments],
        cwd=folder, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watch = Watch(process.pid)
    watch.start()
    _, errors = process.communicate()
    wall = time.perf_counter() - start
    watch.over = True
    watch.join()
    if process.returncode:
        sys.exit(errors)
    say(f"  goalward {' '.join(arguments)}: {wall:.1f} s")
    return wall, sum(watch.times.values()), max(watch.peaks.values()) / 1024


def reproduce(folder: Path, quick: bool) -> list[Row]:
    size = ("--episodes", "500", "--runs", "2") if quick else ()
    rows = []
    for name, out, asked in (
        ("reproduce, cold cache", "cold", "< 90 s"),
        ("reproduce, warm cache", "warm", "< 15 s"),
        ("reproduce, complete", "warm", "< 2 s"),
    ):
        wall, processor, peak = measure(folder, "reproduce", *size, "--workers", "2", "--out", out)
        cores = 1 if "complete" in name else 2
        rows.append((*row(name, wall, processor, cores, peak), asked))
    return rows


def long_runs(runs: int) -> str:
    # UC-SSP needs about a second for 15,000 episodes.
    entries = '[[worlds]]\nworld = "grid-world"\n[[agents]]\nagent = "uc-ssp"\n'
    return f'name = "long"\nruns = {runs}\nepisodes = 15_000\n{entries}'


def long(folder: Path, quick: bool) -> list[Row]:
    few, many, turns = (2, 6, 1) if quick else (4, 16, 3)
    walls: dict[int, list[float]] = {1: [], 2: []}
    shares: dict[int, list[float]] = {1: [], 2: []}
    last = {}
    (folder / "long.toml").write_text(long_runs(1))
    measure(folder, "run", "long.toml", "--workers", "1", "--out", "warm")
    # One and two workers take turns, because the speed of a shared machine drifts. Startup costs the same for few and
    # for many runs, so the difference between both is the cost of the additional runs.
    for turn, workers in itertools.product(range(turns), (1, 2)):
        found = {}
        for runs in (few, many):
            (folder / "long.toml").write_text(long_runs(runs))
            out = f"long-{turn}-{workers}-{runs}"
            measured = measure(folder, "run", "long.toml", "--workers", str(workers), "--out", out)
            found[runs] = (*measured, learning_time(folder / out))
        wall, processor, peak, learning = found[many]
        learnt = learning - found[few][3]
        walls[workers].append(wall - found[few][0])
        shares[workers].append((processor - found[few][1] - learnt) / learnt)
        last[workers] = row(f"{many} runs of a second, {workers} at a time", wall, processor, workers, peak)
    rows = [
        (*last[workers], f"overhead {100 * statistics.median(shares[workers]):.1f} % of learning, target < 5 %")
        for workers in (1, 2)
    ]
    ratios = sorted(one / two for one, two in zip(walls[1], walls[2], strict=True))
    spread = f"median of {turns} turns, from {ratios[0]:.2f} to {ratios[-1]:.2f}; target >= 1.8"
    rows.append(("speedup with two workers", f"{statistics.median(ratios):.2f} times", "", "", "", spread))
    return rows


def learning_time(folder: Path) -> float:
    """Return the processor seconds that the runs of a study have spent learning."""
    store = Store.open(folder)
    design = store.design()
    return sum(store.read(key).document["timing"]["cpu_seconds"] for key in design.keys(design.cells[0]))


EPISODES = 10
# Targets for 20,000 runs.
VERBS = {
    ("status",): "< 5 CPU s",
    ("status", "--check"): "< 12 CPU s, < 400 MB",
    ("summary",): "< 12 CPU s, < 400 MB",
    ("plot",): "< 12 CPU s, < 400 MB",
    ("report",): "< 12 CPU s, < 400 MB",
    ("export", "--out", "runs.csv"): "< 12 CPU s, < 400 MB",
}


def many_runs(folder: Path, runs: int) -> Study:
    document = {
        "name": f"many-{runs}",
        "runs": runs // 20,
        "episodes": EPISODES,
        "worlds": [{"world": "grid-world", "sweep": {"columns": list(range(2, 12))}}],
        "agents": [{"agent": "uniform"}, {"agent": "psrl"}],
    }
    return Study.from_dict(document, folder)


def fill_store(folder: Path, runs: int) -> None:
    """Store one run under all keys of a large study; the time to read a run does not depend on its content."""
    study = many_runs(folder, runs)
    store = Store.open(folder / study.design.name, create=True)
    store.save_study(study.design.reference, study.text, study.attachments)
    world = gw.worlds.grid_world()
    run = gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, EPISODES, seed=0)
    for cell in study.design.cells:
        for spec in study.design.specs(cell):
            path = store.path(spec.key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode(run, spec, {"cpu_seconds": 0.1}, facts_of(world)))


def reading(folder: Path, quick: bool) -> list[Row]:
    sizes = (200, 400) if quick else (2_000, 20_000)
    found: dict[int, list[tuple[float, float, float]]] = {}
    for runs in sizes:
        fill_store(folder, runs)
        found[runs] = [measure(folder, verb, f"many-{runs}", *options) for verb, *options in VERBS]
    few, many = sizes
    rows, million = [], []
    for index, ((verb, *options), asked) in enumerate(VERBS.items()):
        name = " ".join([verb, *options[:1]])
        for runs in sizes:
            wall, processor, peak = found[runs][index]
            rows.append((*row(f"{name}, {runs:,} runs", wall, processor, 1, peak), asked if runs == many else ""))
        _, seconds, megabytes = (
            now + (now - before) * (1e6 - many) / (many - few)
            for before, now in zip(found[few][index], found[many][index], strict=True)
        )
        text = (f"{name}, 1,000,000 runs, extrapolated", "", f"{seconds:.0f} s", "", f"{megabytes:.0f} MB", "")
        million.append(text)
    return rows + million


def short(folder: Path, quick: bool) -> list[Row]:
    """Return a row with the overhead of a run: scheduling, encoding and storing it."""
    costs = []
    few, many = (100, 400) if quick else (400, 4_000)
    for turn, runs in enumerate((few, few, many)):  # the first turn loads the kernels
        world = {"world": "grid-world", "settings": {"rows": 2, "columns": 2}}
        document = {"name": "short", "runs": runs, "episodes": EPISODES, "worlds": [world]}
        study = Study.from_dict(document | {"agents": [{"agent": "uniform"}]}, folder)
        (folder / "short.toml").write_text(study.shown_text)
        _, processor, _ = measure(folder, "run", "short.toml", "--workers", "1", "--out", f"short-{turn}")
        costs.append(processor - learning_time(folder / f"short-{turn}"))
    each = 1000 * (costs[2] - costs[1]) / (many - few)
    return [(f"overhead of a run of {EPISODES} episodes", "", f"{each:.2f} ms", "", "", "< 1.5 ms")]


def row(name: str, wall: float, processor: float, cores: int, peak: float) -> Row:
    return name, f"{wall:.1f} s", f"{processor:.1f} s", f"{processor / cores:.1f} s", f"{peak:.0f} MB"


PARTS = {"reproduce": reproduce, "long": long, "short": short, "reading": reading}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="part to measure: " + ", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="run small studies and write no file")
    options = parser.parse_args()
    stored = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", stored, re.DOTALL | re.MULTILINE))
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            rows = PARTS[part](Path(folder), options.quick)
        sections[part] = f"\n{machine()}\n\n{table(HEADS, [list(one) for one in rows])}\n\n"
        print(sections[part])
        if not options.quick:
            body = "".join(f"## {name}\n{sections[name]}" for name in PARTS if name in sections)
            RESULTS.parent.mkdir(exist_ok=True)
            text = f"# Experiments\n\nWritten by `make bench-experiments`.\n\n{body.rstrip()}\n"
            RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
