"""The planner compared with Storm and QuantEcon, and with targets for time and memory: `make bench-planner`.

Everything runs on one core. The tools take turns in several rounds over all models, and the smallest time of all
repetitions counts. So a busy moment of the machine spoils one round of a tool, but not its result. A ratio divides
smallest times; "by rounds" is the median over rounds of the ratio of the tools' median times. If the best times of a
tool's rounds differ by more than the factor `SPREAD`, the machine was busy: the time is marked with ~, and its ratios
are rough. Models that take longer than `LONG` seconds are solved in the first round only. So are all models by the
tools that appear in no ratio. Models of a million states are skipped without --large.
The tables go to the terminal and, unless you name models, to benchmarks/results/planner.md.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import models
from families import FAMILIES, MAKERS, PEERS_PYTHON, family_of, kept
from processes import (
    CutShortError,
    duration,
    exponent,
    machine,
    one_core,
    one_core_environment,
    records,
    say,
    table,
)

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "planner.md"
HEADINGS = {
    "goalward": "goalward",
    "goalward-warm": "goalward, warm",
    "storm-ovi": "Storm OVI",
    "storm-topo": "Storm topological",
    "quantecon": "QuantEcon",
}
STORM = ("storm-ovi", "storm-topo")
PEERS = (*STORM, "quantecon")
LEAST_LIMIT, LONGER_THAN_OURS = 5.0, 20.0  # a peer's limit: seconds or multiples of goalward's time, whichever is more
LONG = 2.0
LARGE = {"g1000", "tire1e6", "race9e5", "layers1e6"}
SPREAD = 1.3
# Not in the growth table: these differ from their family in more than the number of states.
NO_GROWTH = {"g300s", "r1e5h", "rescue1e4-4", "rescue1e4-12", "consensus-2-64", "csma-2-6", "zeroconf-net"}
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
    """Times of one tool on one model; empty if no solve finished within the limit."""

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
    def short(self) -> bool:
        return bool(self.rounds) and self.least < LONG

    @property
    def least(self) -> float:
        return min(self.seconds, default=self.limit)

    @property
    def proved(self) -> bool:
        return not self.note.startswith("not proved")

    def __str__(self) -> str:
        if not self.seconds:
            return f"> {self.limit:.0f} s"
        return ("~" if self.disturbed else "") + duration(self.least) + ("" if self.proved else " (not proved)")


Found = dict[str, Measurement]


def measure(tool: str, names: list[str], folder: Path, results: dict[str, Found], limit: float) -> None:
    """Measure a tool on some models, and add the times to `results`.

    One process solves models with the same limit. If it reaches the limit, it is killed, and a new process continues
    with the next model.
    """
    python = sys.executable if tool.startswith("goalward") else str(PEERS_PYTHON)
    waiting = list(names)
    while waiting:
        limits = {name: limit if tool == "goalward" else peer_limit(results[name], limit) for name in waiting}
        together = [name for name in waiting if limits[name] == limits[waiting[0]]]
        for name in together:
            results[name].setdefault(tool, Measurement(limits[name]))
        command = [python, str(HERE / "peers.py"), tool, str(folder), *(str(kept(name)) for name in together)]
        try:
            printed = records(command, limits[together[0]])
            done = together
        except CutShortError as cut:
            printed = cut.records
            done = together[: sum("model" in record for record in printed)]
        begins = [place for place, record in enumerate(printed) if "model" in record]
        for name, begin, end in zip(done, begins, [*begins[1:], len(printed)], strict=True):
            take(results[name][tool], printed[begin + 1 : end], folder / f"{name}-{tool}.npz")
            say(f"  {HEADINGS[tool]:20} {name:15} {results[name][tool]}")
        waiting = [name for name in waiting if name not in done]


def take(into: Measurement, printed: list[dict[str, Any]], answer: Path) -> None:
    """Add the printed times of one round to a measurement."""
    if printed:
        into.rounds.append([record["seconds"] for record in printed])
        into.note = printed[-1]["note"]
        into.answer = into.answer or models.load(answer)
    answer.unlink(missing_ok=True)


def peer_limit(found: Found, limit: float) -> float:
    return min(limit, max(LEAST_LIMIT, LONGER_THAN_OURS * found["goalward"].least))


def measure_all(names: list[str], folder: Path, rounds: int, limit: float) -> dict[str, Found]:
    """Measure all tools on all models; the tools take turns in each round."""
    results: dict[str, Found] = {name: {} for name in names}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for tool in HEADINGS if number == 0 else ("goalward", *STORM):
            again = [name for name in names if number == 0 or results[name][tool].short]
            measure(tool, again, folder, results, limit)
    return results


def ratio(found: Found, tools: tuple[str, ...] = STORM) -> float:
    """Return how many times faster goalward is than the fastest of some tools; a lower bound if these were stopped."""
    return min(found[tool].least for tool in tools) / found["goalward"].least


def ratio_by_rounds(found: Found) -> float:
    ours = [statistics.median(one) for one in found["goalward"].rounds]
    theirs = [[statistics.median(one) for one in found[tool].rounds] for tool in STORM if found[tool].rounds]
    if not theirs or not ours:
        return ratio(found)
    return statistics.median(min(pair) / own for own, *pair in zip(ours, *theirs, strict=False))


def ratio_text(found: Found, tools: tuple[str, ...] = STORM) -> str:
    ours, theirs = found["goalward"], [found[tool] for tool in tools]
    if not ours.rounds:
        return "neither answered" if not any(peer.rounds for peer in theirs) else "**0**"
    cut = not any(peer.rounds for peer in theirs)
    rough = ours.disturbed or min(theirs, key=lambda peer: peer.least).disturbed
    text = f"{'> ' if cut else '~' if rough else ''}{ratio(found, tools):.2g}"
    return text if ratio(found, tools) >= 1.0 and ours.proved else f"**{text}**"


def families_table(results: dict[str, Found]) -> str:
    rows = []
    for name, found in results.items():
        ours = found["goalward"]
        states = len(ours.answer["values"]) if ours.answer else 0
        by_rounds = f"{ratio_by_rounds(found):.2g}" if ours.rounds else ""
        shown = [str(found[tool]) for tool in HEADINGS]
        rows.append([family_of(name), name, f"{states:,}", ratio_text(found), by_rounds, *shown])
    heading = ["family", "model", "states", "ratio", "by rounds", *HEADINGS.values()]
    return table(heading, rows)


def headline(results: dict[str, Found]) -> str:
    """Return a summary: on how many models goalward is faster than Storm, and the exceptions."""
    answered = {name: found for name, found in results.items() if found["goalward"].rounds}
    won = sum(ratio(found) >= 1.0 for found in answered.values())
    clear = sum(ratio(found) >= 2.0 for found in answered.values())
    lost = [f"{name} ({ratio(found):.2g})" for name, found in answered.items() if ratio(found) < 1.0]
    open_ones = [name for name, found in results.items() if not (found["goalward"].rounds and found["goalward"].proved)]
    middle = statistics.median(ratio(found) for found in answered.values())
    return (
        f"On {won} of {len(results)} models, goalward is at least as fast as the better of Storm's two sound methods."
        f" On {clear} models, it is at least twice as fast. The median ratio is {middle:.2g}."
        f" Models on which Storm is faster: {', '.join(lost) or 'none'}."
        f" Models without a proved answer: {', '.join(open_ones) or 'none'}."
    )


def growth_table(results: dict[str, Found]) -> str:
    rows = []
    for family, makers in FAMILIES.items():
        sized = [name for name in makers if name in results and name not in NO_GROWTH]
        cells = []
        for tool in ("goalward", *PEERS):
            points = [
                (len(results[name]["goalward"].answer["values"]), results[name][tool].least)
                for name in sized
                if results[name][tool].rounds and results[name]["goalward"].answer
            ]
            found = exponent(*zip(*points, strict=True)) if points else None
            cells.append("" if found is None else f"{found:.2f}")
        if any(cells):
            rows.append([family, " ".join(sized), *cells])
    return table(["family", "models", *(HEADINGS[tool] for tool in ("goalward", *PEERS))], rows)


def agreement_table(results: dict[str, Found]) -> str:
    rows = []
    for name, found in results.items():
        ours = found["goalward"].answer
        if not ours:
            continue
        finite = np.isfinite(ours["values"]) & (ours["values"] > 0.0)
        width = np.max(1.0 - ours["lower"][finite] / ours["upper"][finite])
        cells = [name, found["goalward"].note, f"{width:.1e}"]
        for tool in PEERS:
            theirs = found[tool].answer
            if not theirs:
                cells.append("")
                continue
            cells.append(f"{np.max(np.abs(theirs['values'][finite] / ours['values'][finite] - 1)):.1e}")
            if "upper" in theirs:
                # Storm does not round its bounds outwards: ignore one unit in the last place.
                slack = 1e-15 * ours["upper"]
                apart = (theirs["lower"] > ours["upper"] + slack) | (theirs["upper"] < ours["lower"] - slack)
                if apart.any():
                    cells[-1] += f", **{apart.sum()} intervals do not overlap**"
        rows.append(cells)
    peers = [f"largest relative difference from {HEADINGS[tool]}" for tool in PEERS]
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
        say("  " + "  ".join(rows[-1]))
    return table(["what", "measured", "target", ""], rows)


def package_digest() -> str:
    """Return a hash of the sources of the installed goalward."""
    found = importlib.util.find_spec("goalward")
    if found is None or found.origin is None:
        raise SystemExit("goalward is not installed: run make bench-planner")
    digest = hashlib.sha256()
    for path in sorted(Path(found.origin).parent.rglob("*.py")):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def report(results: dict[str, Found], budgets: str, digest: str, rounds: int, limit: float) -> str:
    missing = [name for name in MAKERS if name not in results]
    return f"""# The planner against its peers

