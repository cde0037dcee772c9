"""Dense arrays with several goals: the merger, and faults named in the caller's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalward import SSP
from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError


def test_several_goals_are_merged() -> None:
    kernel = np.zeros((4, 1, 4))
    kernel[1, 0] = [0.125, 0.25, 0.25, 0.375]
    kernel[3, 0] = [0.5, 0.0, 0.5, 0.0]
    costs = np.array([[np.nan], [1.0], [-5.0], [2.0]])  # the costs of goals are never looked at
    merged = SSP.from_dense(kernel, costs, 3, goals=[2, 0], state_names=["g", "a", "h", "b"])
    assert merged == SSP.from_dense([[[0.25, 0.375, 0.375]], [[0.0, 0.0, 1.0]]], [[1.0], [2.0]], 1)
    assert merged.state_names == ("a", "b")


# Four states, of which 0 and 2 are goals: faults are named in these numbers, not in those after the merger.
MANY = np.full((4, 1, 4), 0.25)


def many(row: list[float]) -> np.ndarray:
    kernel = MANY.copy()
    kernel[3, 0] = row
    return kernel


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"goals": []}, StateError, r"goals is \[\]; name one or more"),
        ({"goals": 2}, StateError, "goals is 2; pass a list of states"),
        ({"goals": [4]}, StateError, r"a goal is 4; it must be an integer in 0\.\.3"),
        ({"goals": ["2"]}, StateError, "a goal is '2'; it must be an integer"),
        ({"goals": [1]}, StateError, r"goals is \[1\]; name one or more, and not the start, state 1"),
        ({"initial_state": 4}, StateError, "initial_state is 4"),
        ({"P": np.zeros((4, 1, 5))}, ShapeError, r"with goals, P must be \(N, A, N\) .* \(4, 1, 5\)"),
        ({"costs": np.ones((3, 1))}, ShapeError, r"costs \(N, A\).*\(3, 1\)"),
        ({"state_names": ["a", "b", "c"]}, ShapeError, "state_names is 3 entries; it must be a list of 4"),
        ({"state_names": list("abcde")}, ShapeError, "state_names is 5 entries; it must be a list of 4"),
        ({"costs": [[1.0], [1.0], [1.0], [-2.0]]}, CostError, r"\(state 3, action 0\) has cost -2"),
        (
            {"P": many([1.5, 0.0, -0.5, 0.0])},
            ProbabilityError,
            r"a transition of \(state 3, action 0\) has probability 1\.5",
        ),
        (
            {"P": many([0.5, 0.0, 0.0, 0.4])},
            ProbabilityError,
            r"\(state 3, action 0\) sum to 0\.9",
        ),
        ({"P": many([np.nan, 0.0, 0.0, 1.0])}, ProbabilityError, r"\(state 3, action 0\) .* nan"),
    ],
)
def test_faults_of_models_with_several_goals(changes: dict[str, Any], error: type[ModelError], message: str) -> None:
    fields: dict[str, Any] = {"P": MANY, "costs": np.ones((4, 1)), "initial_state": 1, "goals": [0, 2]} | changes
    with pytest.raises(error, match=message):
        SSP.from_dense(**fields)


def test_normalize_reaches_models_with_several_goals() -> None:
    ssp = SSP.from_dense(many([0.25, 0.0, 0.25, 0.0]), np.ones((4, 1)), 1, goals=[0, 2], normalize=True)
    assert ssp.to_dense()[1, 0].tolist() == [0.0, 0.0, 1.0]
