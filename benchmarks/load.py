"""Time and memory to load a model from each file format, compared with Storm: `make bench-load`.

Random models of 10^5 to 8 * 10^6 transitions (four actions, five successors) are written as UMB (plain, gzip, xz), DRN
and CSV, which Storm does not read. Separate processes load the files; the smallest CPU time of all repetitions in
several rounds counts. Memory is the peak during the first load, minus the memory before it, divided by the size of the
model's arrays. Each process first loads a file of the same format with SMALL transitions. The memory for this is the
fixed cost of the format: imports, read-ahead buffers and memory retained by allocators. The table goes to the terminal
and, unless you name sizes, to benchmarks/results/load.md.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import sys
import tempfile
from pathlib import Path

import models
from families import PEERS_PYTHON
from processes import duration, machine, one_core, records, say, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "load.md"
SIZES = (10**5, 10**6, 8 * 10**6)
SMALL = 2 * 10**4
KINDS = ("plain.umb", "gz.umb", "xz.umb", "drn", "csv")


def write_all(transitions: int, folder: Path) -> list[Path]:
    """Write one model in each format of `KINDS`, and return the paths."""
    import goalward as gw

    model = models.random_sparse(transitions // 20, 0.02, seed=0)
    ssp = gw.SSP.from_rows(**model | {"initial_state": int(model["initial_state"])})
    paths = [folder / f"{transitions}.{kind}" for kind in KINDS]
    plain, packed, packed_xz, *others = paths
    for path in (packed, *others):
        ssp.save(path)
    content = gzip.decompress(packed.read_bytes())
    plain.write_bytes(content)
    packed_xz.write_bytes(lzma.compress(content, preset=1))
    return paths


def read(tool: str, path: Path, repeat: int) -> tuple[float, list[dict[str, float]]]:
    """Load a file in a new process; return the fixed memory cost of its format in bytes, and one record per load."""
    python = sys.executable if tool == "goalward" else str(PEERS_PYTHON)
    command = [python, str(HERE / "model_files.py"), tool, str(path), "--load-only", "--repeat", str(repeat)]
    command += ["--small", str(path.with_name(f"{SMALL}.{path.name.partition('.')[2]}"))]
    found = records(command, 600.0)
    return next(record["fixed"] for record in found if "fixed" in record), [r for r in found if "load" in r]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how fast model files load, compared with Storm.")
    parser.add_argument("sizes", type=int, nargs="*", help="number of transitions of a model")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    one_core()
    rows = []
    fixed: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        write_all(SMALL, Path(name))
        for size in given.sizes or SIZES:
            for path in write_all(size, Path(name)):
                kind = path.name.partition(".")[2]
                ours: list[dict[str, float]] = []
                theirs: list[dict[str, float]] = []
                for _ in range(given.rounds):
                    fixed[kind], repetitions = read("goalward", path, given.repeat)
                    ours += repetitions
                    theirs += [] if kind == "csv" else read("storm-ovi", path, given.repeat)[1]
                least = min(record["load"] for record in ours)
                storm = min((record["load"] for record in theirs), default=None)
                memory = ours[0]["memory"] / ours[0]["bytes"]
                entries = f"{ours[0]['transitions']:,}"
                ratio = "" if storm is None else f"{least / storm:.2f}"
                shown = "" if storm is None else duration(storm)
                per = f"{least / ours[0]['transitions'] * 1e9:.0f} ns"
                rows.append([kind, entries, duration(least), shown, ratio, per, f"{memory:.1f}"])
                say("  ".join(rows[-1]))
                path.unlink()
    costs = [f"{size / 1e6:.0f} MB ({kind})" for kind, size in fixed.items()]
    heading = ["file", "transitions", "goalward", "Storm", "goalward / Storm", "per transition", "memory / arrays"]
    text = f"""# Loading models

Written by `make bench-load`. {machine(PEERS_PYTHON, ("stormpy",))}

Times are CPU times on one core: the smallest of all repetitions in {given.rounds} rounds of both tools. Memory is the
peak during the first load, minus the memory before it, divided by the size of the model's arrays. Before, each process
loaded a file of {SMALL:,} transitions in the same format. The fixed memory cost of this was {", ".join(costs)}.

{table(heading, rows)}
"""
    print(text)
    if not given.sizes:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
