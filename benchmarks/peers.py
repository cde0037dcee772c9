"""Solve models with one tool, goalward or a peer, in a separate process.

    python benchmarks/peers.py TOOL ANSWERS MODEL.npz... --repeat 5

The script prints JSON lines: one with the name of each model, one before each solve, and one after it with the CPU
seconds of the solve. The time excludes converting the model to the tool's form and reading out the answer. The caller
may kill the process if the line after a solve takes too long.

What each tool guarantees with the tolerance 1e-6:
    goalward        upper - lower <= 1e-6 upper at every state, with proved bounds
    storm-ovi       optimistic value iteration: sound bounds of relative width 2e-6 at every state, value in the middle
    storm-topo      the same, component by component (Storm's choice if a sound answer is required)
    quantecon       nothing: operator_iteration of DiscreteDP's Bellman operator, from zero, until the largest change is
                    below 1e-6 (the solvers of DiscreteDP refuse discount 1)
QuantEcon's error is about the largest change times the expected number of steps to the goal. At costs near 1, this is a
relative error of about 1e-6, so QuantEcon stops neither earlier nor later than the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import models

TOLERANCE = 1e-6
# Stop repeating a model after this many CPU seconds of solving.
ENOUGH = 1.0
Answer = dict[str, Any]


class Tool:
    """A solver: `__init__` converts the model, `renew` discards cached results, and `solve` is timed."""

    def __init__(self, model: models.Model) -> None:
        self.model = model

    def renew(self) -> None:
        """Discard everything that an earlier solve may have cached."""

    def solve(self) -> Any:
        """Solve the model and return the tool's own result; only this method is timed."""
        raise NotImplementedError

    def answer(self, result: Any) -> Answer:
        """Return the values of the S non-goal states, their bounds if the tool has any, and a note."""
        raise NotImplementedError


class Goalward(Tool):
    """`goalward.solve` without `start`; `warm_up` has compiled or loaded the kernels."""

    def __init__(self, model: models.Model) -> None:
        import goalward

        super().__init__(model)
        self.goalward = goalward
        goalward.warm_up()

    def renew(self) -> None:
        self.ssp = self.goalward.SSP.from_rows(**self.model | {"initial_state": int(self.model["initial_state"])})

    def solve(self) -> Any:
        try:
            return self.goalward.solve(self.ssp, tolerance=TOLERANCE)
        except self.goalward.errors.PrecisionError as error:
            return error.solution

    def answer(self, result: Any) -> Answer:
        note = f"{result.method}, {result.iterations} iterations"
        if not result.width <= TOLERANCE:
            note = f"not proved: width {result.width:.1e}"
        return {"values": result.values, "lower": result.lower, "upper": result.upper, "note": note}


class GoalwardWarm(Goalward):
    """`goalward.solve` after the probabilities changed by up to 1 %, started from the original model's solution."""

    def __init__(self, model: models.Model) -> None:
        super().__init__(model)
        super().renew()
        self.start = super().solve()
        self.rng = np.random.default_rng(0)

    def renew(self) -> None:
        moved = self.model["probabilities"] * self.rng.uniform(0.99, 1.01, len(self.model["probabilities"]))
        filled, lengths = pairs(self.model)
        moved /= np.repeat(np.add.reduceat(moved, self.model["indptr"][filled]), lengths)
        fields = self.model | {"probabilities": moved, "initial_state": int(self.model["initial_state"])}
        self.ssp = self.goalward.SSP.from_rows(**fields)

    def solve(self) -> Any:
        return self.goalward.solve(self.ssp, tolerance=TOLERANCE, start=self.start)


