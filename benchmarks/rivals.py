"""PSRL-SSP's four rivals on GridWorld and on a discretised mountain car: `make bench-rivals`.

Regrets are means over seeds, with the standard error of the mean. Times are CPU seconds on one core. The agents take
turns; the smallest repetition counts, and the table also shows the median and the wall-clock time. Scales of the
confidence widths are tuned on separate seeds, and evaluated on the seeds of the first table. The tables go to the
terminal and to benchmarks/results/rivals.md; --quick makes fewer runs and writes no file.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import goalward as gw
from goalward.agents.optimistic.uc_ssp import radius
from mountain_car import mountain_car
from numpy_evi import evi_ssp
from processes import machine, table

RESULTS = Path(__file__).resolve().parent / "results" / "rivals.md"
RIVALS = ("bernstein-ssp", "eb-ssp", "uc-ssp", "ulcvi")
EPISODES = 10_000
TUNING_EPISODES = 3_000
MANY = 20
LIMITS = {"uc-ssp": 0.7, "bernstein-ssp": 1.0, "eb-ssp": 1.0, "ulcvi": 0.3}
# Expected mean regret with the theory's constants; the last column of the first table says whether it was met.
BANDS = {"bernstein-ssp": (50e3, 150e3), "uc-ssp": (20e3, 120e3), "ulcvi": (0.95 * 360.5e3, 1.05 * 360.5e3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="use fewer seeds and repetitions, and write no file")
    quick = parser.parse_args().quick
    gw.warm_up()
    world = gw.worlds.grid_world()
    seeds = range(3 if quick else 10)
    psrl = regrets("psrl", world, seeds)
    theory, tuned = "theory's constants", "tuned scales"
    sections: list[tuple[str, Callable[[], str]]] = [
        (f"GridWorld, 10,000 episodes, {theory}, delta = 0.1", lambda: theory_table(world, seeds, psrl)),
        ("ULCVI over 80,000 episodes", lambda: long_table(world, range(1 if quick else 10))),
        (f"GridWorld, 10,000 episodes, {tuned}", lambda: tuned_table(world, seeds, psrl, range(1 if quick else 4))),
        ("Gap regret by tie-breaking rule", lambda: ties_table(world, seeds[:3])),
        (f"Speed, 10,000 episodes of GridWorld, {theory}", lambda: speed_table(world, 3 if quick else 7)),
        ("UC-SSP's planner compared with NumPy", lambda: planner_table(world)),
        (f"126 states and 3 actions, 2,000 episodes, {theory}", large_table),
    ]
    text = f"# The rivals\n\nWritten by `make bench-rivals`. {machine()}\n"
    for title, make_body in sections:
        section = f"\n## {title}\n\n{make_body()}\n"
        print(section, flush=True)
        text += section
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text, encoding="utf-8")


def make(name: str, world: gw.SSP, episodes: int = EPISODES, **settings: object) -> gw.agents.Agent:
    paper = {"prior": gw.Dirichlet(0.1)} if name == "psrl" else {}
    return gw.agents.find(name).from_world(world, episodes=episodes, **paper, **settings)


def regrets(name: str, world: gw.SSP, seeds: range, **settings: object) -> np.ndarray:
    """Return the realised regret and the gap regret of each seed, ``[seeds, 2]``."""
    agent = make(name, world, **settings)
    runs = [gw.learn(agent, world, EPISODES, seed) for seed in seeds]
    return np.array([(run.regret[-1], run.gap_regret[-1]) for run in runs])


def shown(values: np.ndarray) -> str:
    return f"{values.mean():,.0f} ± {values.std(ddof=1) / np.sqrt(len(values)):,.0f}"


def theory_table(world: gw.SSP, seeds: range, psrl: np.ndarray) -> str:
    rows = [["psrl", shown(psrl[:, 0]), shown(psrl[:, 1]), "1", ""]]
    for name in (*RIVALS, "uniform"):
        found = regrets(name, world, seeds)
        low, high = BANDS.get(name, (0.0, np.inf))
        within = low <= found[:, 0].mean() <= high
        asked = f"{low:,.0f} to {high:,.0f}: {'yes' if within else 'NO'}" if name in BANDS else ""
        ratio = f"{found[:, 1].mean() / psrl[:, 1].mean():.0f}"
        rows.append([name, shown(found[:, 0]), shown(found[:, 1]), ratio, asked])
    return table(["agent", "regret", "gap regret", "gap regret / PSRL's", "expected regret"], rows)


def long_table(world: gw.SSP, seeds: range) -> str:
    episodes = 80_000
    agent = make("ulcvi", world, episodes)
    slopes = []
    for seed in seeds:
        regret = gw.learn(agent, world, episodes, seed).gap_regret
        slopes.append([(regret[end - 1] - regret[end - 10_000]) / 9_999 for end in (10_000, 40_000, 80_000)])
    uniform = gw.evaluate(world, np.full(world.costs.shape, 0.25)).costs[0] - gw.solve(world).values[0]
    found = [f"{mean:.2f}" for mean in np.mean(slopes, axis=0)]
    return table(
        ["regret per episode", "1 to 10,000", "30,001 to 40,000", "70,001 to 80,000"],
        [["ulcvi", *found], ["uniformly random policy, exact", *[f"{uniform:.2f}"] * 3]],
    )


def best_scale(name: str, world: gw.SSP, seeds: range) -> float:
    """Return the scale with the smallest mean gap regret; ULCVI needs smaller scales because of its H³ term."""
    steps = range(32, 53, 2) if name == "ulcvi" else range(5, 17, 2)
    means = {}
    for scale in (10.0 ** (-step / 4) for step in steps):
        agent = make(name, world, TUNING_EPISODES, scale=scale)
        runs = [gw.learn(agent, world, TUNING_EPISODES, 1_000_000 + seed).gap_regret[-1] for seed in seeds]
        means[scale] = float(np.mean(runs))
    return min(means, key=means.__getitem__)


def tuned_table(world: gw.SSP, seeds: range, psrl: np.ndarray, tuning_seeds: range) -> str:
    rows = [["psrl", "", shown(psrl[:, 0]), shown(psrl[:, 1]), "1"]]
    for name in RIVALS:
        scale = best_scale(name, world, tuning_seeds)
        found = regrets(name, world, seeds, scale=scale)
        ratio = f"{found[:, 1].mean() / psrl[:, 1].mean():.2f}"
        rows.append([name, f"{scale:.3g}", shown(found[:, 0]), shown(found[:, 1]), ratio])
    return table(["agent", "scale", "regret", "gap regret", "gap regret / PSRL's"], rows)


def ties_table(world: gw.SSP, seeds: range) -> str:
    left, right, up, down = range(4)
    orders = {
        "random": None,
        "right, left, up, down": (right, left, up, down),
        "right, down, left, up": (right, down, left, up),
    }
    rows = []
    for name in RIVALS:
        row = [name]
        for order in orders.values():
            settings = {} if order is None else {"ties": "first", "action_order": order}
            row.append(f"{regrets(name, world, seeds, **settings)[:, 1].mean():,.0f}")
        rows.append(row)
    return table(["gap regret, three seeds", *orders], rows)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds and the wall-clock seconds of one call of `work`."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def speed_table(world: gw.SSP, repeat: int) -> str:
    agents = {name: make(name, world) for name in (*RIVALS, "psrl")}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in agents}
    for seed in range(repeat):
        for name, agent in agents.items():
            times[name].append(timed(partial(gw.learn, agent, world, EPISODES, seed)))
    rows = []
    for name, found in times.items():
        cpu, wall = zip(*found, strict=True)
        asked = f"below {LIMITS[name]:g} s: {'yes' if min(cpu) < LIMITS[name] else 'NO'}" if name in LIMITS else ""
        rows.append([name, f"{min(cpu):.2f} s", f"{statistics.median(cpu):.2f} s", f"{min(wall):.2f} s", asked])
    return table(["agent", "CPU, smallest", "CPU, median", "wall, smallest", "target"], rows)


def many(work: Callable[[], object]) -> None:
    """Call `work` `MANY` times, which is long enough for the clock."""
    for _ in range(MANY):
        work()


def planner_table(world: gw.SSP) -> str:
    rows = []
    for episodes in (100, 1000, 10_000):
        agent = gw.learn(make("uc-ssp", world), world, episodes, 0).agent
        assert isinstance(agent, gw.agents.UCSSP)
        eps, gamma = 1.0 / (2.0 * agent.t), 1.0 / np.sqrt(agent.k)
        counts, visits = agent.counts.to_dense(), agent.counts.visits
        beta = np.vectorize(radius)(visits, *visits.shape, agent.delta)
        plain = partial(evi_ssp, counts, visits, world.costs, beta, eps, gamma)
        compiled = partial(agent.evi, agent._costs, eps, gamma)
        assert plain()[1] == compiled()[1]
        slow = min(timed(plain)[0] for _ in range(30))
        fast = min(timed(partial(many, compiled))[0] / MANY for _ in range(30))
        rows.append([f"{episodes:,}", f"{slow * 1e3:.2f} ms", f"{fast * 1e3:.3f} ms", f"{slow / fast:.0f}"])
    return table(["episodes before the plan", "NumPy, per plan", "compiled, per plan", "ratio"], rows)


def large_table() -> str:
    world = mountain_car()
    rows = []
    for name in (*RIVALS, "psrl"):
        agent = make(name, world, 2000)
        runs: list[gw.Run] = []
        cpu, wall = timed(lambda agent=agent, runs=runs: runs.append(gw.learn(agent, world, 2000, 0)))
        run = runs[0]
        finished = "no" if run.truncated else "yes"
        rows.append([name, finished, f"{run.total_steps:,}", f"{run.regret[-1]:,.0f}", f"{cpu:.1f} s", f"{wall:.1f} s"])
    return table(["agent", "finished", "steps", "regret", "CPU", "wall"], rows)


if __name__ == "__main__":
    main()
