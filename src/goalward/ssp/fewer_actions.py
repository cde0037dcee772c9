"""Models with fewer actions."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Bools
from goalward.ssp.model import SSP

__all__ = ["keep_rows"]


def keep_rows(ssp: SSP, rows: Bools) -> SSP:
    """Return the model in which only the given actions are available; ``rows[s, a]``."""
    kept = rows.reshape(-1)
    length = np.diff(ssp.indptr)
    entries = np.repeat(kept, length)
    return ssp._replace(
        indptr=np.append(0, np.cumsum(np.where(kept, length, 0))),
        successors=ssp.successors[entries],
        probabilities=ssp.probabilities[entries],
        costs=np.where(rows, ssp.costs, np.inf),
    )
