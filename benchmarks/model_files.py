"""Load model files with one tool and solve them, in a separate process.

    python benchmarks/model_files.py TOOL FILE... --repeat 5 [--load-only --small FILE]

The script prints JSON lines: one with the name of each file, one before each repetition, and one after it. The last has
the CPU seconds of loading and of solving, the value of the initial state, and the sizes. Each repetition loads the file
again. With --load-only, the process loads one file without solving it, and also prints the peak memory of loading. For
comparison, it first loads a small file of the same format: the peak memory of this is the fixed cost of a process.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

TOLERANCE = 1e-6
ENOUGH = 2.0  # stop repeating a file after this many CPU seconds


class Goalward:
    """`SSP.load` and `solve`; `warm_up` has compiled or loaded the kernels."""

    def __init__(self) -> None:
        import goalward

        self.goalward = goalward
        goalward.warm_up()

    def load(self, path: Path) -> Any:
        return self.goalward.SSP.load(path)

    def solve(self, model: Any) -> Any:
        return self.goalward.solve(model, tolerance=TOLERANCE)

    def value(self, model: Any, solution: Any) -> float:
        return float(solution.values[model.initial_state])

    def sizes(self, model: Any) -> dict[str, int]:
        arrays = model.arrays
        return {
            "states": model.states,
            "transitions": len(model.successors),
            "bytes": sum(array.nbytes for array in arrays),
        }


class Storm:
    """Storm's sparse engine through stormpy, with a sound method."""

    method = "OPTIMISTIC_VALUE_ITERATION"

    def __init__(self) -> None:
        import stormpy
        from stormpy.environments import Environment, MinMaxMethod

        self.stormpy = stormpy
        self.environment = Environment()
        solver = self.environment.solver()
        solver.force_soundness = True
        solver.min_max().method = MinMaxMethod[self.method]
        solver.min_max().precision = stormpy.Rational(TOLERANCE)
        solver.min_max().relative_termination_criterion = True
        self.formula = stormpy.parse_property('R{"cost"}min=? [F "goal"]')

    def load(self, path: Path) -> Any:
        build = self.stormpy.build_model_from_umb if path.suffix == ".umb" else self.stormpy.build_model_from_drn
        return build(str(path))

    def solve(self, model: Any) -> Any:
        return self.stormpy.model_checking(model, self.formula, environment=self.environment)

    def value(self, model: Any, result: Any) -> float:
        return float(result.get_value_vector()[model.initial_states[0]])

    def sizes(self, model: Any) -> dict[str, int]:
        return {"states": model.nr_states, "transitions": model.nr_transitions}


class StormTopological(Storm):
    """Storm's topological method: it solves one strongly connected component after the other."""

    method = "TOPOLOGICAL"


TOOLS: dict[str, Any] = {"goalward": Goalward, "storm-ovi": Storm, "storm-topo": StormTopological}


def memory(name: str) -> int:
    """Return the memory of this process in bytes: its current memory for VmRSS, its peak for VmHWM (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def start_memory() -> int:
    """Reset the peak memory VmHWM, and return the current memory in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--load-only", action="store_true")
    parser.add_argument("--small", type=Path)
    given = parser.parse_args()
    tool = TOOLS[given.tool]()
    for path in given.files:
        print(json.dumps({"file": path.name}), flush=True)
        spent = 0.0
        if given.load_only:
            before = start_memory()
            tool.load(given.small)
            print(json.dumps({"fixed": memory("VmHWM") - before}), flush=True)
            before = start_memory()
        for _ in range(given.repeat):
            print(json.dumps({"begin": True}), flush=True)
            began = time.process_time()
            model = tool.load(path)
            loaded = time.process_time()
            found = {"load": loaded - began} | tool.sizes(model)
            if given.load_only:
                found["memory"] = memory("VmHWM") - before
            else:
                loaded = time.process_time()
                answer = tool.solve(model)
                found["solve"] = time.process_time() - loaded
                found["value"] = tool.value(model, answer)
            print(json.dumps(found), flush=True)
            spent += found["load"] + found.get("solve", 0.0)
            del model
            if spent > ENOUGH:
                break


if __name__ == "__main__":
    main()
