"""How much time each mechanism of the planner saves: `make bench-ablation`.

The benchmark switches off one mechanism of the planner at a time, and plans again: on the models of all families of
`families.py`, and on posterior samples. The table shows CPU time without the mechanism divided by CPU time with it: 1.3
means that the mechanism makes planning 1.3 times faster. The smallest of several repetitions counts; differences below
10 % are noise. A case is stopped after 15 CPU seconds. "unproved" means that the planner could not prove its answer.
The tables go to the terminal and, unless you name cases, to benchmarks/results/ablation.md.

    python benchmarks/ablation.py [CASE...]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import goalward as gw
import models
from families import FAMILIES, kept
from goalward.acting.contract import Task
from goalward.agents.posterior.psrl import LOOSE
from goalward.planning.certificate import trivial_bounds
from goalward.planning.reduction import Blocks
from goalward.planning.replan import TOLERANCE, Replanner
from goalward.planning.solve import DENSE_STATES, solve_all
from processes import CutShortError, duration, machine, one_core, records, say, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "ablation.md"
HUGE = {"g1000", "tire1e6", "race9e5", "layers1e6"}
# Larger models of families that have a smaller one; measured with --large.
LARGE = {
    "g300", "g300s", "r1e5", "r1e5h", "ill1e5", "rescue1e4-4", "rescue1e4-12", "rescue1e5-6", "drunk1e5", "box1e5",
    "rooms1e5", "maze1e5", "range1e5", "race7e4", "power1e5", "clusters2e4", "queue1e5", "layers1e5", "free1e5",
}  # fmt: skip
ENOUGH, REPETITIONS = 0.2, 7  # stop repeating a case after this many CPU seconds, or this many repetitions
LIMIT = 15.0  # CPU seconds after which a case is stopped
SAMPLES = 30  # posterior samples that are planned on in turn
ALL = "nothing"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing: the replacement of a mechanism that is switched off."""


def one_block(members: Any, reduced: Any, *arguments: Any) -> Blocks:
    return Blocks(np.array([0, int(reduced.max()) + 1]), np.ones(1, dtype=np.bool_))


def one_component(ssp: gw.SSP) -> tuple[Any, int]:
    return np.zeros(ssp.states, dtype=np.int32), 1


def unproved(reduction: Any, extended: Any, *arguments: Any, **options: Any) -> Any:
    return trivial_bounds(extended)


PLANNING = "goalward.planning."
# mechanism: {attribute in goalward.planning: its replacement}
MECHANISMS: dict[str, dict[str, Any]] = {
    ALL: {},
    "blocks": {"reduction.find_blocks": one_block},
    "topological order and blocks": {"reduction.strong_components": one_component},
    "order by likely steps": {"state_order.likely_distances": nothing},
    "order among ties": {"state_order.sort_ties": nothing},
    "correction on groups": {"rounds.GROUPS": 0},
    "sparse LU": {"rounds.MOST_DIRECT_WORK": 0.0},
    "hurry": {"rounds.hurry": nothing},
    "policy sweeps": {"rounds.POLICY_SWEEPS": 1},
    "covering proof": {"certificate.by_covering": unproved},
    "propagation proof": {"certificate.by_propagation": unproved},
    "elimination proof": {"certificate.by_elimination": unproved},
    "elimination after sweeps": {"solve.ELIMINATED_STATES": 0},
}


def dense_world(states: int) -> gw.SSP:
    costs = np.random.default_rng(1).uniform(0.5, 1.5, (states, models.ACTIONS))
    return gw.SSP.from_dense(models.dense(states, 0), costs)


def walk(states: int, forward: float) -> gw.SSP:
    rows = np.zeros((states, 1, states + 1))
    for state in range(states):
        rows[state, 0, state + 1] += forward
        rows[state, 0, max(state - 1, 0)] += 1.0 - forward
    return gw.SSP.from_dense(rows, np.ones((states, 1)))


