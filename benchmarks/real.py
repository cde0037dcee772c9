"""Time to load and solve the UMB files of a folder, compared with Storm: `make bench-real FOLDER=path/to/models`.

Every file must have the label ``goal`` and one reward structure, ``cost``. The tools take turns in several rounds over
all files, on one core. Each repetition loads the file again; the smallest CPU time of all repetitions counts. The table
goes to the terminal and to the file of --out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from families import PEERS_PYTHON
from processes import CutShortError, duration, machine, one_core, records, say, table

HERE = Path(__file__).resolve().parent
TOOLS = ("goalward", "storm-ovi", "storm-topo")
BRIEF = 1e-3  # seconds; solves that take Storm less measure mostly fixed costs


@dataclass
class Times:
    """CPU seconds of one tool on one file; empty if no repetition finished within the limit."""

    load: list[float] = field(default_factory=list)
    solve: list[float] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)

    def take(self, printed: list[dict[str, Any]]) -> None:
        self.load += [record["load"] for record in printed]
        self.solve += [record["solve"] for record in printed if "solve" in record]
        self.last = printed[-1] if printed else self.last


Found = dict[str, Times]


def measure(tool: str, paths: list[Path], results: dict[str, Found], limit: float, *options: str) -> None:
    """Measure a tool on some files, and add the CPU seconds to `results`."""
    python = sys.executable if tool == "goalward" else str(PEERS_PYTHON)
    waiting = list(paths)
    while waiting:
        command = [python, str(HERE / "model_files.py"), tool, *map(str, waiting), *options]
        try:
            printed = records(command, limit)
            done = waiting
        except CutShortError as cut:
            printed = cut.records
            done = waiting[: sum("file" in record for record in printed)]
        begins = [place for place, record in enumerate(printed) if "file" in record]
        for path, begin, end in zip(done, begins, [*begins[1:], len(printed)], strict=True):
            times = results[path.name].setdefault(tool, Times())
            times.take(printed[begin + 1 : end])
            shown = [duration(min(part)) for part in (times.load, times.solve) if part]
            say(f"  {tool:10} {path.name:32} {' '.join(shown) or 'limit reached'}")
        waiting = waiting[len(done) :]


def ratios(found: Found) -> dict[str, float]:
    """Return goalward's load time divided by Storm's, and Storm's solve and total times divided by goalward's."""
    ours, theirs = found["goalward"], [found[tool] for tool in TOOLS[1:] if found[tool].solve]
    load = min(min(times.load) for times in theirs)
    solve = min(min(times.solve) for times in theirs)
    return {
        "load": min(ours.load) / load,
        "solve": solve / min(ours.solve),
        "both": (load + solve) / (min(ours.load) + min(ours.solve)),
        "storm": solve,
    }


def report(results: dict[str, Found]) -> str:
    rows, every = [], {name: ratios(found) for name, found in results.items()}
    for name, found in results.items():
        ours, ratio = found["goalward"], every[name]
        theirs = [found[tool] for tool in TOOLS[1:] if found[tool].solve]
        apart = max(abs(times.last["value"] / ours.last["value"] - 1.0) for times in theirs)
        times = [
            *(duration(min(part)) for part in (ours.load, ours.solve)),
            duration(min(min(times.load) for times in theirs)),
            duration(ratio["storm"]),
        ]
        sizes = [f"{ours.last[key]:,}" for key in ("states", "transitions")]
        shown = [f"{ratio[key]:.2f}" for key in ("load", "solve", "both")]
        shown[1] = shown[1] if ratio["solve"] >= 1.0 else f"**{shown[1]}**"
        rows.append([name, *sizes, *times, *shown, f"{apart:.0e}"])
    heading = ["file", "states", "transitions", "goalward load", "goalward solve", "Storm load", "Storm solve"]
    heading += ["load, goalward / Storm", "solve, Storm / goalward", "both, Storm / goalward", "difference of values"]
    long = [ratio for ratio in every.values() if ratio["storm"] >= BRIEF]
    lines = [table(heading, rows), ""]
    for what, some in (("all files", list(every.values())), ("files that take Storm 1 ms or more to solve", long)):
        if some:
            medians = [
                f"{key} {statistics.median(ratio[key] for ratio in some):.2f}" for key in ("load", "solve", "both")
            ]
            won = sum(ratio["solve"] >= 1.0 for ratio in some)
            lines.append(f"Median ratios of {what}: {', '.join(medians)}. goalward solves {won} of {len(some)} faster.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Load and solve UMB files, compared with Storm.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", help="files in the folder to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds for one repetition")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.umb"))
    if given.files:
        paths = [path for path in paths if path.name in given.files or path.stem in given.files]
    if not paths:
        parser.error(f"no UMB files in {given.folder}")
    one_core()
    results: dict[str, Found] = {path.name: {} for path in paths}
    for number in range(given.rounds):
        say(f"round {number + 1} of {given.rounds}")
        for tool in TOOLS:
            measure(tool, paths, results, given.limit)
    text = f"""# Models of public benchmark sets, compared with Storm

Written by `make bench-real`. {machine(PEERS_PYTHON, ("stormpy",))}

Times are CPU times on one core: the smallest of all repetitions in {given.rounds} rounds of all tools. Each repetition
loads the file again. Storm's solve time is that of the faster of its two sound methods. goalward proves bounds of
relative width 1e-6, and Storm bounds of relative width 2e-6.

{report(results)}
"""
    print(text)
    if given.out:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
