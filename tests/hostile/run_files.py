"""Results folders in which files were damaged, swapped, copied, forged or removed.

Whatever is done to a folder, every verb that reads it answers, and nothing outside it changes. Then `goalward run`
makes again what is not the run it should be, and the summary is the one it was before.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w
from mutations import call, mutate_bytes

STUDY = """\
name = "small"
runs = 3
episodes = 20

[[worlds]]
world = "grid-world"
settings = { rows = 2, columns = 2 }

[[agents]]
agent = "uniform"

[[agents]]
agent = "psrl"
"""


@functools.cache
def finished() -> tuple[Path, str]:
    """Return a folder with a finished study and its summary."""
    folder = Path(tempfile.mkdtemp(prefix="goalward-attack-"))
    (folder / "small.toml").write_text(STUDY)
    code, _, err = call("run", str(folder / "small.toml"), "--out", str(folder / "results"), "--workers", "1")
    assert code == 0, err
    return folder, summary(folder / "results")


def summary(results: Path) -> str:
    """Return the summary of a study without what depends on the clock."""
    code, out, err = call("summary", str(results), "--format", "json")
    assert code == 0, err
    document = json.loads(out)
    for row in document["summary"]:
        row.pop("seconds", None)
    return json.dumps(document, sort_keys=True)


def forge(path: Path, rng: random.Random) -> None:
    """Write a run again with other content and no checksum that fits, as a script of the user's might."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:  # it was harmed before
        return
    if rng.random() < 0.5:
        table = table.drop_columns([rng.choice(table.column_names)])
    pq.write_table(table, path)


def harm(rng: random.Random, results: Path) -> None:
    """Do one bad thing to a folder of results."""
    runs = sorted(path for path in (results / "runs").rglob("*.parquet") if path.is_file() and not path.is_symlink())
    if not runs:
        return
    path, other = rng.choice(runs), rng.choice(runs)
    kind = rng.randrange(12)
    if kind == 0:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    elif kind == 1:
        path.write_bytes(other.read_bytes())
    elif kind == 2:
        swapped = path.read_bytes()
        path.write_bytes(other.read_bytes())
        other.write_bytes(swapped)
    elif kind == 3:
        path.unlink()
    elif kind == 4:
        forge(path, rng)
    elif kind == 5:
        path.unlink()
        path.symlink_to("/dev/zero" if rng.random() < 0.5 else other)
    elif kind == 6:
        path.unlink()
        path.mkdir()
    elif kind == 7:
        for plan in results.glob("studies/*/*.toml"):
            plan.write_bytes(mutate_bytes(rng, plan.read_bytes()))
    elif kind == 8:
        (results / "goalward-results.json").write_bytes(
            mutate_bytes(rng, (results / "goalward-results.json").read_bytes())
        )
    elif kind == 9:
        for plan in results.glob("studies/*/*.toml"):
            forge_plan(rng, plan)
    elif kind == 10:
        divert(
            results
            / rng.choice(["attachments", "damaged", "failed", f"runs/{path.parent.name}", "studies", "studies/small"])
        )
    else:
        path.unlink()
        os.mkfifo(path)


def forge_plan(rng: random.Random, plan: Path) -> None:
    """Change one value in a stored study, which stays sound TOML."""
    try:
        document = tomllib.loads(plan.read_text())
        parent: Any = document
        name: Any = rng.choice(sorted(document))
        while isinstance(parent[name], dict | list) and parent[name] and rng.random() < 0.9:
            parent = parent[name]
            name = rng.choice(sorted(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
    except (OSError, ValueError, TypeError):  # it was harmed before
        return
    parent[name] = rng.choice(
        [-1, 10**8, 10**30, 1e308, math.nan, "../../x", "<script>", "\x1b[31m", [], {}, True, [[]]]
    )
    plan.write_text(tomli_w.dumps(document))


def divert(folder: Path) -> None:
    """Put a symbolic link to a folder outside in the place of one inside."""
    outside = folder
    while outside.name != "results":
        outside = outside.parent
    if folder.is_symlink():
        return
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.symlink_to(outside.with_name("outside"))


def attack(rng: random.Random, folder: Path) -> str:
    """Harm a folder, look at it, run the study again and compare."""
    origin, expected = finished()
    results, outside = folder / "results", folder / "outside"
    shutil.copytree(origin / "results", results)
    key = rng.choice(sorted((results / "runs").rglob("*.parquet"))).stem
    outside.mkdir()
    for name in ("mine.py", "mine.npz", "mine.json", "mine.parquet", f"{key}.parquet", "mine.part"):
        (outside / name).write_text("kept")
    for _ in range(rng.choice([1, 1, 2, 4])):
        harm(rng, results)
    before = content(outside)
    for verb in ("status", "summary", *rng.sample(sorted(VERBS), 2)):
        code, out, err = call(verb.split()[0], str(results), *VERBS.get(verb, lambda *_: ())(folder, key))
        assert code in (0, 1, 2), (verb, code, err)
        assert code != 2 or len(err.strip().splitlines()) == 1, (verb, err)
        assert "Traceback" not in out + err, (verb, out, err)
        assert content(outside) == before, verb
    code, _, err = call("run", str(origin / "small.toml"), "--out", str(results), "--workers", "1")
    assert content(outside) == before
    assert code in (0, 1, 2), (code, err)
    if code:
        assert err.strip(), "nothing is said"
        return "refused"
    assert summary(results) == expected
    return "used"


VERBS: dict[str, Callable[[Path, str], tuple[str, ...]]] = {
    "export --all": lambda folder, key: ("--all", "--format", "text"),
    "export": lambda folder, key: ("--out", str(folder / "runs.csv")),
    "status --check": lambda folder, key: ("--check",),
    "status --prune": lambda folder, key: ("--prune", "--yes"),
    "run --again": lambda folder, key: ("--again", key),
    "summary --compare": lambda folder, key: ("--compare", "psrl", "uniform"),
    "report": lambda folder, key: ("--out", str(folder / "report.html")),
    "plot": lambda folder, key: ("--out", str(folder / "plot.svg")),
}
"""The other verbs that read a folder, and their arguments after it."""


def content(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
