"""One run as tables."""

import numpy as np
import pytest

from goalward import SSP, agents, learn, worlds
from goalward.cli.learn import run_tables
from goalward.table import render


@pytest.fixture(scope="module")
def run():
    return learn(agents.PSRL(), worlds.grid_world(), 1000, 0)


def test_the_causes_of_all_epochs_add_up(run):
    """In this run some epochs end by visits and goals at once."""
    _, facts = run_tables(run, 1.0, "grid-world")
    by_cause = facts.data()[0]["epochs_ended_by"]
    assert by_cause["visits of a pair and goals reached"] > 0
    assert sum(by_cause.values()) == len(run.epochs)
    (line,) = [line for line in facts.text().splitlines() if "epochs ended by" in line]
    numbers = [int(part.rpartition(" ")[2].replace(",", "")) for part in line.split("   ")[-1].split(", ")]
    assert sum(numbers) == len(run.epochs)


def test_rows_are_powers_of_ten(run):
    curve, _ = run_tables(run, 1.0, "grid-world")
    assert curve["episodes"] == [1, 10, 100, 1000]
    assert curve["cost"] == np.cumsum(run.costs)[[0, 9, 99, 999]].tolist()
    assert curve["epochs"][-1] == len(run.epochs)


def test_infinite_regret_is_written():
    trap = SSP.from_dense([[[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]], np.ones((2, 2)))
    lost = learn(agents.make("uniform"), trap, 20, 0, max_steps=200)
    assert lost.truncated
    text = render(run_tables(lost, 1.0, "trap"))
    assert text.splitlines()[-1].split()[0] == "truncated"
    assert "inf" in text
