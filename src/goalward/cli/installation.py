"""The verbs about the installation: list what there is, check whether it works."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward import __version__
from goalward.cli import options
from goalward.cli.app import app, show
from goalward.errors import UnknownNameError
from goalward.table import Table

if TYPE_CHECKING:
    from goalward.registry import Registry
    from goalward.settings import Setting

PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "pydantic", "matplotlib", "typer", "rich", "distributed", "gymnasium")


@app.command("list")
def list_things(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="agents, figures, priors, studies or worlds.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show the settings of one of them.")] = None,
    format: options.Format = "text",
) -> None:
    """List the agents, figures, priors, studies or worlds by name."""
    from goalward.registry import summary

    if kind == "studies":
        note, rows = f"goalward run {name or 'NAME'} --show prints one with all its defaults", studies(name)
    elif name is not None:
        show(settings_table(registry_of(kind), name), format=format)
        return
    else:
        note, rows = f"goalward list {kind} NAME shows the settings of one", []
        for entry, thing in registry_of(kind):
            facts = getattr(thing, "__dict__", {})
            text = summary(thing) + f" RECOMMENDED for {facts.get('recommended')}." * bool(facts.get("recommended"))
            rows.append({"name": entry, "description": text})
            if kind == "agents":
                rows[-1]["proved regret"] = facts.get("bound", "")
    show(Table(rows, name=kind, notes=[note]), format=format)


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
    """Return the shipped studies, or one of them, with their descriptions."""
    from goalward.studies.study import shipped_studies

    known = {spec.name: spec.description for spec in shipped_studies()}
    if name is not None and name not in known:
        raise UnknownNameError("study", name, known)
    return [
        {"name": known_name, "description": text} for known_name, text in known.items() if name in (None, known_name)
    ]


def settings_table(registry: Registry[Any], name: str) -> Table:
    """Return the settings of an entry: their defaults as a command line takes them, and what is allowed."""
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
    """Write the default of a setting as a command line takes it; only the first line of a longer text."""
    from goalward.settings import MISSING, plain

    if setting.default is MISSING:
        return "computed from the true world" if from_world else "required"
    if setting.registry is not None and setting.default is not None:
        # An inline table of TOML, which has no word for None.
        values = plain(setting.default)
        return f"{{{', '.join(f'{name} = {value!r}' for name, value in values.items() if value is not None)}}}"
    first, _, rest = str(setting.default).partition("\n")
    return f"{first} ..." if rest else first


@app.command()
def doctor(
    test: Annotated[bool, typer.Option("--test/--no-test", help="Also compile the kernels of all agents.")] = True,
    format: options.Format = "text",
) -> None:
    """Print what is installed and whether it works."""
    if test:
        from goalward.learning.warm_up import warm_up

        warm_up()
    # After the warm-up, so that the cache is counted with what it added.
    show(Table.facts(installed(), "installed"), format=format)


def installed() -> dict[str, str]:
    """Return what is installed where."""
    from importlib.metadata import PackageNotFoundError, version

    from goalward.studies.run_file import host
    from goalward.studies.workers import cores

    facts = {
        "goalward": __version__,
        "python": f"{platform.python_version()} in {sys.prefix}",
        "system": f"{platform.system()} {platform.machine()}, {host()['processor']}",
        "cores": f"{cores()} of {host()['cores']} may be used",
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts | {"kernel_cache": cache_state()}


def cache_state() -> str:
    """Return where compiled kernels are stored, and how many there are."""
    from goalward import jit

    folder = jit.cache_directory()
    if folder is None:
        return "none: no folder can be written, so every process compiles its own; set GOALWARD_CACHE_DIR"
    files = list(folder.rglob("*.nbc"))
    # Several installations with the same sources share the folder, each with its own copies.
    compiled = len({path.name.partition("-")[0] for path in files})
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return f"{folder} (writable): {compiled} of {len(jit.kernels())} kernels are compiled, {megabytes:.1f} MB"