Written by `make bench-planner`. {machine(PEERS_PYTHON, ("stormpy", "quantecon"))}
Digest of goalward's sources: {digest}.

{headline(results)}

## All families

Times are CPU seconds of one solve on one core: the smallest of all repetitions, with the model already in memory, and
with all graph analysis. The ratio is the time of the better of Storm's two methods divided by goalward's time. A ratio
below 1 (bold) is a loss. A ratio marked > is a lower bound, because Storm was stopped after
{LONGER_THAN_OURS:.0f} times goalward's time, or after {LEAST_LIMIT:.0f} s if that is more, but never after more
than {limit:g} s. There were {rounds} rounds, and one for models that take more than {LONG:g} s. "By rounds" is
the median over rounds of the ratio of median times.

goalward proves `upper - lower <= 1e-6 upper` at every state. Storm's optimistic value iteration (OVI) and topological
value iteration prove a relative width of 2e-6. QuantEcon stops at a change of 1e-6 and proves nothing. "Warm" means
that the probabilities of the model had changed by up to 1 %, and that goalward started from the earlier solution. The
models are described in `benchmarks/models.py`, `maps.py`, `graphs.py` and `protocols.py`, and the tools in
`benchmarks/peers.py`. A time marked ~ was measured on a busy machine: the best times of its rounds differ by more than
{SPREAD - 1:.0%}.

