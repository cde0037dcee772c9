"""Learning times of PSRL-SSP and its rivals by the size of the world: `make bench-sizes`.

Each case learns for some CPU seconds in a separate process, after the kernels are loaded and the world is solved. An
epoch is one plan and the steps that follow it; its time is the CPU time of the run divided by the number of epochs. For
a Dirichlet belief, the floor is the CPU time that NumPy needs to draw one gamma variate per entry of the final belief.
Whole runs end at their last episode or at a limit of CPU time. The tables go to the terminal and to
benchmarks/results/sizes.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import goalward as gw
import models
from budgets import peak_megabytes
from goalward.beliefs.dirichlet import DirichletBelief, dirichlet_rows
from mountain_car import mountain_car
from processes import CutShortError, duration, exponent, machine, one_core, records, say, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "sizes.md"
SECONDS, QUICK_SECONDS = 6.0, 1.0
LIMIT = 120.0  # CPU seconds that a case may take beyond its learning time
ENDLESS = 10**7
RIVALS = ("psrl", "bernstein-ssp", "eb-ssp", "uc-ssp", "ulcvi")


def grid(side: int) -> gw.SSP:
    return gw.worlds.grid_world(side, side) if side > 3 else gw.worlds.grid_world()


def dense_world(states: int) -> gw.SSP:
    costs = np.random.default_rng(1).uniform(0.5, 1.5, (states, models.ACTIONS))
    return gw.SSP.from_dense(models.dense(states, 0), costs)


PRIORS: dict[str, Callable[[gw.SSP], gw.beliefs.Prior]] = {
    "dense Dirichlet(0.1)": lambda world: gw.Dirichlet(0.1),
    "Dirichlet(0.1) on a known support": lambda world: gw.Dirichlet(0.1, support=world),
    "neighbourhoods, successors unknown": lambda world: gw.Neighbourhoods(),
}
SIDES = [(3, 5, 10, 20, 30), (3, 10, 30, 100), (10, 30, 100)]
# name: (label of the world, prior, function that makes the world)
LEARNING: dict[str, tuple[str, str, Callable[[], gw.SSP]]] = {
    f"{re.split('[ (,]', prior)[0].lower()}-{side}": (
        "3 x 4 grid" if side == 3 else f"{side} x {side} grid",
        prior,
        lambda side=side: grid(side),
    )
    for prior, sides in zip(PRIORS, SIDES, strict=True)
    for side in sides
}
LEARNING["random-200"] = ("random, 200 dense states", next(iter(PRIORS)), lambda: dense_world(200))
# name: (episodes, limit of CPU seconds)
WHOLE_RUNS = {"dirichlet-100": (2_000, 1200.0)}
WORLDS: dict[str, Callable[[], gw.SSP]] = {
    "3 x 4 grid": lambda: grid(3),
    "6 x 6 grid": lambda: grid(6),
    "10 x 10 grid": lambda: grid(10),
    "mountain car": mountain_car,
}


def timed_run(agent: gw.agents.Agent, world: gw.SSP, seconds: float) -> tuple[gw.Run, float]:
    """Learn for some CPU seconds; return the run and its CPU seconds after the first step."""
    gw.learn(agent, world, 1, max_steps=1)
    print(json.dumps({"begin": True}), flush=True)
    began = time.process_time()
    gw.learn(agent, world, 1, max_steps=1)
    first = time.process_time() - began
    began = time.process_time()
    run = gw.learn(agent, world, ENDLESS, watch=lambda *_: time.process_time() - began < seconds)
    return run, max(time.process_time() - began - first, 1e-9)


def learning_case(name: str, seconds: float) -> dict[str, float]:
    _, prior, make = LEARNING[name]
    world = make()
    run, spent = timed_run(gw.agents.PSRL(prior=PRIORS[prior](world)), world, seconds)
    found = {
        "states": world.states,
        "steps": run.total_steps / spent,
        "epochs": len(run.epochs),
        "epoch": spent / len(run.epochs),
        "peak": peak_megabytes(),
    }
    belief = run.agent.belief
    if isinstance(belief, DirichletBelief):
        rng, shapes = np.random.default_rng(0), belief.alpha
        floor = min(seconds_of(lambda: rng.standard_gamma(shapes)) for _ in range(5))
        draw = min(seconds_of(lambda: dirichlet_rows(rng, belief.indptr, shapes)) for _ in range(5))
        found |= {"variates": np.size(shapes), "floor": floor, "draw": draw}
    return found


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def whole_run(name: str, seconds: float) -> dict[str, float]:
    """Learn until the last episode or the CPU limit; return the size, the time and the memory of the run."""
    world, (episodes, limit) = LEARNING[name][2](), WHOLE_RUNS[name]
    agent = gw.agents.PSRL(prior=PRIORS[LEARNING[name][1]](world))
    gw.learn(agent, world, 1, max_steps=1)
    print(json.dumps({"begin": True}), flush=True)
    began = time.process_time()
    run = gw.learn(agent, world, episodes, watch=lambda *_: time.process_time() - began < min(limit, seconds))
    spent = time.process_time() - began
    done = int(np.count_nonzero(run.reached))
    return {"episodes": done, "epochs": len(run.epochs), "seconds": spent, "peak": peak_megabytes()}


def rival_case(name: str, world_name: str, seconds: float) -> dict[str, float]:
    world = WORLDS[world_name]()
    paper = {"prior": gw.Dirichlet(0.1)} if name == "psrl" else {}
    agent = gw.agents.find(name).from_world(world, episodes=10_000, **paper)
    run, spent = timed_run(agent, world, seconds)
    epochs = len(run.epochs)
    return {"states": world.states, "step": spent / run.total_steps, "epoch": spent / epochs if epochs else 0.0}


def case(*arguments: str) -> dict[str, float] | None:
    """Run one case in a separate process and return its measurements; None if it reached the limit."""
    limit = LIMIT + float(arguments[-1])
    try:
        found = records([sys.executable, str(Path(__file__).resolve()), "--case", *arguments], limit)[-1]
    except CutShortError:
        say(f"  {' '.join(arguments)}: more than {limit:.0f} s")
        return None
    say(f"  {' '.join(arguments)}: {found}")
    return found


def learning_table(seconds: float) -> str:
    found = {name: case("learning", name, f"{seconds}") for name in LEARNING}
    rows = []
    for name, (world, prior, _) in LEARNING.items():
        one = found[name]
        if one is None:
            rows.append([prior, world, "", f"no epoch in {LIMIT:.0f} s", *[""] * 5])
            continue
        floor = [duration(one["floor"]), f"{one['epoch'] / one['floor']:.2g}"] if "floor" in one else ["", ""]
        size = [f"{one['states']:,}", duration(one["epoch"]), *floor]
        rows.append([prior, world, *size, f"{one['steps']:,.0f}", f"{one['epochs']:,}", f"{one['peak']:.0f} MB"])
    heading = ["prior", "world", "states", "epoch", "floor", "epoch / floor", "steps/s", "epochs", "peak memory"]
    growth = []
    for prior in PRIORS:
        points = [one for name, one in found.items() if one and LEARNING[name][1] == prior and one["states"] > 50]
        fitted = exponent([one["states"] for one in points], [one["epoch"] for one in points])
        growth.append([prior, "" if fitted is None else f"{fitted:.2f}"])
    exponents = table(["prior", "exponent of the epoch time in S, above 50 states"], growth)
    unknown, known = found["neighbourhoods-100"], found["dirichlet-100"]
    ratio = "not measured" if unknown is None or known is None else f"{unknown['epoch'] / known['epoch']:.2f}"
    return (
        f"{table(heading, rows)}\n\nOn the 100 x 100 grid, the epoch time with unknown successors divided"
        f" by the epoch time with known support is {ratio}.\n\n{exponents}"
    )


def whole_runs_table(seconds: float) -> str:
    rows = []
    for name, (episodes, limit) in WHOLE_RUNS.items():
        world, prior, _ = LEARNING[name]
        one = case("whole", name, f"{seconds}")
        if one is None:
            rows.append([prior, world, f"{episodes:,}", "limit reached", *[""] * 3])
            continue
        cut = "" if one["episodes"] == episodes else f", cut off after {one['episodes']:,.0f} episodes"
        took = f"{one['seconds']:.0f} s{cut}"
        rows.append(
            [prior, world, f"{episodes:,}", took, f"{limit:.0f} s", f"{one['epochs']:,}", f"{one['peak']:.0f} MB"]
        )
    return table(["prior", "world", "episodes", "CPU time", "limit", "epochs", "peak memory"], rows)


def rivals_table(seconds: float) -> str:
    rows = []
    for name in RIVALS:
        found = {world: case("rival", name, world, f"{seconds}") for world in WORLDS}
        answered = [one for one in found.values() if one]
        fitted = exponent([one["states"] for one in answered], [one["step"] for one in answered])
        cells = ["" if one is None else f"{duration(one['step'])} ({duration(one['epoch'])})" for one in found.values()]
        rows.append([name, *cells, "" if fitted is None else f"{fitted:.2f}"])
    return table(["agent", *WORLDS, "exponent of the step time in S"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="learn for less time in each case, and write no file")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU seconds of learning in each case")
    parser.add_argument("--whole", action="store_true", help="continue whole runs up to their limit: half an hour more")
    parser.add_argument("--case", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        kind, *which, seconds = given.case
        gw.warm_up()
        kinds = {"learning": learning_case, "rival": rival_case, "whole": whole_run}
        print(json.dumps(kinds[kind](*which, float(seconds))))
        return
    one_core()
    seconds = QUICK_SECONDS if given.quick else given.seconds
    whole = max(limit for _, limit in WHOLE_RUNS.values()) if given.whole else 10.0 * seconds
    text = f"""# Learning by size

Written by `make bench-sizes`. {machine()}

## PSRL-SSP by prior and size

Times are CPU times on one core, for {seconds:.0f} s of learning in each row. The floor is the time that NumPy needs to
draw the gamma variates of one epoch.

{learning_table(seconds)}

## Whole runs

Each run stops after {whole:.0f} s of CPU time; `python benchmarks/sizes.py --whole` stops it at the limit in the table.

{whole_runs_table(whole)}

## Rivals by size

The table shows the CPU time of a step, including learning, and in brackets that of an epoch. Each agent learns for
{seconds / 2:.0f} s in each world, with the theory's constants.

{rivals_table(seconds / 2)}
"""
    print(text)
    if not given.quick:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
