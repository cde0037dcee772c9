"""Files of other tools on the command line: goal, start and cost are options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goalward.cli import main

SAMPLES = Path(__file__).parents[1] / "interchange" / "samples"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    printed = capsys.readouterr()
    return leaving.value.code, printed.out, printed.err


def test_solve_takes_goal_start_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "walk-named.drn")
    _, out, _ = run(capsys, "solve", file, "--cost", "cost", "--start", "x=2", "--format", "json")
    assert json.loads(out)["solution"]["start"] == 2
    _, out, _ = run(capsys, "solve", file, "--cost", "2.5", "--goal", "goal", "--goal", "edge", "--format", "json")
    # V3 = 2.5 / 0.6, V2 = 2.5 + 0.7 V1 + 0.3 V3, V1 = 2.5 + 0.3 V2, by hand.
    assert [state["value"] for state in json.loads(out)["states"]] == pytest.approx(
        [2.5 + 0.3 * 5.5 / 0.79, 5.5 / 0.79, 2.5 / 0.6]
    )


def test_show_and_learn_take_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "walk.umb")
    code, out, _ = run(capsys, "show", file, "--cost", "1")
    assert code == 0
    assert "costs         1\n" in out
    code, out, _ = run(capsys, "learn", file, "--set", "cost=time", "--episodes", "20")
    assert (code, "optimal cost      5 per episode" in out) == (0, True)
    options = (str(SAMPLES / "walk-named.drn"), "--cost", "2.5", "--goal", "goal", "--goal", "edge", "--start", "x=2")
    _, solved, _ = run(capsys, "solve", *options, "--format", "json")
    _, learnt, _ = run(capsys, "learn", *options, "--episodes", "5", "--format", "json")
    assert json.loads(learnt)["run"]["optimal_value"] == pytest.approx(json.loads(solved)["solution"]["cost"])


def test_tables_of_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("state,action,next_state,count,cost\nA,go,B,3,1\nA,go,A,1,1\nA,go,B,4,1\n")
    table = ("solve", str(path), "--goal", "B", "--format", "json")
    _, out, _ = run(capsys, *table, "--set", "normalize=true")
    assert [state["value"] for state in json.loads(out)["states"]] == pytest.approx([8 / 7])
    _, out, _ = run(capsys, *table, "--set", "prior=1.0")
    assert [state["value"] for state in json.loads(out)["states"]] == pytest.approx([10 / 8])


def test_values_and_policy_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "policy.csv"
    file = str(SAMPLES / "walk-named.drn")
    code, printed, _ = run(capsys, "solve", file, "--cost", "cost", "--out", str(out))
    assert code == 0
    assert printed.endswith(f"\nwritten: {out}\n")
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert [float(row[2]) for row in rows] == pytest.approx([10, 13, 20 / 3, 10 / 3])


def test_a_file_that_takes_no_policy_is_refused_before_solving(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "solve", "no-such-world", "--out", "policy.txt")
    assert (code, out) == (2, "")
    assert "solutions are stored as .csv," in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "2 reward structures"),
        (("--cost", "cost", "--goal", "edgy"), "no label or state is called 'edgy'; did you mean 'edge'?"),
        (("--cost", "-1"), "has cost -1"),
        (("--cost", "cost", "--start", "4"), "the start (state 4) is a goal"),
        (("--set", "rows=3"), "is called 'rows'"),
    ],
)
def test_one_line_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, "solve", str(SAMPLES / "walk.umb"), *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
