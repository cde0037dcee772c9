"""Disks that fill up or become read-only while a study runs, on real file systems in memory.

The study ends with one sentence and an exit code that is not 0, no run is said to have failed, what is stored stays
valid, and the same command goes on once the disk is well.
"""

import shutil
import subprocess
import sys
import time

import pytest

from goalward.studies.status import check_studies
from goalward.studies.store import Store
from goalward.studies.study import Study

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
SCRIPT = """
mount -t tmpfs -o {options} tmpfs {mount} || exit 77
({meanwhile}) &
{python} -m goalward run disk.toml --out {mount}/results --workers 2
code=$?
wait
cp -r {mount}/results {copy}
exit $code
"""
READ_ONLY = "until ls {mount}/results/runs/*/*.parquet; do sleep 0.02; done; mount -o remount,ro {mount}"
STUDY = """
name = "disk"
runs = 40
episodes = 10
[[worlds]]
world = "grid-world"
[[agents]]
agent = "psrl"
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
@pytest.mark.parametrize(
    ("options", "meanwhile", "reason"),
    [
        ("size=96k", "", "No space left on device"),
        ("nr_inodes=40", "", "No space left on device"),
        ("size=10m", READ_ONLY, "Read-only file system"),
    ],
)
def test_a_disk_that_takes_no_more(folder, run_here, digests, options, meanwhile, reason):
    mount, copy = folder / "mount", folder / "copy"
    mount.mkdir()
    (folder / "disk.toml").write_text(STUDY)
    meanwhile = meanwhile.format(mount=mount)
    script = SCRIPT.format(options=options, mount=mount, meanwhile=meanwhile or ":", python=sys.executable, copy=copy)
    done = subprocess.run([*UNSHARE, "bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("file systems cannot be mounted here")
    said = done.stdout + done.stderr
    assert done.returncode in (1, 2), said
    assert (reason in said, "Traceback" in said) == (True, False), said
    store = Store.open(copy)
    (status,) = check_studies(store)
    assert (status.failures, status.damaged) == ([], [])
    assert 0 < status.stored < status.planned
    study = Study.load(folder / "disk.toml")
    assert run_here(study, "copy")[0].complete
    _, whole = run_here(study, "whole")
    assert digests(store) == digests(whole)


def test_a_clock_that_jumps_changes_nothing(folder, run_here, digests, monkeypatch):
    study = Study.load(folder / "small.toml")
    _, whole = run_here(study, "whole")
    now, jumps = time.time, [86_400.0, -86_400.0, 0.0] * 10_000
    monkeypatch.setattr(time, "time", lambda: now() + jumps.pop())
    report, store = run_here(study)
    assert (report.complete, report.failures) == (True, [])
    assert digests(store) == digests(whole)
