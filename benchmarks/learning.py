"""Regret, speed and memory of learning, compared with plain NumPy and with targets: `make bench-learning`.

Times are CPU times on one core. goalward and examples/psrl_in_numpy.py take turns in the same process; the best
repetition counts, and the table also shows the median. Compile times and memory are measured in fresh processes. The
tables go to the terminal and to benchmarks/results/learning.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import goalward as gw
from processes import exponent, machine, say, table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))
from psrl_in_numpy import psrl_ssp  # noqa: E402

RESULTS = HERE / "results" / "learning.md"
EPISODES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="use fewer seeds and repetitions, and write no file")
    parser.add_argument("--part", choices=("compile", "large"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps({"compile": compile_part, "large": large_part}[arguments.part]()))
        return
    seeds = 8 if arguments.quick else 40
    sections: list[tuple[str, Callable[[], str]]] = [
        ("Regret after 10,000 episodes", lambda: regret_table(seeds)),
        ("Speed, 10,000 episodes of GridWorld with Dirichlet(0.1)", lambda: speed_table(3 if arguments.quick else 9)),
        ("Speed of a fixed policy, five successors", growth_table),
        ("Compile time, planning time and memory", budget_table),
    ]
    body = ""
    for title, make_table in sections:
        say(f"  {title}")
        body += f"\n\n## {title}\n\n{make_table()}"
    text = f"# Learning\n\nWritten by `make bench-learning`. {machine()}{body}\n"
    print(text)
    if not arguments.quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text, encoding="utf-8")


def regret_table(seeds: int) -> str:
    rows = []
    for name in ("grid-world", "random-mdp"):
        world = gw.worlds.make(name)
        uniform = gw.evaluate(world, uniform_policy(world)).costs
        loss = EPISODES * (uniform[world.initial_state] - gw.solve(world).values[world.initial_state])
        runs = [gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, EPISODES, seed) for seed in range(seeds)]
        for kind in ("regret", "gap_regret"):
            found = np.array([getattr(run, kind)[-1] for run in runs])
            half = 1.96 * found.std(ddof=1) / np.sqrt(seeds)
            share = f"{100 * found.mean() / loss:.2f} % ({100 * np.median(found) / loss:.2f} %)"
            rows.append([name, kind, f"{found.mean():.0f} ± {half:.0f}", f"{np.median(found):.0f}", share])
    share_heading = "mean (median) as a share of the uniform policy's regret"
    heading = ["world", "kind", f"mean of {seeds} seeds, 95 %", "median", share_heading]
    return table(heading, rows)


def uniform_policy(world: gw.SSP) -> np.ndarray:
    return world.available / world.available.sum(axis=1, keepdims=True)


def speed_table(repetitions: int) -> str:
    world = gw.worlds.grid_world()
    P, costs = world.to_dense(), np.array(world.costs)
    gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, 10, seed=0)
    found: dict[str, list[float]] = {"goalward": [], "plain": []}
    for seed in range(repetitions):
        began = time.process_time()
        steps = gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, EPISODES, seed).total_steps
        found["goalward"].append(steps / (time.process_time() - began))
        began = time.process_time()
        steps = int(psrl_ssp(P, costs, world.initial_state, EPISODES, seed).sum())  # every step costs one
        found["plain"].append(steps / (time.process_time() - began))
    names = {"goalward": "goalward", "plain": "plain NumPy (examples/psrl_in_numpy.py)"}
    rows = []
    for name, title in names.items():
        ratios = [ours / theirs for ours, theirs in zip(found["goalward"], found[name], strict=True)]
        best = f"{max(found[name]):,.0f} ({statistics.median(found[name]):,.0f})"
        rows.append([title, best, "" if name == "goalward" else f"{statistics.median(ratios):.1f}"])
    rows.append(["target", "> 1,000,000", "> 10"])
    return table(["", "steps per CPU second, learning included: best (median)", "speedup of goalward, median"], rows)


def sparse_world(states: int, actions: int = 4, successors: int = 5, seed: int = 0) -> gw.SSP:
    rng = np.random.default_rng(seed)
    rows = states * actions
    targets = np.argsort(rng.random((rows, 2 * successors)), axis=1)[:, :successors]
    targets = (targets * (states // (2 * successors)) + rng.integers(0, states // (2 * successors), (rows, 1))) % states
    targets[:, 0] = np.where(rng.random(rows) < 0.2, states, targets[:, 0])
    weights = rng.dirichlet(np.ones(successors), rows)
    indptr = np.arange(rows + 1) * successors
    return gw.SSP.from_rows(indptr, targets.ravel(), weights.ravel(), rng.uniform(0.1, 1.0, (states, actions)))


def growth_table() -> str:
    rows = []
    sizes, figures = (20, 200, 2_000, 20_000), []
    for states in sizes:
        world = sparse_world(states)
        agent = gw.agents.Optimal(world)
        gw.learn(agent, world, 10)
        setup = min(cpu(lambda agent=agent, world=world: gw.learn(agent, world, 1)) for _ in range(3))
        steps = gw.learn(agent, world, 100_000, seed=1).total_steps
        taken = min(cpu(lambda agent=agent, world=world: gw.learn(agent, world, 100_000, seed=1)) for _ in range(3))
        figures.append((taken - setup) / steps)
        rows.append([f"{states:,}", f"{figures[-1] * 1e9:.0f} ns"])
    rows.append(["exponent in S", f"{exponent(sizes, figures):.2f}"])
    return table(["states", "CPU time per step"], rows)


def cpu(call: object) -> float:
    began = time.process_time()
    call()  # type: ignore[operator]
    return time.process_time() - began


def budget_table() -> str:
    with tempfile.TemporaryDirectory() as cache:
        first = fresh_process("compile", GOALWARD_CACHE_DIR=cache)
        second = fresh_process("compile", GOALWARD_CACHE_DIR=cache)
    large = fresh_process("large")
    rows = [
        ["first call, empty cache, CPU", f"{first['seconds']:.1f} s", "< 10 s"],
        ["first call of the next process, CPU", f"{second['seconds']:.2f} s", "< 1 s"],
        ["2,000 states, 4 actions, 5 successors: epoch", f"{large['epoch']:.1f} ms", "< 50 ms"],
        ["the same: draw a model", f"{large['sample']:.1f} ms", ""],
        ["the same: peak memory of the process", f"{large['peak']:.0f} MB", "< 300 MB"],
    ]
    return table(["what", "measured", "target"], rows)


def fresh_process(part: str, **environment: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--part", part]
    printed = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | environment, check=True
    ).stdout
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def compile_part() -> dict[str, float]:
    """Return the CPU seconds of a process's first `learn`, which compiles or loads kernels; imports are excluded."""
    world = gw.worlds.grid_world()
    agent = gw.agents.PSRL(gw.Dirichlet(0.1))
    return {"seconds": cpu(lambda: gw.learn(agent, world, 10))}


def large_part() -> dict[str, float]:
    gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), gw.worlds.grid_world(), 10)
    world = sparse_world(2_000)
    agent = gw.agents.PSRL(prior=gw.Dirichlet(0.1, support=world))
    gw.learn(agent, world, 1)
    began = time.process_time()
    run = gw.learn(agent, world, 200)
    taken = time.process_time() - began
    rng = np.random.default_rng(0)
    belief = run.agent.belief  # type: ignore[attr-defined]
    sample = min(cpu(lambda: belief.sample(rng)) for _ in range(5))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"epoch": taken / len(run.epochs) * 1e3, "sample": sample * 1e3, "peak": peak}


if __name__ == "__main__":
    main()