class Storm(Tool):
    """Storm's sparse engine through stormpy: the minimal expected cost to the goal from every state."""

    method = "OPTIMISTIC_VALUE_ITERATION"

    def __init__(self, model: models.Model) -> None:
        import stormpy
        from stormpy.environments import Environment, MinMaxMethod

        super().__init__(model)
        self.stormpy = stormpy
        self.mdp = self.build()
        self.formula = stormpy.parse_property('R{"cost"}min=? [F "goal"]')
        self.environment = Environment()
        solver = self.environment.solver()
        solver.force_soundness = True
        solver.min_max().method = MinMaxMethod[self.method]
        solver.min_max().precision = stormpy.Rational(TOLERANCE)
        solver.min_max().relative_termination_criterion = True

    def build(self) -> Any:
        """Return Storm's model; the goal is an additional absorbing state without costs."""
        from stormpy.datastructures import SparseMatrixBuilder
        from stormpy.models import SparseMdp, SparseModelComponents, SparseRewardModel, StateLabeling

        S, A = self.model["costs"].shape
        filled, lengths = pairs(self.model)
        rows = np.append(np.repeat(np.arange(len(filled)), lengths), len(filled))
        groups = np.concatenate([np.searchsorted(filled, np.arange(S) * A), [len(filled)]])
        builder = SparseMatrixBuilder[float](
            rows=len(filled) + 1, columns=S + 1, entries=len(rows), has_custom_row_grouping=True, row_groups=S + 1
        )
        builder.add_next_values(
            rows.tolist(),
            np.append(self.model["successors"], S).tolist(),
            np.append(self.model["probabilities"], 1.0).tolist(),
            groups.tolist(),
        )
        labels = StateLabeling(S + 1)
        for label, state in (("goal", S), ("init", int(self.model["initial_state"]))):
            labels.add_label(label)
            labels.add_label_to_state(label, state)
        costs = SparseRewardModel[float](
            optional_state_action_reward_vector=np.append(self.model["costs"].ravel()[filled], 0.0).tolist()
        )
        return SparseMdp[float](SparseModelComponents[float](builder.build(), labels, {"cost": costs}))

    def solve(self) -> Any:
        return self.stormpy.model_checking(self.mdp, self.formula, environment=self.environment)

    def answer(self, result: Any) -> Answer:
        vectors = {
            "values": result.get_value_vector(),
            "lower": result.get_lower_bound_vector(),
            "upper": result.get_upper_bound_vector(),
        }
        return {name: np.array(vector)[:-1] for name, vector in vectors.items()} | {"note": ""}


class StormTopological(Storm):
    """Storm's topological method: it solves one strongly connected component after the other."""

    method = "TOPOLOGICAL"


class QuantEcon(Tool):
    """QuantEcon's Bellman operator on state-action pairs with a SciPy matrix."""

    def __init__(self, model: models.Model) -> None:
        from quantecon.markov import DiscreteDP
        from scipy.sparse import csr_matrix

        super().__init__(model)
        S, A = model["costs"].shape
        filled, lengths = pairs(model)
        probabilities = np.append(model["probabilities"], 1.0)
        indptr = np.concatenate([[0], np.cumsum(lengths), [len(probabilities)]])
        Q = csr_matrix((probabilities, np.append(model["successors"], S), indptr), shape=(len(filled) + 1, S + 1))
        states, actions = np.append(filled // A, S), np.append(filled % A, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning that its solvers refuse discount 1
            self.problem = DiscreteDP(-np.append(model["costs"].ravel()[filled], 0.0), Q, 1.0, states, actions)
        self.problem.bellman_operator(np.zeros(S + 1))

    def solve(self) -> Any:
        values = np.zeros(self.problem.num_states)
        sweeps = self.problem.operator_iteration(self.problem.bellman_operator, values, sys.maxsize, TOLERANCE)
        return values, sweeps

    def answer(self, result: Any) -> Answer:
        values, sweeps = result
        return {"values": -values[:-1], "note": f"{sweeps} sweeps"}


def pairs(model: models.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows of available actions, and the lengths of these rows."""
    lengths = np.diff(model["indptr"])
    filled = np.flatnonzero(lengths)
    return filled, lengths[filled]


TOOLS: dict[str, type[Tool]] = {
    "goalward": Goalward,
    "goalward-warm": GoalwardWarm,
    "storm-ovi": Storm,
    "storm-topo": StormTopological,
    "quantecon": QuantEcon,
}


def solve_model(tool: Tool, answer_path: Path, repeat: int) -> None:
    """Solve a model up to `repeat` times and print the CPU seconds of each solve; save the first answer in a file."""
    spent = 0.0
    for repetition in range(repeat):
        tool.renew()
        print(json.dumps({"begin": True}), flush=True)
        before = time.process_time()
        result = tool.solve()
        seconds = time.process_time() - before
        answer = tool.answer(result)
        note = answer.pop("note")
        if repetition == 0:
            np.savez(answer_path, **answer)
        print(json.dumps({"seconds": seconds, "note": note}), flush=True)
        spent += seconds
        if spent > ENOUGH:
            break


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("answers", type=Path, help="folder for the answers, MODEL-TOOL.npz")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    for path in given.models:
        print(json.dumps({"model": path.stem}), flush=True)
        tool = TOOLS[given.tool](models.load(path))
        solve_model(tool, given.answers / f"{path.stem}-{given.tool}.npz", given.repeat)


if __name__ == "__main__":
    main()
