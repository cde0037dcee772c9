"""Reads and writes models as tables of transitions, in CSV or Parquet files or in memory.

=============  ==================================================================================================
column         meaning
=============  ==================================================================================================
state          the state in which the transition starts
action         the action
next_state     the state to which the transition leads
probability    the probability of the transition; probabilities of a state–action pair sum to 1
count          how often the transition was observed (instead of the probability)
cost           the cost of the action; if costs depend on the next state, the model has the mean cost
=============  ==================================================================================================

`read` turns counts into probabilities. With `normalize`, a probability is count / Σ count. With `prior`, it is the
posterior mean (count + prior) / Σ (count + prior) of a Dirichlet prior. Sums are over the listed transitions of a pair.

`write` puts the transitions of the initial state first, because `read` takes the first state as the initial state.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from goalward.arrays import Floats, Int64s
from goalward.errors import ProbabilityError, SettingError, ShapeError
from goalward.files import write_bytes
from goalward.interchange.columns import Source, find_goals
from goalward.interchange.explicit import choices_of, unique_names
from goalward.settings import Positive, check
from goalward.ssp.model import SSP, Name
from goalward.ssp.transitions import Columns, rows_of


def read(
    table: Any,
    *,
    goal: Name | Sequence[Name] | None = None,
    start: Name | None = None,
    normalize: bool = False,
    prior: float | None = None,
) -> dict[str, Any]:
    """Read a file or a table in memory and return the arguments of `SSP.from_rows`."""
    source = Source(table)
    weight = "count" if "count" in source.header else "probability"
    if weight == "count" and "probability" in source.header:
        raise ShapeError("the table has the columns 'probability' and 'count'; remove one of the two columns")
    if weight == "probability" and prior is not None:
        raise SettingError("prior is only for tables of counts, but this table has probabilities; leave out prior")

    def weighted() -> Columns:
        columns = source.transitions(weight)
        if weight == "probability":
            return columns
        return columns._replace(probabilities=frequencies(columns, source, prior, normalize))

    start = None if start is None else str(start)
    return rows_of(weighted(), partial(find_goals, goal=goal), start, normalize, source.location)


def frequencies(columns: Columns, source: Source, prior: float | None, normalize: bool) -> Floats:
    """Return probabilities estimated from counts: frequencies, or posterior means if `prior` is given."""
    counts = columns.probabilities
    if prior is None and not normalize:
        raise ShapeError(
            "the table has counts; pass normalize=True (--set normalize=true) to use relative frequencies as"
            " probabilities, or prior=1.0 (--set prior=1.0) to add 1 to the count of every transition first"
        )
    bad = ~((counts >= 0.0) & (counts < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        raise ProbabilityError(f"the count{source.location(row)} is {counts[row]:g}; counts must be finite and >= 0")
    _, pairs = np.unique(columns.states * len(columns.action_names) + columns.actions, return_inverse=True)
    if prior is not None:
        added = check("prior", prior, Positive)
        # If a transition has several rows, the prior is shared among them.
        _, same, times = np.unique(
            pairs * len(columns.state_names) + columns.next_states, return_inverse=True, return_counts=True
        )
        counts = counts + added / times[same]
    totals = np.bincount(pairs, weights=counts)[pairs]
    if not totals.all():
        row = int(np.argmin(totals))
        state, action, *_ = columns.entry(row)
        raise ProbabilityError(
            f"the counts of (state {state!r}, action {action!r}){source.location(row)} sum to 0; pass prior=1.0, or"
            " leave out this pair"
        )
    return counts / totals


def to_table(ssp: SSP) -> Any:
    """Return the transitions of a model as a pyarrow table."""
    model = choices_of(ssp)
    goal, *states = unique_names(["goal", *(ssp.state_name(state) for state in range(ssp.states))])
    actions = unique_names([ssp.action_name(action) for action in range(ssp.actions)])
    owner = np.repeat(np.arange(ssp.states + 1), np.diff(model.state_choices))
    choice = np.repeat(np.arange(len(owner)), np.diff(model.choice_branches))
    start = owner[choice] == ssp.initial_state
    # Write the goal's self-loop only if no other row names the goal.
    last = ssp.states if (ssp.successors == ssp.goal).any() else ssp.states + 1
    order = np.concatenate([np.flatnonzero(start), np.flatnonzero(~start & (owner[choice] < last))])
    choice = choice[order]

    def named(codes: Int64s, names: Sequence[str]) -> Any:
        texts = pa.array(names, pa.string())
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), texts).dictionary_decode()

    return pa.table(
        {
            "state": named(owner[choice], [*states, goal]),
            "action": named(model.actions[choice], actions),
            "next_state": named(model.targets[order], [*states, goal]),
            "probability": model.probabilities[order],
            "cost": model.costs[choice],
        }
    )


def write(path: Path, ssp: SSP) -> None:
    """Write the transitions of a model as CSV or Parquet, depending on the extension of `path`."""
    content = io.BytesIO()
    if path.suffix == ".csv":
        arrow_csv.write_csv(to_table(ssp), content)
    else:
        parquet.write_table(to_table(ssp), content)
    write_bytes(path, content.getvalue())
