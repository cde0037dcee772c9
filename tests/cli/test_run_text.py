"""One run in words and numbers."""

import numpy as np
import pytest

from goalward import SSP, agents, learn, worlds
from goalward.cli.run_text import causes, run_document, run_table


@pytest.fixture(scope="module")
def run():
    return learn(agents.PSRL(), worlds.grid_world(), 1000, 0)


def test_the_causes_of_all_epochs_add_up(run):
    """In this run some epochs end by visits and goals at once."""
    found = causes(run)
    assert found["visits of a pair and goals reached"] > 0
    assert sum(found.values()) == len(run.epochs)
    assert run_document(run, 1.0)["epochs_ended_by"] == found
    (line,) = [line for line in run_table(run, 1.0).splitlines() if "epochs ended by" in line]
    numbers = [int(part.rpartition(" ")[2].replace(",", "")) for part in line.split("   ")[-1].split(", ")]
    assert sum(numbers) == len(run.epochs)


def test_rows_are_powers_of_ten(run):
    curve = run_document(run, 1.0)["curve"]
    assert [point["episodes"] for point in curve] == [1, 10, 100, 1000]
    assert [point["cost"] for point in curve] == np.cumsum(run.costs)[[0, 9, 99, 999]].tolist()
    assert curve[-1]["epochs"] == len(run.epochs)


def test_infinite_regret_is_written():
    trap = SSP.from_dense([[[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]], np.ones((2, 2)))
    lost = learn(agents.make("uniform"), trap, 20, 0, max_steps=200)
    assert lost.truncated
    assert run_table(lost, 1.0).splitlines()[-1].split()[0] == "truncated"
    assert "inf" in run_table(lost, 1.0)
