"""The planner against its peers and its budgets: `make bench-planner`.

Every figure comes from a fresh process on one core. For each model, all tools take turns in several rounds, so that
all meet the same machine and one bad moment spoils one process of a tool, not its figure: the smallest time of all
repetitions counts and the median stands beside it. Where the best times of a tool's rounds differ by more than
`SPREAD`, the figure is marked with ~: something else was using the machine, and ratios with it are rough.
The tables go to the terminal and, when all models were asked for, to benchmarks/results/planner.md.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import numpy as np

import models

HERE = Path(__file__).resolve().parent
PEERS_PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
RESULTS = HERE / "results" / "planner.md"
TIMES_FASTER_THAN_STORM = 4.0
TIMES_FASTER_THAN_SWEEPS = 5.0
STORM_TARGETS = ("g100", "g300", "g300s", "g1000", "r1e5")
HEADINGS = {
    "goalward": "goalward",
    "goalward-warm": "goalward, warm",
    "storm-ovi": "Storm OVI (sound)",
    "sweeps": "sweeps, AI-Toolbox style",
    "quantecon": "sweeps, QuantEcon",
    "storm-topo": "Storm topological (sound)",
    "storm-vi": "Storm VI (not sound)",
}
NEVER_CUT_SHORT = ("goalward", "storm-ovi")
SMALL = ("g100", "r1e4")
SPREAD = 1.3
# name: (what is measured, unit, target or None)
BUDGETS: dict[str, tuple[str, str, float | None]] = {
    "small-grid": ("3 x 4 grid, `solve` per call", "us", 100.0),
    "small-dense": ("100-state dense model, warm-started, `solve` per call", "ms", 2.0),
    "compile": ("kernels of the planner compiled on an empty cache, CPU", "s", 8.0),
    "compile-all": ("all kernels of the package compiled on an empty cache, CPU", "s", None),
    "memory-world": ("`worlds.grid_world(1000, 1000)` made and solved, peak memory", "MB", 1000.0),
    "memory-rows": ("the same grid through `SSP.from_rows`, peak memory", "MB", 1000.0),
}


@dataclass
class Measurement:
    """Times of one tool on one model; without any when the limit was reached first."""

    limit: float
    rounds: list[list[float]] = field(default_factory=list)
    note: str = ""
    answer: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def seconds(self) -> list[float]:
        return [seconds for one in self.rounds for seconds in one]

    @property
    def disturbed(self) -> bool:
        best = [min(one) for one in self.rounds]
        return bool(best) and max(best) > SPREAD * min(best)

    @property
    def least(self) -> float:
        return min(self.seconds, default=self.limit)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds or [self.limit])

    def __str__(self) -> str:
        if not self.seconds:
            return f"> {self.limit:.0f} s"
        mark = "~" if self.disturbed else ""
        return f"{mark}{duration(self.least)} ({duration(self.median)})"


def duration(seconds: float) -> str:
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def one_core_environment() -> dict[str, str]:
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return os.environ | dict.fromkeys(threads, "1")


def measure(tool: str, path: Path, into: Measurement, repeat: int) -> None:
    """Run one process of a tool and add what it printed."""
    python = sys.executable if tool.startswith("goalward") else str(PEERS_PYTHON)
    answer = path.with_name(f"{path.stem}-{tool}.npz")
    command = [python, str(HERE / "peers.py"), tool, str(path), str(answer), f"--repeat={repeat}"]
    done = subprocess.run(
        [*command, f"--limit={into.limit}"], stdout=subprocess.PIPE, text=True, env=one_core_environment(), check=False
    )
    if done.returncode not in (0, -signal.SIGPROF):
        raise SystemExit(f"{tool} failed on {path.stem} with exit code {done.returncode}; its message stands above")
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if records:
        into.rounds.append([record["seconds"] for record in records])
        into.note = records[-1]["note"]
    if into.rounds and not into.answer:
        into.answer = models.load(answer)
    answer.unlink(missing_ok=True)


def measure_model(name: str, folder: Path, rounds: int, limit: float) -> dict[str, Measurement]:
    """Measure all tools on one model, in turns; a tool that has reached its limit is not asked again."""
    path = folder / f"{name}.npz"
    models.save(models.MAKERS[name](), path)
    found = {tool: Measurement(limit * 10 if tool in NEVER_CUT_SHORT else limit) for tool in HEADINGS}
    waiting = list(HEADINGS)
    # Solves of milliseconds need many: the speed of a shared machine drifts from second to second.
    rounds, repeat = (3 * rounds, 25) if name in SMALL else (rounds, 5)
    for _ in range(rounds):
        for tool in list(waiting):
            measure(tool, path, found[tool], repeat)
            if not found[tool].rounds:
                waiting.remove(tool)
            print(f"  {name:6} {HEADINGS[tool]:26} {found[tool]}", file=sys.stderr, flush=True)
    path.unlink()
    return found


def faster(found: dict[str, Measurement], tool: str, target: float | None) -> str:
    """Say how many times faster goalward is, by smallest times and (by rounds); an aim has to be met by both."""
    peer, own = found[tool], found["goalward"]
    theirs = [statistics.median(one) for one in peer.rounds] or [peer.limit] * len(own.rounds)
    by_round = [other / statistics.median(one) for other, one in zip(theirs, own.rounds, strict=True)]
    ratios = [peer.least / own.least, statistics.median(by_round)]
    return ratio_text(ratios, target, cut=not peer.rounds, rough=peer.disturbed or own.disturbed)


def ratio_text(ratios: list[float], target: float | None, *, cut: bool, rough: bool) -> str:
    text = f"{'> ' if cut else '~' if rough else ''}{ratios[0]:.1f} ({ratios[1]:.1f})"
    if target is None:
        return text
    if min(ratios) >= target:
        return f"{text}, aim {target:g}"
    return f"**{text}**, aim {target:g} {'missed' if max(ratios) < target else 'missed by one of the two'}"


def table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times_table(results: dict[str, dict[str, Measurement]]) -> str:
    rows = []
    for name, found in results.items():
        states = len(found["goalward"].answer["values"])
        rows.append([name, f"{states}", *(str(found[tool]) for tool in HEADINGS)])
    return table(["model", "states", *HEADINGS.values()], rows)


def ratios_table(results: dict[str, dict[str, Measurement]]) -> str:
    rows = []
    for name, found in results.items():
        aims = dict.fromkeys(("sweeps", "quantecon"), TIMES_FASTER_THAN_SWEEPS)
        if name in STORM_TARGETS:
            aims["storm-ovi"] = TIMES_FASTER_THAN_STORM
        peers = [tool for tool in HEADINGS if not tool.startswith("goalward")]
        rows.append([name, *(faster(found, tool, aims.get(tool)) for tool in peers)])
    return table(["model", *(HEADINGS[tool] for tool in HEADINGS if not tool.startswith("goalward"))], rows)


def agreement_table(results: dict[str, dict[str, Measurement]]) -> str:
    rows = []
    for name, found in results.items():
        ours = found["goalward"].answer
        width = float(np.max((ours["upper"] - ours["lower"]) / ours["upper"]))
        cells = [name, found["goalward"].note, f"{width:.1e}"]
        for tool in ("storm-ovi", "storm-vi", "sweeps"):
            theirs = found[tool].answer
            if not theirs:
                cells.append("")
                continue
            cells.append(f"{np.max(np.abs(theirs['values'] / ours['values'] - 1)):.1e}")
            if "upper" in theirs:
                apart = (theirs["lower"] > ours["upper"]) | (theirs["upper"] < ours["lower"])
                cells[-1] += ", intervals meet" if not apart.any() else f", **{apart.sum()} intervals do not meet**"
        rows.append(cells)
    peers = [f"largest relative difference from {HEADINGS[tool]}" for tool in ("storm-ovi", "storm-vi", "sweeps")]
    return table(["model", "method", "proved relative width", *peers], rows)


def budgets_table(folder: Path) -> str:
    rows = []
    for name, (what, unit, target) in BUDGETS.items():
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            environment = one_core_environment() | ({"GOALWARD_CACHE_DIR": cache} if name.startswith("compile") else {})
            command = [sys.executable, str(HERE / "budgets.py"), name]
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True).stdout
        figure = json.loads(printed.splitlines()[-1])
        aim, verdict = "", ""
        if target is not None:
            aim, verdict = f"< {target:g} {unit}", "met" if figure["median"] < target else "**missed**"
        rows.append([what, f"{figure['least']:.3g} ({figure['median']:.3g}) {unit}", aim, verdict])
        print("  " + "  ".join(rows[-1]), file=sys.stderr, flush=True)
    return table(["what", "measured", "aim", ""], rows)


def package_digest() -> str:
    """Hash the sources of the goalward that is measured, wherever it is installed."""
    found = importlib.util.find_spec("goalward")
    if found is None or found.origin is None:
        raise SystemExit("goalward is not installed: run make bench-planner")
    digest = hashlib.sha256()
    for path in sorted(Path(found.origin).parent.rglob("*.py")):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def machine() -> str:
    """Name processor and versions; nothing that tells one machine of a kind from another."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    script = (
        "from importlib.metadata import version as v; print('stormpy', v('stormpy') + ', quantecon', v('quantecon'))"
    )
    peers = subprocess.run([str(PEERS_PYTHON), "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout
    own = ", ".join(f"{name} {metadata.version(name)}" for name in ("goalward", "numpy", "scipy", "numba"))
    return f"{processor}, {os.cpu_count()} cores; Python {platform.python_version()}, {own}, {peers.strip()}"


def report(results: dict[str, dict[str, Measurement]], budgets: str, digest: str) -> str:
    return f"""# The planner against its peers

Written by `make bench-planner`. {machine()}.
Load average when the run ended: {os.getloadavg()[1]:.1f}. Digest of goalward's sources: {digest}.

CPU seconds of one solve on one core, smallest (median) of all repetitions, the model in memory before; all graph
analysis included. goalward proves `upper - lower <= 1e-6 upper` at every state; Storm's optimistic value iteration
(OVI) proves a relative width of 2e-6 and returns the middle; the others stop at a change of 1e-6 and prove nothing.
"Warm" is a model whose probabilities moved by up to 1 %, started from the unmoved model's solution. Models and tools
are described in `benchmarks/models.py` and `benchmarks/peers.py`. A figure marked ~ comes from rounds whose best times
differ by more than {SPREAD - 1:.0%}: the machine was busy with something else.

## Times

{times_table(results)}

## How many times faster goalward is (cold)

By smallest times, and in brackets by rounds: tools take turns, and the median over the rounds of the ratio of their
medians is given, so that both had the machine as it was at that time. An aim has to be met by both.

{ratios_table(results)}

## Do the answers agree

{agreement_table(results)}

## Budgets

Smallest (median) figure; the median decides.

{budgets}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the planner against its peers and its budgets.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"some of {', '.join(models.MAKERS)}; default all")
    parser.add_argument("--rounds", type=int, default=3, help="turns of all tools on each model")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one solve by the other tools")
    given = parser.parse_args()
    unknown = set(given.models) - set(models.MAKERS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(models.MAKERS)}")
    if not PEERS_PYTHON.exists():
        parser.error("the peers are not installed: run make bench-planner")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    digest = package_digest()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        budgets = budgets_table(folder)
        chosen = given.models or list(models.MAKERS)
        results = {model: measure_model(model, folder, given.rounds, given.limit) for model in chosen}
    if package_digest() != digest:
        raise SystemExit("goalward was edited during the run, so its figures belong to no one version: run it again")
    text = report(results, budgets, digest)
    print(text)
    if not given.models:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
