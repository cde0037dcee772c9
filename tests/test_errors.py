"""The tree of errors: all public, and able to travel between processes."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import goalward as gw
from goalward import errors
from goalward.errors import GoalwardError, PrecisionError, UnknownNameError

CLASSES = {name: cls for name, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__}


def test_all_errors_are_of_the_tree() -> None:
    assert all(issubclass(cls, GoalwardError) and cls.__doc__ for cls in CLASSES.values())


def example(name: str) -> GoalwardError:
    if name == "PrecisionError":
        return PrecisionError("too wide", gw.solve(gw.SSP.from_dense([[[0.5, 0.5]]], [[1.0]])))
    arguments = {"UnknownNameError": ("world", "gird", ["grid"])}
    found = CLASSES[name](*arguments.get(name, ("what happened",)))
    assert isinstance(found, GoalwardError)
    return found


def test_errors_travel_between_processes() -> None:
    """An error that cannot be unpickled brings down the pool of workers it comes from."""
    for error in map(example, CLASSES):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is type(error)
            assert str(twin) == str(error)
            assert vars(twin).keys() == vars(error).keys()


def test_a_precision_error_brings_its_solution_along() -> None:
    error = example("PrecisionError")
    twin = pickle.loads(pickle.dumps(error))
    assert np.array_equal(twin.solution.values, error.solution.values)  # type: ignore[attr-defined]
    assert str(twin) == "too wide"


def test_unknown_names_offer_the_nearest() -> None:
    near = UnknownNameError("world", "gird", ["grid", "random"])
    assert str(near) == "no world is called 'gird'; did you mean 'grid'?"
    far = UnknownNameError("world", "xyz", iter(["random", "grid"]))
    assert str(far) == "no world is called 'xyz'; there are: grid, random"
    with pytest.raises(KeyError, match="no world is called 'gird'"):
        raise near


def test_bad_models_are_value_errors() -> None:
    with pytest.raises(ValueError, match=r"\(state 0, action 0\) has cost -1"):
        gw.SSP.from_dense([[[0.0, 1.0]]], [[-1.0]])


def test_names_that_are_not_texts_can_be_printed() -> None:
    for name in (3, None, ["grid"], ("a", "b")):
        assert repr(name) in str(UnknownNameError("world", name, ["grid", "chain"]))
