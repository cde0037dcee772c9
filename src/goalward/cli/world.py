"""Commands about worlds: `list` prints names, `show` describes a world, and `solve` solves a world."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward.cli import options
from goalward.cli.app import app, given_options, say
from goalward.cli.app import show as show_tables
from goalward.errors import UnknownNameError
from goalward.formatting import number, plural
from goalward.table import Cell, Column, Columns, Table

if TYPE_CHECKING:
    from goalward.arrays import Int64s
    from goalward.planning.hardness import Hardness
    from goalward.planning.solve import Solution
    from goalward.registry import Registry
    from goalward.settings import Setting
    from goalward.ssp.graph import Structure
    from goalward.ssp.model import SSP


@app.command("list")
def list_things(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="List agents, figures, priors, studies or worlds.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print details of only this entry.")] = None,
    format: options.Format = "text",
) -> None:
    """List the agents, figures, priors, studies or worlds by name."""
    from goalward.registry import summary

    if kind == "studies":
        note, rows = f"goalward run {name or 'NAME'} --show prints a study with all its defaults", studies(name)
    elif name is not None:
        show_tables(settings_table(registry_of(kind), name), format=format)
        return
    else:
        note, rows = f"goalward list {kind} NAME shows the settings of one", []
        for entry, thing in registry_of(kind):
            facts = getattr(thing, "__dict__", {})
            text = summary(thing) + f" RECOMMENDED for {facts.get('recommended')}." * bool(facts.get("recommended"))
            rows.append({"name": entry, "description": text})
            if kind == "agents":
                rows[-1]["proved regret"] = facts.get("bound", "")
    show_tables(Table(rows, name=kind, notes=[note]), format=format)


@app.command()
def show(
    world: options.World,
    settings: options.Settings = None,
    goal: options.Goal = None,
    start: options.Start = None,
    cost: options.Cost = None,
    give_up_cost: options.GiveUpCost = None,
    png: options.Picture = None,
    format: options.Format = "text",
) -> None:
    """Describe a world: structure, hardness, picture."""
    from goalward import worlds
    from goalward.figures import terminal_grid
    from goalward.planning.hardness import hardness
    from goalward.planning.solve import solve_all
    from goalward.ssp.graph import structure

    rules = given_options(goal=goal, start=start, cost=cost, give_up_cost=give_up_cost)
    ssp = worlds.load(world, settings or (), **rules)
    if png is not None:
        from goalward.figures.drawing import figure_files, save_figure

        files = figure_files(png)
        terminal_grid.layout_of(ssp)
    tables = [model_facts(ssp, world), structure_facts(ssp, structure(ssp)), hardness_table(hardness(ssp))]
    show_tables(*tables, format=format)
    if not terminal_grid.has_picture(ssp) or (format != "text" and png is None):
        return
    solution = solve_all(ssp)
    if format == "text":
        width = shutil.get_terminal_size(fallback=(120, 50)).columns
        if (ground := terminal_grid.ground_text(ssp, width)) is not None:
            say("", ground)
        picture = terminal_grid.grid_text(ssp, solution.values, solution.policy, width=width)
        say("", picture or "The grid is too large to be drawn as text; --png FILE draws it as an image.")
    if png is not None:
        from goalward.figures.grid import grid_figure

        save_figure(grid_figure(ssp, solution.values, solution.policy, world), files)
        say("", *(f"written: {path}" for path in files), format=format)


@app.command()
def solve(
    world: options.World,
    settings: options.Settings = None,
    goal: options.Goal = None,
    start: options.Start = None,
    cost: options.Cost = None,
    give_up_cost: options.GiveUpCost = None,
    goal_first: Annotated[bool, typer.Option("--goal-first", help="First maximise the goal probability.")] = False,
    tolerance: Annotated[float, typer.Option(help="The allowed relative distance between bounds.")] = 1e-6,
    limit: Annotated[int | None, typer.Option(help="States to print.  [default: 20, but all in csv, json]")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write values and policy to this .csv file.")] = None,
    format: options.Format = "text",
) -> None:
    """Solve a world: optimal costs, proved bounds, best actions."""
    from goalward import worlds
    from goalward.interchange.solutions import check_ending
    from goalward.planning.solve import solve as solve_model

    if out is not None:
        check_ending(out)
    rules = given_options(goal=goal, start=start, cost=cost, give_up_cost=give_up_cost)
    ssp = worlds.load(world, settings or (), **rules)
    solution = solve_model(ssp, tolerance, goal_first=goal_first)
    if out is not None:
        solution.save(out)
    if limit is None:
        limit = ssp.states if format in ("csv", "json") else 20
    tables = [solution_facts(ssp, solution, tolerance, world), solution_table(ssp, solution, tolerance, max(limit, 0))]
    show_tables(*tables[: 1 + (limit > 0)], format=format, written=[out])


def registry_of(kind: str) -> Registry[Any]:
    from goalward.agents.base import registry as agents
    from goalward.beliefs.base import registry as priors
    from goalward.figures import registry as figures
    from goalward.worlds.base import registry as worlds

    registries: dict[str, Registry[Any]] = {"agents": agents, "figures": figures, "priors": priors, "worlds": worlds}
    if kind not in registries:
        raise UnknownNameError("list", kind, (*registries, "studies"))
    return registries[kind]


def studies(name: str | None) -> list[dict[str, str]]:
    """Return names and descriptions of the shipped studies, or only those of the study `name`."""
    from goalward.studies.study import shipped_studies

    known = {spec.name: spec.description for spec in shipped_studies()}
    if name is not None and name not in known:
        raise UnknownNameError("study", name, known)
    return [
        {"name": known_name, "description": text} for known_name, text in known.items() if name in (None, known_name)
    ]


def settings_table(registry: Registry[Any], name: str) -> Table:
    """Return a table of the settings of the entry `name`, with defaults and allowed values."""
    from goalward.registry import summary
    from goalward.settings import settings_of

    entry = registry.find(name)
    thing = getattr(entry, "build", entry)  # a world is built by a function
    needs = getattr(thing, "needs", ())
    rows = [
        {"setting": setting, "default": default_text(about, setting in needs), "allowed": about.allowed}
        for setting, about in settings_of(thing).items()
    ]
    python_only = getattr(thing, "python_only", "")
    notes = [f"in Python only: {python_only}"] if python_only else []
    return Table(rows, ["setting", "default", "allowed"], "settings", f"{name}: {summary(entry)}", notes)


def default_text(setting: Setting, from_world: bool) -> str:
    """Return the first line of the default of `setting`, in command-line syntax."""
    from goalward.settings import MISSING, plain

    if setting.default is MISSING:
        return "computed from the true world" if from_world else "required"
    if setting.registry is not None and setting.default is not None:
        # This is an inline table in TOML. TOML has no None, so entries that are None are left out.
        values = plain(setting.default)
        return f"{{{', '.join(f'{name} = {value!r}' for name, value in values.items() if value is not None)}}}"
    first, _, rest = str(setting.default).partition("\n")
    return f"{first} ..." if rest else first


def model_facts(ssp: SSP, title: str = "") -> Table:
    """Return the size, the costs and the start of a model."""
    import numpy as np

    from goalward.figures.terminal_grid import cost_range, step_costs
    from goalward.ssp.layout import state_label

    missing, costs = int(np.count_nonzero(~ssp.available)), step_costs(ssp)
    costs = costs[np.isfinite(costs)]
    names = f": {', '.join(ssp.action_names)}" if ssp.action_names else ""
    names += f" ({plural(missing, 'pair')} not available)" * bool(missing)
    give_up = None if ssp.give_up is None else f"{cost_range(ssp.costs[:, ssp.give_up])}, back to the start"
    facts = {
        "states": Cell(ssp.states, f"{ssp.states:,} and the goal"),
        "actions": Cell(ssp.actions, f"{ssp.actions}{names}"),
        "transitions": len(ssp.successors),
        "costs": Cell([float(costs.min()), float(costs.max())], cost_range(costs)),
        "giving_up": give_up,
        "start": Cell(ssp.initial_state, state_label(ssp, ssp.initial_state)),
        "digest": Cell(ssp.digest, ssp.digest[:16]),
    }
    return Table.facts(facts, "model", title)


def structure_facts(ssp: SSP, structure: Structure) -> Table:
    """Return the results of graph analysis, such as dead ends, unreachable states and zero-cost loops."""
    loops = structure.zero_cost_loops
    reached = "yes"
    if not structure.reaches_goal:
        lost = ssp.initial_state in structure.never
        reached = f"NO: no {'path leads there' if lost else 'policy reaches it almost surely'} from the start"
    some_loops = "; ".join(f"{{{some_states(ssp, loop, 4)}}}" for loop in loops[:4]) + "; ..." * (len(loops) > 4)
    dead = bool(len(structure.dead_ends))
    facts = {
        "reaches_goal": Cell(bool(structure.reaches_goal), reached),
        "dead_ends": counted_states(ssp, structure.dead_ends),
        "goal_maybe": counted_states(ssp, structure.maybe) if dead else None,
        "goal_never": counted_states(ssp, structure.never) if dead else None,
        "not_reachable": counted_states(ssp, structure.unreachable),
        "zero_cost_loops": Cell(len(loops), f"{len(loops):,}: {some_loops}" if len(loops) else "none"),
    }
    headings = {"reaches_goal": "goal reached almost surely", "zero_cost_loops": "zero-cost loops"}
    columns: Columns = [Column(name, headings.get(name, "")) for name in facts]
    return Table.facts(facts, "structure", "structure", columns=columns)


def hardness_table(hardness: Hardness) -> Table:
    """Return the quantities that bounds on regret depend on."""
    quantities = [
        ("B*", hardness.B_star, "the largest optimal cost of a state"),
        ("T*", hardness.T_star, "the largest expected number of steps of the optimal policy"),
        ("D", hardness.D, "the SSP-diameter: the largest expected number of steps of the fastest policy"),
        ("c_min", hardness.c_min, "the smallest cost"),
        ("gap", hardness.smallest_gap, "the smallest loss of one wrong action"),
    ]
    rows = [{"quantity": name, "value": value, "meaning": meaning} for name, value, meaning in quantities]
    notes = []
    if not hardness.proper:
        share = f"{hardness.sure_states:,} of {hardness.states:,}"
        notes = [f"covers only the {share} states from which the goal is reached almost surely"]
    columns: Columns = ["quantity", Column("value", write=lambda value: number(value, 5)), "meaning"]
    return Table(rows, columns, "hardness", "hardness", notes)


def counted_states(ssp: SSP, states: Int64s) -> Cell:
    return Cell(len(states), f"{len(states):,}: {some_states(ssp, states, 4)}" if len(states) else "none")


def some_states(ssp: SSP, states: Int64s, limit: int) -> str:
    from goalward.ssp.layout import state_label

    named = "; ".join(state_label(ssp, int(state)) for state in states[:limit])
    return named + ("; ..." if len(states) > limit else "")


def solution_facts(ssp: SSP, solution: Solution, tolerance: float, title: str = "") -> Table:
    """Return the value of the initial state, the proved bounds on this value, and the method used."""
    import numpy as np

    from goalward.planning.goal_first import GoalFirstSolution
    from goalward.ssp.layout import state_label

    start, digits = ssp.initial_state, digits_of(tolerance)

    def proved(values: Any, lower: Any, upper: Any, more: str = "") -> Cell:
        value, low, high = (number(numbers[start], digits) for numbers in (values, lower, upper))
        return Cell(float(values[start]), f"{value}{more}, proved to lie in {low} .. {high}")

    dead = int(np.count_nonzero(np.isinf(solution.values)))
    first = isinstance(solution, GoalFirstSolution)
    facts: dict[str, Any] = {}
    if isinstance(solution, GoalFirstSolution):
        chances = (solution.goal_probability, solution.probability_lower, solution.probability_upper)
        facts["goal_probability"] = proved(*chances)
    cost = proved(solution.values, solution.lower, solution.upper, ", or until the goal is lost" * first)
    method = f"{solution.method}, {plural(solution.iterations, 'iteration')}; bounds within {solution.width:.1e}"
    facts |= {
        "cost": cost,
        "lower": float(solution.lower[start]),
        "upper": float(solution.upper[start]),
        "start": Cell(start, state_label(ssp, start)),
        "method": Cell(solution.method, method),
        "iterations": solution.iterations,
        "width": solution.width,
        "dead_ends": Cell(dead, f"{dead:,} of {ssp.states:,} states, at infinite cost"),
        "states": ssp.states,
        "actions": ssp.actions,
        "digest": ssp.digest,
    }
    columns: Columns = [
        "goal_probability",
        Column("cost", "cost until then" if first else "cost from the start"),
        "start",
        "method",
        *([Column("dead_ends", "lost" if first else "")] if dead else []),
    ]
    return Table.facts(facts, "solution", title, columns=columns)


def solution_table(ssp: SSP, solution: Solution, tolerance: float, limit: int) -> Table:
    """Return the values, bounds and actions of the first `limit` states, with one row for each state."""
    from goalward.planning.goal_first import GoalFirstSolution
    from goalward.ssp.layout import state_label

    numbers = {"value": solution.values, "lower": solution.lower, "upper": solution.upper}
    if isinstance(solution, GoalFirstSolution):
        chances = ("goal_probability", "probability_lower", "probability_upper")
        numbers |= {name: getattr(solution, name) for name in chances}
    label = ["name"] if ssp.state_names is not None else ["place"] if ssp.layout is not None else []
    rows = [
        {
            "state": state,
            **{name: state_label(ssp, state) for name in label},
            **{name: float(values[state]) for name, values in numbers.items()},
            "action": ssp.action_name(int(solution.policy[state])),
        }
        for state in range(min(limit, ssp.states))
    ]
    digits = digits_of(tolerance)
    shown = [name for name in numbers if not name.startswith("probability")]
    written = [Column(name, write=lambda value: number(value, digits, zeros=True)) for name in shown]
    more = ssp.states - limit
    notes = [f"{more:,} more of {ssp.states:,} states: see --limit and --format json"] if more > 0 else []
    return Table(rows, ["state", *label, *written, "action"], "states", notes=notes)


def digits_of(tolerance: float) -> int:
    """Return how many digits to print: two more than `tolerance` guarantees, at least 5 and at most 17."""
    return min(max(2 - math.floor(math.log10(tolerance)), 5), 17)
