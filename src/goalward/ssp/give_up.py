"""Giving up: a way out of dead ends, at a price.

Definition
    In every state but the start, one more action, *give up*, leads to the start surely and costs J > 0. The episode
    goes on from there and ends at the goal, as every episode does. This is the reset of known cost that the authors of
    UC-SSP assume where the goal cannot be reached from everywhere (Tarbouriech et al., ICML 2020).

What it means
    V_J(s), the optimal value of the model with the action, is never more than J + V_J(start). It is finite everywhere
    if, without giving up, the goal can be reached from the start with positive probability. If every end that is not
    the goal is a dead end, a policy that reaches the goal with probability p, and pays C until it is there or lost,
    costs (C + (1 - p) J) / p from the start. So the larger J is, the more the best policy cares for p alone; where J is
    small, it gives up early. Regret is measured against V_J(start): against the best policy that may give up too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from goalward.errors import ModelError, SettingError
from goalward.settings import checked_number

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["GIVE_UP", "recognise_give_up", "with_give_up"]

GIVE_UP = "give up"


def with_give_up(ssp: SSP, cost: float) -> SSP:
    """Return the model with one more action, its last: from every state but the start back to the start."""
    price = checked_number("give_up_cost", cost, open=True, note=", what starting again costs")
    if ssp.give_up is not None:
        raise SettingError(
            f"in this model one can give up already, by action {ssp.give_up}; set the cost where that was added"
        )
    S, A = ssp.costs.shape
    lengths = np.zeros((S, A + 1), dtype=np.int64)
    lengths[:, :A] = np.diff(ssp.indptr).reshape(S, A)
    lengths[:, A] = np.arange(S) != ssp.initial_state
    # The entries of a state lie side by side, so the new one comes after its last.
    places = np.delete(ssp.indptr[A::A], ssp.initial_state)
    names = ssp.action_names or tuple(map(str, range(A)))
    return ssp._replace(
        indptr=np.append(0, np.cumsum(lengths)),
        successors=np.insert(ssp.successors, places, ssp.initial_state),
        probabilities=np.insert(ssp.probabilities, places, 1.0),
        costs=np.column_stack([ssp.costs, np.where(lengths[:, A], price, np.inf)]),
        action_names=(*names, GIVE_UP),
        give_up=A,
    )


def recognise_give_up(ssp: SSP) -> SSP:
    """Return a model from a format without a field for it with its action "give up" marked as such, as the last one.

    The action must be the only one of its name (DRN writes ``give_up``) and lead to the start from every other state;
    otherwise the model stays as it is.
    """
    names = [name.replace("_", " ") for name in ssp.action_names or ()]
    if names.count(GIVE_UP) != 1:
        return ssp
    S, A = ssp.costs.shape
    order = sorted(range(A), key=lambda action: names[action] == GIVE_UP)
    kernel = sparse.csr_array((ssp.probabilities, ssp.successors, ssp.indptr), shape=(S * A, S + 1))
    rows = kernel[(np.arange(S)[:, np.newaxis] * A + order).ravel()]
    try:
        return type(ssp).from_rows(
            rows.indptr,
            rows.indices,
            rows.data,
            ssp.costs[:, order],
            ssp.initial_state,
            state_names=ssp.state_names,
            action_names=[*(ssp.action_name(action) for action in order[:-1]), GIVE_UP],
            give_up=A - 1,
        )
    except ModelError:
        return ssp
