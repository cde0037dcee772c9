"""The command line as a user meets it: what is printed, where, and with which exit code."""

import io
import json
import os
import re
import resource
import subprocess
import sys

import pytest
from PIL import Image

import goalward
from goalward import SSP
from goalward.cli import main
from goalward.cli.app import show
from goalward.errors import UnknownNameError
from goalward.table import Table
from goalward.worlds import grid_world, random_mdp, sand_pit
from made_up_results import cell_results, study


@pytest.fixture
def run(call):
    return call


def test_version(run):
    assert run("--version") == (0, f"goalward {goalward.__version__}\n", "")


def test_help_names_every_verb_and_is_not_cut_off(run):
    code, out, _ = run("--help")
    assert code == 0
    assert {"solve", "show", "list"} <= {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert "..." not in out.partition("Commands:")[2]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["solve", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    script = f"""
import sys
from goalward.cli import main
try:
    main({arguments!r})
except SystemExit as leaving:
    assert leaving.code == 0, leaving.code
heavy = {{"numpy", "scipy", "numba", "matplotlib", "rich"}} & set(sys.modules)
sys.exit(f"loaded: {{heavy}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_module_runs_like_the_command():
    done = subprocess.run([sys.executable, "-m", "goalward", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"goalward {goalward.__version__}\n")


def test_solve_prints_value_bounds_and_actions(run):
    code, out, err = run("solve", "grid-world")
    assert (code, err) == (0, "")
    assert "cost from the start   6.036476, proved to lie in 6.036476 .. 6.036476" in out
    assert "policy iteration" in out
    assert len([line for line in out.splitlines() if "column" in line]) == 1 + 11
    assert "more of" not in out


def test_solve_prints_the_first_rows_of_large_models(run):
    _, out, _ = run("solve", "grid-world", "--set", "rows=10", "--set", "columns=10", "--limit", "3")
    assert "96 more of 99 states: see --limit and --format json" in out
    assert "row 0, column 2" in out
    assert "row 0, column 3" not in out
    _, out, _ = run("solve", "random-mdp", "--limit", "0")
    assert "state " not in out


def test_solve_in_json(run):
    code, out, _ = run("solve", "grid-world", "--format", "json", "--set", "success=0.95", "--tolerance", "1e-9")
    document = json.loads(out)
    assert code == 0
    solution, states = document["solution"], document["states"]
    assert states[0]["value"] == solution["cost"] == pytest.approx(5.3014, abs=5e-5)
    assert [state["state"] for state in states] == list(range(11))
    assert states[0]["upper"] - states[0]["lower"] <= 1e-9 * states[0]["upper"]
    assert solution["digest"] == grid_world(success=0.95).digest


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_solve_reads_model_files(run, tmp_path, ending):
    path = tmp_path / f"model.{ending}"
    random_mdp(seed=3).save(path)
    _, from_file, _ = run("solve", str(path), "--format", "json")
    _, from_id, _ = run("solve", "random-mdp", "--set", "seed=3", "--format", "json")
    assert json.loads(from_file) == json.loads(from_id)


def test_show_in_json(run):
    code, out, _ = run("show", "sand-pit", "--format", "json")
    document = json.loads(out)
    assert (code, document["model"]["costs"], document["model"]["start"]) == (0, [0.1, 1.0], 0)
    assert document["structure"]["reaches_goal"] is True
    values = {row["quantity"]: row["value"] for row in document["hardness"]}
    assert (values["B*"], values["c_min"]) == (pytest.approx(goalward.hardness(sand_pit()).B_star), 0.1)


def test_show_describes_and_draws(run):
    code, out, err = run("show", "grid-world")
    assert (code, err) == (0, "")
    for part in (
        "11 and the goal",
        "left, right, up, down",
        "dead ends",
        "B*             6.0365",
        "● start",
        "│ ●6.036 ",
    ):
        assert part in out


def test_show_of_a_world_without_grid(run):
    code, out, _ = run("show", "random-mdp")
    assert code == 0
    assert "B*            2.3211" in out
    assert "start " in out
    assert "●" not in out


def test_show_reads_maps_and_names_dead_ends(run, tmp_path):
    (tmp_path / "maze.txt").write_text("S.#.\n..#G\n")
    code, out, _ = run("show", str(tmp_path / "maze.txt"))
    assert code == 0
    assert "NO: no path leads there from the start" in out
    assert ["goal", "maybe", "none"] in [line.split() for line in out.splitlines()]
    assert "4: row 0, column 0" in out
    assert "∞ no sure way to the goal" in out


def test_show_says_when_a_grid_is_too_large_for_text(run):
    _, out, _ = run("show", "grid-world", "--set", "columns=120")
    assert "too large to be drawn as text; --png FILE" in out


def test_show_writes_a_png(run, tmp_path):
    path = tmp_path / "grid.png"
    code, out, _ = run("show", "grid-world", "--png", str(path))
    assert code == 0
    assert out.endswith(f"written: {path}\n")
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert min(image.size) > 400


def test_pictures_are_printed_where_the_locale_says_ascii():
    done = subprocess.run(
        [sys.executable, "-m", "goalward", "show", "grid-world"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert "6.036 →" in done.stdout.decode()


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80, 90, 120])
def test_a_terminal_gets_lines_that_fit(monkeypatch, width):
    """Long texts are folded, numbers only if there is no other way; no digit is lost."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    labels = ["bernstein-ssp", "[red]psrl[/red]", "q-learning"]
    results = study(*(cell_results("grid-world", label, 12345.6 * slope) for slope, label in enumerate(labels, 1)))
    facts = Table.facts({"name": "a fact", "text": "many words " * 30})
    show(results.summary(), facts, format="text")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(lines).split().count("words") == 30
    if width >= 90:
        assert " ".join(lines).split().count("1,234,710") == 3
    if width == 120:
        assert [label for line in lines for label in labels if label in line and "minus" not in line] == labels


def test_list_worlds(run):
    code, out, _ = run("list", "worlds")
    assert code == 0
    for id in goalward.worlds.known():
        assert id in out
    assert len(out.splitlines()) < 60
    agents = run("list", "agents")[1].splitlines()
    assert {line.split()[0] for line in agents if "RECOMMENDED" in line} == {"kl-index", "psrl", "continuous-psrl"}
    proved = {line.split()[0] for line in agents if "O~(" in line}
    assert proved == {"psrl", "uc-ssp", "bernstein-ssp", "ulcvi", "eb-ssp"}
    code, out, _ = run("list", "worlds", "grid-world")
    assert "success   0.85      a number from 0 to 1" in out


def test_list_describes_one_thing(run):
    assert "axes      linear" in run("list", "figures", "regret")[1]
    _, out, _ = run("list", "studies", "arena")
    assert "goalward run arena --show" in out
    for kind in ("agents", "figures", "priors", "studies", "worlds"):
        code, _, err = run("list", kind, "nothing of this name")
        assert (code, err.count("\n"), len(err) < 500) == (2, 1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "gridworld"], "no world is called 'gridworld'; did you mean 'grid-world'?"),
        (["show", "grid-world", "--set", "row=3"], "no setting of grid-world-v0 is called 'row'; did you mean 'rows'?"),
        (["solve", "grid-world", "--set", "rows"], "expected NAME=VALUE, such as rows=5, got 'rows'"),
        (["solve", "grid-world", "--tolerance", "0"], "tolerance is 0.0; it must be a number between 0 and 1"),
        (["solve", "missing.npz"], "missing.npz: No such file or directory"),
        (["list", "world"], "no list is called 'world'; did you mean 'worlds'?"),
        (["show", "random-mdp", "--png", "x.png"], "the model has no grid layout and cannot be drawn"),
        (["solve", "grid-map", "--set", "text=S#G"], "no policy reaches the goal almost surely from the initial state"),
    ],
)
def test_errors_are_one_line_and_exit_code_two(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert err.startswith(f"goalward: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--debug", "solve", "gridworld"], ["solve", "gridworld", "--debug"]])
def test_debug_lets_the_error_through(arguments):
    with pytest.raises(UnknownNameError):
        main(arguments)


