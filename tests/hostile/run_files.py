"""Results folders in which files were damaged, swapped, copied, forged or removed.

After any of it, `goalward run` makes again what is not the run it should be, and the summary is the one it was before.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
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
    code, out, err = call("summary", str(results), "--json")
    assert code == 0, err
    document = json.loads(out)
    for row in document["rows"]:
        row.pop("seconds", None)
    return json.dumps(document, sort_keys=True)


def forge(path: Path, rng: random.Random) -> None:
    """Write a run again with other content and no checksum that fits, as a script of the user's might."""
    table = pq.read_table(path)
    if rng.random() < 0.5:
        table = table.drop_columns([rng.choice(table.column_names)])
    pq.write_table(table, path)


def harm(rng: random.Random, results: Path) -> None:
    """Do one bad thing to a folder of results."""
    runs = sorted(path for path in (results / "runs").rglob("*.parquet") if path.is_file() and not path.is_symlink())
    if not runs:
        return
    path, other = rng.choice(runs), rng.choice(runs)
    kind = rng.randrange(9)
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
        plan = next((results / "studies").glob("*.json"))
        plan.write_bytes(mutate_bytes(rng, plan.read_bytes()))
    else:
        (results / "goalward-results.json").write_bytes(
            mutate_bytes(rng, (results / "goalward-results.json").read_bytes())
        )


def attack(rng: random.Random, folder: Path) -> str:
    """Harm a folder, look at it, run the study again and compare."""
    origin, expected = finished()
    results = folder / "results"
    shutil.copytree(origin / "results", results)
    for _ in range(rng.choice([1, 1, 2, 4])):
        harm(rng, results)
    codes = []
    for verb in ("status", "summary"):
        code, out, err = call(verb, str(results))
        assert code in (0, 1, 2), (verb, code, err)
        assert "Traceback" not in out + err
        codes.append(code)
    code, _, err = call("run", str(origin / "small.toml"), "--out", str(results), "--workers", "1")
    assert code in (0, 2), (code, err)
    if code == 2:
        return "refused"
    assert summary(results) == expected
    return "used"
