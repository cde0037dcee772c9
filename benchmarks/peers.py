"""One solver on one model in a fresh process: goalward and the peers it is measured against.

    python benchmarks/peers.py TOOL MODEL.npz ANSWER.npz --repeat 5 --limit 60

prints one JSON line per repetition, with the CPU seconds of the solve alone: the model is in memory in the tool's own
form before, the answer is read out after. CPU seconds of all threads equal wall-clock seconds on an idle core, hide no
parallelism and bear other processes on the machine. A solve that reaches the limit is ended by the operating system.

What the tools promise at 1e-6:
    goalward        upper - lower <= 1e-6 upper at every state, bounds proved
    storm-ovi       optimistic value iteration, sound: bounds of relative width 2e-6 at every state, value in the middle
    storm-topo      the same, component by component (what Storm takes when a sound answer is asked for)
    storm-vi        value iteration until values change by less than 1e-6 relatively; promises nothing
    quantecon       DiscreteDP.operator_iteration of its Bellman operator (its solvers refuse discount 1), from zero,
                    until the largest change is below 1e-6; promises nothing
    sweeps          the loop of AI-Toolbox's value iteration, compiled by Numba: synchronous sweeps over compressed rows
                    from zero until the largest change is below 1e-6; promises nothing
The largest change times the expected number of steps to the goal is about the error; at costs near 1 that is a relative
error of about 1e-6, so the sweeps stop neither earlier nor later than the others.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import models

TOLERANCE = 1e-6
# No further repetition begins once a process has spent this many seconds solving.
ENOUGH = 6.0
Answer = dict[str, Any]


class Tool:
    """A solver: `__init__` translates the model, `renew` undoes what a solve may have remembered, `solve` is timed."""

    def __init__(self, model: models.Model) -> None:
        self.model = model

    def renew(self) -> None:
        """Come back to a state in which nothing has been solved."""

    def solve(self) -> Any:
        """Solve; only this is timed."""
        raise NotImplementedError

    def answer(self, result: Any) -> Answer:
        """Read out values of the S non-goal states, bounds if there are any, and a note."""
        raise NotImplementedError


class Goalward(Tool):
    """`goalward.solve`, without a start; kernels are compiled or loaded before."""

    def __init__(self, model: models.Model) -> None:
        import goalward

        super().__init__(model)
        self.goalward = goalward
        goalward.warm_up()

    def renew(self) -> None:
        self.ssp = self.goalward.SSP.from_rows(**self.model | {"initial_state": int(self.model["initial_state"])})

    def solve(self) -> Any:
        return self.goalward.solve(self.ssp, tolerance=TOLERANCE)

    def answer(self, result: Any) -> Answer:
        return {
            "values": result.values,
            "lower": result.lower,
            "upper": result.upper,
            "note": f"{result.method}, {result.iterations} iterations",
        }


class GoalwardWarm(Goalward):
    """`goalward.solve` of a model whose probabilities have moved by up to 1 %, started from the unmoved solution."""

    def __init__(self, model: models.Model) -> None:
        super().__init__(model)
        super().renew()
        self.start = super().solve()
        self.rng = np.random.default_rng(0)

    def renew(self) -> None:
        moved = self.model["probabilities"] * self.rng.uniform(0.99, 1.01, len(self.model["probabilities"]))
        moved /= np.repeat(np.add.reduceat(moved, self.model["indptr"][:-1]), np.diff(self.model["indptr"]))
        fields = self.model | {"probabilities": moved, "initial_state": int(self.model["initial_state"])}
        self.ssp = self.goalward.SSP.from_rows(**fields)

    def solve(self) -> Any:
        return self.goalward.solve(self.ssp, tolerance=TOLERANCE, start=self.start)


class Storm(Tool):
    """Storm's sparse engine through stormpy: the least expected cost until the goal, at every state."""

    method = "OPTIMISTIC_VALUE_ITERATION"
    sound = True

    def __init__(self, model: models.Model) -> None:
        import stormpy
        from stormpy.environments import Environment, MinMaxMethod

        super().__init__(model)
        self.stormpy = stormpy
        self.mdp = self.build()
        self.formula = stormpy.parse_property('R{"cost"}min=? [F "goal"]')
        self.environment = Environment()
        solver = self.environment.solver()
        solver.force_soundness = self.sound
        solver.min_max().method = MinMaxMethod[self.method]
        solver.min_max().precision = stormpy.Rational(TOLERANCE)
        solver.min_max().relative_termination_criterion = True

    def build(self) -> Any:
        """Make Storm's model; the goal is one more state that stays where it is at no cost."""
        from stormpy.datastructures import SparseMatrixBuilder
        from stormpy.models import SparseMdp, SparseModelComponents, SparseRewardModel, StateLabeling

        S, A = self.model["costs"].shape
        indptr, successors = self.model["indptr"], self.model["successors"]
        rows = np.append(np.repeat(np.arange(S * A), np.diff(indptr)), S * A)
        builder = SparseMatrixBuilder[float](
            rows=S * A + 1, columns=S + 1, entries=len(rows), has_custom_row_grouping=True, row_groups=S + 1
        )
        builder.add_next_values(
            rows.tolist(),
            np.append(successors, S).tolist(),
            np.append(self.model["probabilities"], 1.0).tolist(),
            (np.arange(S + 1) * A).tolist(),
        )
        labels = StateLabeling(S + 1)
        for label, state in (("goal", S), ("init", int(self.model["initial_state"]))):
            labels.add_label(label)
            labels.add_label_to_state(label, state)
        costs = SparseRewardModel[float](
            optional_state_action_reward_vector=np.append(self.model["costs"].ravel(), 0.0).tolist()
        )
        return SparseMdp[float](SparseModelComponents[float](builder.build(), labels, {"cost": costs}))

    def solve(self) -> Any:
        return self.stormpy.model_checking(self.mdp, self.formula, environment=self.environment)

    def answer(self, result: Any) -> Answer:
        answer = {"values": np.array(result.get_value_vector())[:-1], "note": self.method.lower()}
        if self.sound:
            answer["lower"] = np.array(result.get_lower_bound_vector())[:-1]
            answer["upper"] = np.array(result.get_upper_bound_vector())[:-1]
        return answer