{families_table(results)}

Not measured in this run: {", ".join(missing) or "none"}.

## Growth

The table shows the exponent b of a least-squares fit: time = a S^b, where S is the number of states of a model.

{growth_table(results)}

## Agreement of the answers

The intervals of goalward and Storm are compared at every state. If two do not overlap, one of the tools is wrong.

{agreement_table(results)}

## Time and memory targets

The table shows the smallest (median) measurement. The median decides whether the target is met.

{budgets}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the planner with Storm and QuantEcon.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"model (default: all): {', '.join(MAKERS)}")
    parser.add_argument("--large", action="store_true", help="add models of a million states: half an hour more")
    parser.add_argument("--rounds", type=int, default=2, help="number of rounds")
    parser.add_argument("--limit", type=float, default=60.0, help="most CPU seconds for one solve by any tool")
    parser.add_argument("--out", type=Path, help="file for the tables")
    given = parser.parse_args()
    unknown = set(given.models) - set(MAKERS)
    if unknown:
        parser.error(f"unknown model: {', '.join(sorted(unknown))}; choose from {', '.join(MAKERS)}")
    if not PEERS_PYTHON.exists():
        parser.error("Storm and QuantEcon are not installed: run make bench-planner")
    one_core()

    digest = package_digest()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        budgets = "" if given.models else budgets_table(folder)
        chosen = given.models or [name for name in MAKERS if given.large or name not in LARGE]
        results = measure_all(chosen, folder, given.rounds, given.limit)
    if package_digest() != digest:
        raise SystemExit("the sources of goalward changed during the run, so the results mix versions: run it again")
    text = report(results, budgets or "Not measured in this run.", digest, given.rounds, given.limit)
    print(text)
    out = given.out or (None if given.models else RESULTS)
    if out:
        out.parent.mkdir(exist_ok=True)
        out.write_text(text)


if __name__ == "__main__":
    main()
