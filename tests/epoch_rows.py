"""The epochs of a run one by one, which the package holds as columns."""

from __future__ import annotations

from types import SimpleNamespace

from goalward.learning.run import Epochs


def epoch_rows(epochs: Epochs) -> list[SimpleNamespace]:
    columns = {name: column.tolist() for name, column in vars(epochs).items()}
    return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