class StormTopological(Storm):
    """Storm, strongly connected components one after the other."""

    method = "TOPOLOGICAL"


class StormValueIteration(Storm):
    """Storm's plain value iteration."""

    method = "VALUE_ITERATION"
    sound = False


class QuantEcon(Tool):
    """QuantEcon's Bellman operator on state-action pairs with a SciPy matrix."""

    def __init__(self, model: models.Model) -> None:
        from quantecon.markov import DiscreteDP
        from scipy.sparse import csr_matrix

        super().__init__(model)
        S, A = model["costs"].shape
        probabilities = np.append(model["probabilities"], 1.0)
        indptr = np.append(model["indptr"], len(probabilities))
        Q = csr_matrix((probabilities, np.append(model["successors"], S), indptr), shape=(S * A + 1, S + 1))
        states, actions = np.append(np.repeat(np.arange(S), A), S), np.append(np.tile(np.arange(A), S), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that its solvers refuse discount 1
            self.problem = DiscreteDP(-np.append(model["costs"].ravel(), 0.0), Q, 1.0, states, actions)
        self.problem.bellman_operator(np.zeros(S + 1))

    def solve(self) -> Any:
        values = np.zeros(self.problem.num_states)
        sweeps = self.problem.operator_iteration(self.problem.bellman_operator, values, sys.maxsize, TOLERANCE)
        return values, sweeps

    def answer(self, result: Any) -> Answer:
        values, sweeps = result
        return {"values": -values[:-1], "note": f"{sweeps} sweeps"}


class Sweeps(Tool):
    """Synchronous value iteration in a compiled loop."""

    def __init__(self, model: models.Model) -> None:
        import numba

        super().__init__(model)
        self.iterate = numba.njit(error_model="numpy")(iterate)
        self.iterate(*self.arrays(), 1)

    def arrays(self) -> tuple[np.ndarray, ...]:
        return tuple(self.model[name] for name in ("indptr", "successors", "probabilities", "costs"))

    def solve(self) -> Any:
        return self.iterate(*self.arrays(), sys.maxsize)

    def answer(self, result: Any) -> Answer:
        values, sweeps = result
        return {"values": values[:-1], "note": f"{sweeps} sweeps"}


def iterate(
    indptr: np.ndarray, successors: np.ndarray, probabilities: np.ndarray, costs: np.ndarray, most: int
) -> tuple[np.ndarray, int]:
    """Sweep from zero until no value changes by 1e-6 or more; the last value is that of the goal."""
    S, A = costs.shape
    old, new = np.zeros(S + 1), np.zeros(S + 1)
    for sweep in range(most):
        change = 0.0
        for s in range(S):
            best = np.inf
            for a in range(A):
                row = s * A + a
                value = costs[s, a]
                for k in range(indptr[row], indptr[row + 1]):
                    value += probabilities[k] * old[successors[k]]
                best = min(best, value)
            change = max(change, abs(best - old[s]))
            new[s] = best
        old, new = new, old
        if change < 1e-6:
            return old, sweep + 1
    return old, most


TOOLS: dict[str, type[Tool]] = {
    "goalward": Goalward,
    "goalward-warm": GoalwardWarm,
    "storm-ovi": Storm,
    "storm-topo": StormTopological,
    "storm-vi": StormValueIteration,
    "quantecon": QuantEcon,
    "sweeps": Sweeps,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("model", type=Path)
    parser.add_argument("answer", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one solve")
    given = parser.parse_args()

    tool = TOOLS[given.tool](models.load(given.model))
    spent = 0.0
    for repetition in range(given.repeat):
        tool.renew()
        # SIGPROF is left at its default, which ends the process: compiled code could not be interrupted otherwise.
        signal.setitimer(signal.ITIMER_PROF, given.limit)
        wall, before = time.perf_counter(), time.process_time()
        result = tool.solve()
        seconds, wall = time.process_time() - before, time.perf_counter() - wall
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        answer = tool.answer(result)
        note = answer.pop("note")
        if repetition == 0:
            np.savez(given.answer, **answer)
        print(json.dumps({"seconds": seconds, "wall": wall, "note": note}), flush=True)
        spent += seconds
        if spent > ENOUGH:
            break


if __name__ == "__main__":
    main()