def queue(states: int) -> gw.SSP:
    """Return the model of a queue that must be emptied; only the most expensive of three service speeds shrinks it."""
    waiting, arrival, speeds = np.arange(states), 0.49, np.array([0.45, 0.49, 0.50])
    ends = np.where(waiting > 0, waiting - 1, states), waiting, np.minimum(waiting + 1, states - 1)
    successors = np.repeat(np.stack(ends, axis=1), 3, axis=0)
    shares = np.tile(np.stack([speeds, 1.0 - arrival - speeds, np.full(3, arrival)], axis=1), (states, 1))
    costs = np.array([0.5, 1.0, 1.5]) + (waiting[:, np.newaxis] + 1) / states
    rows = np.arange(0, 9 * states + 1, 3)
    return gw.SSP.from_rows(rows, successors.ravel(), shares.ravel(), costs, states // 2)


# name: (function that makes the world, function that makes the prior)
LEARNING: dict[str, tuple[Callable[[], gw.SSP], Callable[[gw.SSP], gw.beliefs.Prior]]] = {
    "known support, 100 x 100": (partial(gw.worlds.grid_world, 100, 100), lambda world: gw.Dirichlet(0.1, world)),
    "dense, 200": (lambda: dense_world(200), lambda world: gw.Dirichlet(0.1)),
    "neighbourhoods, 50": (partial(gw.worlds.grid_world, 7, 7), lambda world: gw.Neighbourhoods()),
    "neighbourhoods, 200": (partial(gw.worlds.grid_world, 14, 14), lambda world: gw.Neighbourhoods()),
}
# Evaluation of a policy that drifts away from the goal. name: (states, probability of a step towards the goal)
WALKS: dict[str, tuple[int, float]] = {"policy, 100 states": (100, 0.42), "policy, 500 states": (500, 0.485)}
MODELS = [name for makers in FAMILIES.values() for name in makers if name not in HUGE]
QUEUE = "queue with slow service"
CASES = [*MODELS, QUEUE, *WALKS, *LEARNING]


def plan_once(case: str) -> Callable[[], tuple[float, bool]]:
    """Return a function that plans once and returns the CPU seconds, and whether the answer is proved."""
    if case in LEARNING:
        make_world, make_prior = LEARNING[case]
        world = make_world()
        belief = make_prior(world).belief(Task.of(world, 1))
        seen = gw.learn(gw.agents.Uniform(), world, 10**6, max_steps=3000, keep_steps=True).trajectory
        assert seen is not None
        belief.update(seen)
        rng = np.random.default_rng(0)
        samples = [belief.sample(rng) for _ in range(SAMPLES)]
        tolerance = TOLERANCE if world.states <= DENSE_STATES else LOOSE
        return lambda: replan(samples, tolerance)
    if case == QUEUE:
        ssp = queue(100_000)
    elif case in WALKS:
        ssp = walk(*WALKS[case])
    else:
        arrays = models.load(kept(case))
        ssp = gw.SSP.from_rows(**arrays | {"initial_state": int(arrays["initial_state"])})

    def solve() -> tuple[float, bool]:
        start = time.process_time()
        solution = solve_all(ssp._replace())
        return time.process_time() - start, solution.width <= TOLERANCE

    return solve


def replan(samples: list[gw.SSP], tolerance: float) -> tuple[float, bool]:
    """Plan on each sample in turn; return the mean CPU seconds of a plan, and True for proved."""
    planner, start = Replanner(), time.process_time()
    for model in samples:
        planner.solve(model, tolerance)
    return (time.process_time() - start) / len(samples), True


def measure_here(cases: list[str], mechanism: str) -> None:
    """Plan with one mechanism switched off; print the CPU seconds as JSON lines for `processes.records`."""
    gw.warm_up()
    with ExitStack() as patches:
        for target, replacement in MECHANISMS[mechanism].items():
            patches.enter_context(mock.patch(PLANNING + target, replacement))
        for case in cases:
            plan, seconds = plan_once(case), []
            print(json.dumps({"begin": True}), flush=True)
            while not seconds or (len(seconds) < REPETITIONS and sum(seconds) < ENOUGH):
                taken, proved = plan()
                seconds.append(taken)
            print(json.dumps({"case": case, "seconds": min(seconds), "proved": proved}), flush=True)


def measure(cases: list[str], mechanism: str) -> dict[str, dict[str, Any]]:
    """Measure all cases without a mechanism in a separate process; restart it after a case that reached the limit."""
    results: dict[str, dict[str, Any]] = {}
    while len(results) < len(cases):
        say(f"  without {mechanism}: {len(results)} of {len(cases)} cases done")
        waiting = cases[len(results) :]
        try:
            measured = records([sys.executable, __file__, "--without", mechanism, *waiting], LIMIT)
        except CutShortError as cut:
            measured = [*cut.records, {"seconds": np.inf, "proved": False}]
        results |= dict(zip(waiting, measured, strict=False))
    return results


def cell(without: dict[str, Any], with_all: dict[str, Any]) -> str:
    if without["seconds"] == np.inf:
        return f"**> {LIMIT / with_all['seconds']:.0f}**"
    ratio = without["seconds"] / with_all["seconds"]
    text = f"{ratio:.2f}" if without["proved"] else "unproved"
    return f"**{text}**" if ratio >= 1.3 or not without["proved"] else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--without", choices=MECHANISMS, help=argparse.SUPPRESS)
    parser.add_argument("--large", action="store_true", help="also measure the larger models of each family")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="case to measure: " + ", ".join(CASES))
    arguments = parser.parse_args()
    one_core()
    if arguments.without:
        measure_here(arguments.cases, arguments.without)
        return
    cases = arguments.cases or [case for case in CASES if arguments.large or case not in LARGE]
    results = {mechanism: measure(cases, mechanism) for mechanism in MECHANISMS}
    for case, again in measure(cases, ALL).items():  # again, as the machine's speed may have changed
        results[ALL][case]["seconds"] = min(results[ALL][case]["seconds"], again["seconds"])
    switched_off = [mechanism for mechanism in MECHANISMS if mechanism != ALL]
    rows = [
        [case, duration(results[ALL][case]["seconds"])]
        + [cell(results[mechanism][case], results[ALL][case]) for mechanism in switched_off]
        for case in cases
    ]
    rest = (__doc__ or "").partition("\n\n")[2]
    text = (
        f"# The planner without one of its mechanisms\n\nWritten by `make bench-ablation`. {machine()}\n\n"
        f"{rest.partition('The tables go')[0].strip()}\n\n{table(['case', 'CPU', *switched_off], rows)}\n"
    )
    print(text)
    if not arguments.cases:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
