"""The command that checks the installation."""

from __future__ import annotations

import platform
import sys
from typing import Annotated

import typer

from goalward import __version__
from goalward.cli import options
from goalward.cli.app import app, show
from goalward.table import Table

PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "pydantic", "matplotlib", "typer", "rich", "distributed", "gymnasium")


@app.command()
def doctor(
    test: Annotated[bool, typer.Option("--test/--no-test", help="Also compile the kernels of all agents.")] = True,
    format: options.Format = "text",
) -> None:
    """Check the installation and print versions."""
    if test:
        from goalward.learning.warm_up import warm_up

        warm_up()
    # Read the cache after the warm-up, because the warm-up adds kernels to the cache.
    show(Table.facts(installed(), "installed"), format=format)


def installed() -> dict[str, str]:
    """Return versions of packages, facts about the machine, and the state of the kernel cache."""
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
    """Return one line about the kernel cache: its folder and the number of compiled kernels."""
    from goalward import jit

    folder = jit.cache_directory()
    if folder is None:
        return "none: no writable cache folder, so every process compiles; set GOALWARD_CACHE_DIR to a writable folder"
    files = list(folder.rglob("*.nbc"))
    # Several installations with the same sources share the folder, but each installation has its own copies.
    compiled = len({path.name.partition("-")[0] for path in files})
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return f"{folder} (writable): {compiled} of {len(jit.kernels())} kernels are compiled, {megabytes:.1f} MB"
