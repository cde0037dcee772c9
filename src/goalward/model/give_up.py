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

from goalward.errors import SettingError
from goalward.settings import checked_number

if TYPE_CHECKING:
    from goalward.model.ssp import SSP

__all__ = ["GIVE_UP", "with_give_up"]

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
