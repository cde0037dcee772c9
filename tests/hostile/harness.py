"""Carries hostile cases out in child processes, so that a crash or a hang of one case is an answer, not the end.

An attack is a function ``attack(rng, folder) -> str`` that builds one case from a `random.Random` and tries it. It
returns what goalward made of the case, "refused" or "used". Whatever is wrong is an exception: an assertion of the
attack, or any error that is not goalward's own. A case is named by its attack and its seed, and can be repeated alone::

    python tests/hostile/harness.py saved_agents 17
"""

from __future__ import annotations

import importlib
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ATTACKS = ("dask_cuts", "dask_signals", "model_files", "planner", "run_files", "saved_agents", "signals", "study_files")
"""The modules of this folder that hold an attack."""
CPU_SECONDS, SECONDS = 60.0, 900.0
"""A case hangs if it has used the first, or if it has not answered within the second, however busy the machine is."""
CHECK_SECONDS = 5.0


@dataclass
class Report:
    """What became of the cases of one attack."""

    attack: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many cases were tried."""
        return self.outcomes.total() + len(self.failures)


class Child:
    """A process that tries one case after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "harness.py"), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()  # its kernels are compiled now, which a case should not pay for

    def try_case(self, attack: str, seed: int) -> tuple[str, str]:
        """Return the outcome of a case and what went wrong, if anything."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([attack, seed]).encode() + b"\n")
        self.process.stdin.flush()
        began, used = time.monotonic(), cpu_seconds(self.process.pid)
        while not select.select([self.process.stdout], [], [], CHECK_SECONDS)[0]:
            spent, waited = cpu_seconds(self.process.pid) - used, time.monotonic() - began
            if spent > CPU_SECONDS or waited > SECONDS:
                self.close()
                return "failed", f"no answer after {spent:.0f} seconds of computing and {waited:.0f} of waiting"
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            return "failed", f"the process ended with exit code {code}"
        outcome, message = json.loads(line)
        return outcome, message

    @property
    def alive(self) -> bool:
        """Whether the process can try another case."""
        return self.process.poll() is None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed, as ``ps`` prints it: days-hours:minutes:seconds."""
    text = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    days, _, clock = text.rpartition("-")
    seconds = 0
    for part in clock.split(":") if clock else []:
        seconds = 60 * seconds + int(part)
    return seconds + 86_400.0 * int(days or 0)


def run_attack(attack: str, seeds: Iterable[int], until: float = float("inf")) -> Report:
    """Try the cases of an attack, one after the other, up to a moment of `time.monotonic`."""
    report = Report(attack)
    child = Child()
    try:
        for seed in seeds:
            if time.monotonic() >= until:
                break
            if not child.alive:
                child.close()
                child = Child()
            outcome, message = child.try_case(attack, seed)
            if outcome == "failed":
                report.failures.append((seed, message))
            else:
                report.outcomes[outcome] += 1
    finally:
        child.close()
    return report


def try_here(attack: str, seed: int) -> str:
    """Try one case in this process."""
    module = importlib.import_module(attack)
    with tempfile.TemporaryDirectory(prefix="goalward-attack-") as folder:
        return str(module.attack(random.Random(f"{attack}-{seed}"), Path(folder)))


def serve() -> None:
    """Answer cases from standard input on standard output; what goalward prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    importlib.import_module("goalward").warm_up()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        attack, seed = json.loads(line)
        try:
            answer = (try_here(attack, seed), "")
        except BaseException:
            answer = ("failed", traceback.format_exc(limit=-6))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def table(reports: list[Report]) -> str:
    """Return the reports as a Markdown table."""
    lines = ["| attack | cases | refused | used | failures |", "|---|--:|--:|--:|--:|"]
    for report in reports:
        refused, used = report.outcomes["refused"], report.outcomes["used"]
        lines.append(f"| {report.attack} | {report.cases:,} | {refused:,} | {used:,} | {len(report.failures):,} |")
    return "\n".join(lines)


def attack_for(minutes: float, attacks: Iterable[str] = ATTACKS) -> list[Report]:
    """Give every attack an equal share of some minutes, with seeds beyond those of the tests."""
    names = list(attacks)
    reports = []
    Child().close()  # compiles the kernels before the minutes count
    for name in names:
        print(f"attacking: {name}", file=sys.stderr, flush=True)
        until = time.monotonic() + 60.0 * minutes / len(names)
        reports.append(run_attack(name, range(1_000_000, 2_000_000), until))
        for seed, message in reports[-1].failures:
            print(f"{name} {seed}: {message}", file=sys.stderr)
    return reports


def main(arguments: list[str]) -> int:
    """Serve cases, repeat one, or attack for some minutes."""
    sys.path.insert(0, str(HERE))
    sys.path.insert(0, str(HERE.parent))
    if arguments[:1] == ["--serve"]:
        serve()
        return 0
    if arguments[:1] == ["--minutes"]:
        reports = attack_for(float(arguments[1]))
        print(table(reports))
        return 1 if any(report.failures for report in reports) else 0
    print(try_here(arguments[0], int(arguments[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
