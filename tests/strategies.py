"""Small models for hypothesis, made to hurt: dead ends, free loops, ties, scales nineteen powers of ten apart.

A row is drawn as a pattern of weights and as many successors; successor k counts back from the goal, so that examples
shrink towards models in which everything leads to the goal at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from goalward import SSP

__all__ = ["model_pairs", "models", "random_model"]

DYADIC = ((1.0,), (0.5, 0.5), (0.25, 0.75), (0.75, 0.25), (0.5, 0.25, 0.25), (0.125, 0.375, 0.5))
# The last two are off one by almost as much as is allowed: such rows are read as proportional to their entries.
DECIMAL = ((0.1, 0.9), (0.9, 0.1), (0.2, 0.3, 0.5), (0.1, 0.2, 0.7), (1 / 3, 2 / 3), (0.6, 0.4 + 9e-10), (1.0 - 9e-10,))
TINY = tuple((10.0**-power, 1.0 - 10.0**-power) for power in (2, 3, 5, 8, 10, 12))

COSTS = {
    "unit": (1.0,),
    "ties": (1.0, 2.0, 3.0),
    "free": (0.0, 1.0, 2.0),
    "nearly free": (0.0, 1e-9, 1.0),
    "small": (1e-9, 2e-9, 3e-9),
    "large": (1e9, 2e9, 3e9),
    "mixed": tuple(10.0**power for power in range(-9, 10, 3)),
    "real": (0.1, 0.2, 0.3, 0.7, 1.1, 2.9),
}


@st.composite
def models(
    draw: st.DrawFn,
    *,
    max_states: int = 6,
    max_actions: int = 4,
    costs: tuple[str, ...] = tuple(COSTS),
    tiny: bool = True,
    unavailable: bool = True,
    dead_ends: bool = True,
) -> SSP:
    """Draw a model; without `dead_ends`, action 0 may step to the goal from everywhere.

    Each row is one number, read digit by digit, which costs a tenth of drawing the parts one by one.
    """
    S = draw(st.integers(1, max_states))
    A = draw(st.integers(1, max_actions))
    prices = COSTS[draw(st.sampled_from(costs))]
    remote = dead_ends and draw(st.booleans())  # only state 0 knows the way: more dead ends, loops and long ways
    family = draw(st.sampled_from((DYADIC + DECIMAL + TINY, TINY + DYADIC[:1]))) if tiny else DYADIC + DECIMAL
    patterns = family + (((),) * (len(family) // 6) if unavailable else ())
    codes = st.integers(0, len(patterns) * len(prices) * (S + 1) ** 3 - 1)
    indptr = [0]
    successors: list[int] = []
    probabilities: list[float] = []
    table = np.zeros((S, A))
    for row in range(S * A):
        code, which = divmod(draw(codes), len(patterns))
        code, price = divmod(code, len(prices))
        table[divmod(row, A)] = prices[price]
        pattern = patterns[which]
        if row % A == 0 and (row == 0 or not dead_ends):
            pattern = pattern or (1.0,)
        steps = [code // (S + 1) ** place % (S + 1) for place in range(len(pattern))]
        if row % A == 0 and not dead_ends:
            steps[0] = 0
        successors += [(S - step) % S if remote and row >= A else S - step for step in steps]
        probabilities += pattern
        indptr.append(len(successors))
    return SSP.from_rows(
        indptr, np.array(successors, dtype=np.int64), probabilities, table, draw(st.integers(0, S - 1))
    )


@st.composite
def model_pairs(draw: st.DrawFn, /, **options: Any) -> tuple[SSP, SSP]:
    """Draw two models of the same size: some rows and costs of the second differ, in number or in support."""
    first = draw(models(**options))
    kernel, costs = first.to_dense(), np.where(first.available, first.costs, 1.0)
    S, A = costs.shape
    for row in draw(st.lists(st.integers(0, S * A - 1), max_size=4)):
        pattern = draw(st.sampled_from(DYADIC + DECIMAL))
        state, action = divmod(row, A)
        kernel[state, action] = 0.0
        for weight in pattern:
            kernel[state, action, S - draw(st.integers(0, S))] += weight
        costs[state, action] *= draw(st.sampled_from((0.0, 0.5, 1.0, 1.0 + 1e-9, 1e6)))
    return first, SSP.from_dense(kernel, costs, first.initial_state)


def random_model(
    seed: int, *, states: int, actions: int, successors: int, goal: float, costs: tuple[float, float] = (0.5, 1.5)
) -> SSP:
    """Make a large sparse model: so many random successors a row, the goal with a probability uniform on [0, goal]."""
    rng = np.random.default_rng(seed)
    rows = states * actions
    to_goal = rng.uniform(0.0, goal, rows)
    weights = rng.dirichlet(np.ones(successors), rows) * (1.0 - to_goal)[:, None]
    targets = rng.integers(0, states, (rows, successors))
    return SSP.from_rows(
        np.arange(rows + 1) * (successors + 1),
        np.concatenate([targets, np.full((rows, 1), states)], axis=1).reshape(-1),
        np.concatenate([weights, to_goal[:, None]], axis=1).reshape(-1),
        rng.uniform(*costs, (states, actions)),
        normalize=True,
    )
