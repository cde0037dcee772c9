"""The recipes of docs/how-to/run-on-a-cluster.md are executed, with stand-ins for the programs of a cluster."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from goalward.cli import main
from goalward.studies.status import check_studies
from goalward.studies.store import Store
from goalward.studies.study import Study
from processes import start_python

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-on-a-cluster.md"
# Stand-ins that write down what they are asked to do, once for each task of an array.
GOALWARD = '#!/bin/bash\nprintf "%q " "$@" >> "$CALLS"; echo >> "$CALLS"\n'
SBATCH = """#!/bin/bash
while [ $# -gt 0 ]; do
    case "$1" in
        --array=*) tasks="${1#--array=1-}"; tasks="${tasks%\\%*}";;
        --chdir=*) cd "${1#--chdir=}";;
        --wrap) shift; command="$1";;
    esac
    shift
done
for task in $(seq "$tasks"); do SLURM_ARRAY_TASK_ID=$task bash -c "$command"; done
"""
SSH = '#!/bin/bash\nshift; cd /; bash -c "$1"\n'


def recipe(heading):
    """Return the first script below a heading of the page."""
    return re.search(r"```bash\n(.*?)```", PAGE.read_text().partition(f"## {heading}\n")[2], re.DOTALL)[1]


@pytest.fixture
def submit(folder, monkeypatch):
    """Run a script, and return the commands of goalward that it has led to."""
    programs = folder / "programs"
    programs.mkdir()
    for name, text in {"goalward": GOALWARD, "sbatch": SBATCH, "ssh": SSH}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.chdir("/")  # nothing may depend on where one is

    def run(heading, **variables):
        script, calls = folder / "submit.sh", folder / "calls"
        script.write_text(recipe(heading))
        calls.write_text("")
        paths = {"PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls)}
        subprocess.run(["bash", str(script)], env=os.environ | paths | variables, check=True, timeout=60)
        return sorted(shlex.split(line) for line in calls.read_text().splitlines())

    return run


def run_all(commands):
    for command in commands:
        with pytest.raises(SystemExit) as left:
            main(command)
        assert left.value.code in (0, None)


def test_a_slurm_array_with_two_tasks_killed_and_submitted_again(folder, submit, run_here, digests, capsys):
    variables = {"STUDY": "small.toml", "TASKS": "8", "THROTTLE": "3"}
    tasks = submit("Slurm", **variables)
    assert [task[task.index("--shard") + 1] for task in tasks] == [f"{number}/8" for number in range(1, 9)]
    assert all(str(folder) in task[1] and task[task.index("--out") + 1].startswith("/") for task in tasks)
    run_all(tasks[:3] + tasks[5:])  # two tasks are killed before they have stored anything
    store = Store.open(folder / "results" / "my-study")
    (status,) = check_studies(store, read=False)
    assert (status.stored, status.planned) == (9, 12)
    run_all(submit("Slurm", **variables))
    _, alone = run_here(Study.load(folder / "small.toml"), "alone")
    assert digests(store) == digests(alone)


def test_a_loop_over_machines_with_ssh(folder, submit, monkeypatch):
    (folder / "small.toml").rename(folder / "study.toml")
    commands = submit("Machines with ssh", HOSTS="one two")
    assert [command[command.index("--shard") + 1] for command in commands] == ["1/2", "2/2"]
    monkeypatch.chdir(folder)
    run_all([*command, "--workers", "1"] for command in commands)
    (status,) = check_studies(Store.open(folder / "results" / "my-study"), read=False)
    assert status.stored == status.planned == 12


# Starts workers here, where the real one asks Slurm for jobs.
JOBQUEUE = """
from distributed import LocalCluster

class SLURMCluster(LocalCluster):
    def __init__(self, cores, processes, memory, walltime):
        assert cores == processes, "one thread for each worker process"
        super().__init__(n_workers=0, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None)

    def scale(self, jobs):
        super().scale(2)
"""


def test_dask_jobqueue(folder, digests, run_here):
    pytest.importorskip("distributed")
    code = re.search(r"```python\n(.*?)```", PAGE.read_text().partition("## Dask\n")[2], re.DOTALL)[1]
    (folder / "dask_jobqueue.py").write_text(JOBQUEUE)
    (folder / "recipe.py").write_text(code)
    (folder / "study.toml").write_text((folder / "small.toml").read_text())
    done = start_python(folder, "recipe.py")
    _, err = done.communicate(timeout=120)
    assert (done.returncode, "Traceback" in err) == (0, False), err
    _, whole = run_here(Study.load(folder / "small.toml"), "whole")
    assert digests(Store.open(folder / "results" / "my-study")) == digests(whole)