def test_wrong_usage_is_explained(run):
    code, _, err = run("solve")
    assert code == 2
    assert "Missing argument 'WORLD'" in err


def test_a_world_with_a_pit_has_an_answer(run, tmp_path):
    model = str(tmp_path / "leap.json")
    SSP.from_dense([[[0.0, 0.25, 0.75]], [[0.0, 1.0, 0.0]]], [[2.0], [1.0]]).save(model)
    code, _, err = run("solve", model)
    assert code == 2
    assert "goal_first=True" in err
    code, out, _ = run("solve", model, "--goal-first")
    assert code == 0
    assert "goal probability   0.75, proved" in out
    assert re.search(r"lost +1 of 2 states", out)
    code, out, _ = run("solve", model, "--goal-first", "--format", "json")
    assert [state["goal_probability"] for state in json.loads(out)["states"]] == [0.75, 0.0]
    code, out, _ = run("solve", model, "--give-up-cost", 3)
    assert "cost from the start   3.6666667" in out
    code, out, _ = run("show", model)
    assert "covers only the 0 of 2 states from which the goal is reached almost surely" in out
    assert "NO: no policy reaches it almost surely" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["status", "a" * 300], "No such folder"),
        (["run", "a" * 300], "File name too long"),
        (["learn", "grid-world", "--episodes", "1", "--save", "a" * 300 + ".npz"], "File name too long"),
        (["learn", "grid-world", "--episodes", "1", "--save", "/"], "is a folder"),
    ],
)
def test_names_that_the_system_refuses(run, arguments, reason):
    code, _, err = run(*arguments)
    assert (code, reason in err, len(err.splitlines())) == (2, True, 1), err


@pytest.mark.parametrize("output", ["/", ".", ".."])
@pytest.mark.parametrize("arguments", [["summary", "results", "--out"], ["plot", "results", "--out"]])
def test_folders_are_refused_as_output_files(run, write_study, run_here, folder, monkeypatch, arguments, output):
    run_here(write_study("uniform"))
    monkeypatch.chdir(folder)
    code, _, err = run(*arguments, output)
    assert (code, "is a folder" in err) == (2, True), err


@pytest.mark.parametrize(
    ("limit", "value", "output", "reason"),
    [
        (None, 0, "/dev/full", "No space left on device"),
        (resource.RLIMIT_NOFILE, 10, "/dev/null", "Too many open files"),
        (resource.RLIMIT_FSIZE, 0, "/dev/null", "File too large"),
    ],
)
def test_a_system_without_resources_is_not_a_mistake_in_goalward(write_study, folder, limit, value, output, reason):
    write_study("uniform")
    command = [sys.executable, "-m", "goalward", "run", "own.toml", "--workers", "2", *(["--show"] * (limit is None))]

    def restrict():
        if limit is not None:
            resource.setrlimit(limit, (value, value))

    with open(output, "w") as out:
        done = subprocess.run(
            command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=restrict
        )
    assert (done.returncode, reason in done.stderr, "a bug" in done.stderr) == (2, True, False), done.stderr
