"""The options of verbs about one model: how a world or a file is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Annotated, Any

import typer

from goalward.cli.app import GiveUpCost, Settings, World

__all__ = ["Read", "takes_model"]

Read = Callable[[], Any]
Goal = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Model files: the label or state that is the goal. Can be repeated."),
]
Start = Annotated[str | None, typer.Option(metavar="STATE", help="Model files: the state to start in.")]
Cost = Annotated[
    str | None,
    typer.Option(metavar="NAME|NUMBER", help="Model files: the reward that is the cost, or the cost of every step."),
]
Normalize = Annotated[bool, typer.Option("--normalize", help="Model files: rescale rows that do not sum to one.")]
SumDuplicates = Annotated[
    bool, typer.Option("--sum-duplicates", help="Tables: add up transitions that are there twice.")
]
CountPrior = Annotated[
    float | None, typer.Option("--prior", metavar="NUMBER", help="Tables of counts: add this to every count.")
]


def read_model(
    world: World,
    settings: Settings = None,
    goal: Goal = None,
    start: Start = None,
    cost: Cost = None,
    normalize: Normalize = False,
    sum_duplicates: SumDuplicates = False,
    prior: CountPrior = None,
    give_up_cost: GiveUpCost = None,
) -> Any:
    """Return a world or the model of a file; a cost that looks like a number is one."""
    from goalward import worlds

    options: dict[str, Any] = {
        "goal": goal, "start": start, "cost": cost, "normalize": normalize, "sum_duplicates": sum_duplicates,
        "prior": prior,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value not in (None, False, [])}
    with suppress(ValueError, KeyError):
        options["cost"] = float(options["cost"])
    ssp = worlds.load(world, settings or (), **options)
    return ssp if give_up_cost is None else ssp.with_give_up(give_up_cost)


def takes_model(verb: Callable[..., None]) -> Callable[..., None]:
    """Give the options of `read_model` to a verb that takes `world` and `read`; ``read()`` returns the model."""
    reading = inspect.signature(read_model, eval_str=True).parameters
    own = inspect.signature(verb, eval_str=True).parameters
    parameters = [*reading.values(), *(own[name] for name in own if name not in ("world", "read"))]

    @wraps(verb)
    def with_model(**options: Any) -> None:
        read = {name: options.pop(name) for name in reading}
        verb(read["world"], partial(read_model, **read), **options)

    # Typer reads both.
    with_model.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_model.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_model
