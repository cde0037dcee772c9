"""The verbs about studies, as a user meets them."""

import json
import operator
import re
from functools import partial

import pytest

from goalward import __version__ as goalward_version
from goalward.cli import main
from goalward.paper.reproduce import PUBLISHED
from goalward.studies.store import Store
from goalward.studies.study import Study
from processes import start_goalward


@pytest.fixture
def run(call, monkeypatch, folder):
    monkeypatch.chdir(folder)
    return call


def test_from_a_study_to_its_numbers(run, folder):
    code, out, err = run("run", "small.toml", "--workers", "1")
    assert code == 0
    assert "12 of 12 runs are stored in results/small" in out
    assert err.startswith("12 runs to make\n")
    code, out, _ = run("run", "small.toml", "--workers", "1")
    assert code == 0
    assert out.split()[:10] == ["made", "nothing", "to", "do", "stored", "12", "of", "12", "runs", "are"]
    code, out, _ = run("status", "results/small")
    assert code == 0
    assert out.endswith("12 of 12 runs stored   complete\n")
    assert run("status", "results/small", "--check")[1].endswith("12 of 12 runs stored and sound   complete\n")
    code, out, _ = run("summary", "results/small", "--out", "numbers.csv")
    assert code == 0
    assert "grid: means after 30 episodes with 95 % t-intervals" in out
    assert "too few for a useful interval" in out
    assert (folder / "numbers.csv").read_text().count("\n") == 5
    for interval, words in (("t", "mean with 95 % t-interval"), ("median", "median with 95 % interval of order")):
        assert words in run("summary", "results/small", "--compare", "psrl", "uniform", "--interval", interval)[1]
    run("summary", "results/small", "--out", "numbers.md")
    assert (folder / "numbers.md").read_text().startswith("## grid: means")


def test_the_same_in_json(run):
    code, out, err = run("run", "small.toml", "--format", "json", "--workers", "1")
    document = json.loads(out)
    assert (code, document["report"]["made"], document["report"]["complete"]) == (0, 12, True)
    assert "failures" not in document
    assert "runs to make" in err
    _, out, _ = run("status", "results/small", "--format", "json")
    assert json.loads(out)["studies"][0]["stored"] == 12
    _, out, _ = run("summary", "results/small", "--format", "json", "--interval", "median", "--level", "0.5")
    rows = json.loads(out)["summary"]
    assert len(rows) == 4
    assert rows[0]["regret_low"] < rows[0]["regret"] < rows[0]["regret_high"]
    _, out, _ = run("summary", "results/small", "--reference")
    assert "regret / reference" in out
    assert "* reference: a heuristic scale, not a bound" in out
    code, _, err = run("summary", "results/small", "--compare", "psrl", "uniform", "--reference")
    assert (code, "--reference and --compare cannot be combined" in err) == (2, True)
    code, out, _ = run("summary", "results/small", "--compare", "psrl", "uniform")
    assert code == 0
    assert "gap regret of psrl minus that of uniform, run by run" in out
    code, out, _ = run(
        "summary", "results/small", "--compare", "psrl", "uniform", "--format", "json", "--measure", "regret"
    )
    rows = json.loads(out)["comparison"]
    assert [(row["world"], row["measure"], row["pairs"]) for row in rows] == [
        ("grid", "regret", 3),
        ("drawn", "regret", 3),
    ]


def test_show_prints_a_study_that_runs_the_same(run, folder):
    code, out, _ = run("run", "small.toml", "--show")
    assert code == 0
    assert not (folder / "results").exists()
    (folder / "full.toml").write_text(out)
    assert run("run", "full.toml", "--show")[1] == out


def test_show_prints_every_default(run):
    out = run("run", "paper-theory", "--show")[1]
    assert "sharpness = 1.0\n" in out
    assert "rescale = false\n" in out


def test_shipped_studies_run_by_name(run):
    code, out, _ = run("run", "growth", "--show")
    assert code == 0
    assert 'name = "growth"' in out


def test_list_studies(run):
    code, out, _ = run("list", "studies")
    assert code == 0
    assert any(line.split()[:2] == ["bayesian-regret", "PSRL-SSP"] for line in out.splitlines())


def test_list_agents(run):
    import goalward

    code, out, _ = run("list", "agents")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:-2]] == list(goalward.agents.known())
    code, out, _ = run("list", "agents", "psrl")
    assert "prior            None" in out
    assert "a prior, or None to let the task choose" in out


def test_failures_end_in_exit_code_one_and_a_table(run, write_study):
    write_study("agents.py:Raises", "uniform")
    code, out, _ = run("run", "own.toml", "--workers", "1")
    assert code == 1
    assert "2 runs failed; output and errors are in results/own/failed" in out
    assert "grid    Raises     0   ValueError: no idea" in out
    assert "2 of 4 runs are stored" in out
    code, out, _ = run("status", "results/own")
    assert code == 1
    assert "2 of 4 runs stored   goalward run --retry-failed retries 2 failed runs" in out
    assert "2 runs failed; output and errors are in results/own/failed" in out
    assert all(f"grid    Raises     {run}   ValueError: no idea   " in out for run in (0, 1))
    code, out, _ = run("status", "results/own", "--format", "json")
    assert [each["run"] for each in json.loads(out)["failures"]] == [0, 1]
    _, out, _ = run("summary", "results/own")
    assert "* Raises in grid: 2 of 2 runs failed; goalward status names them" in out
    assert "Raises *" in out


def test_status_names_damaged_files_and_changes_nothing(run, folder):
    run("run", "small.toml", "--workers", "1")
    store = Store.open(folder / "results" / "small")
    key = store.design().keys(store.design().cells[0])[0]
    store.path(key).write_bytes(b"rubbish")
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}
    assert run("status", "results/small")[0] == 0, "names and sizes do not show it"
    code, out, _ = run("status", "results/small", "--check")
    assert code == 1
    assert "11 of 12 runs stored and sound" in out
    assert "1 damaged file\n  file" in out
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == before
    code, out, _ = run("run", "small.toml", "--workers", "1")
    assert (code, "12 of 12 runs are stored in results/small" in out) == (0, True)


def test_what_agents_print_stays_out_of_documents(run, write_study, folder):
    path = folder / "agents.py"
    path.write_text(
        path.read_text().replace(
            "def observe(self, steps):\n        pass", "def observe(self, steps):\n        print('here')"
        )
    )
    write_study("agents.py:Plain", extra="max_steps = 100")
    code, out, err = run("run", "own.toml", "--workers", "1", "--format", "json")
    assert (code, json.loads(out)["report"]["made"]) == (0, 2)
    assert "here\n" in err
    process = start_goalward(folder, "run", "own.toml", "--workers", "2", "--format", "json", "--out", "again")
    out, err = process.communicate()
    assert (json.loads(out)["report"]["made"], "here\n" in err) == (2, True)


def test_truncated_runs_are_marked(run, write_study):
    write_study("uniform", extra="max_steps = 10")
    run("run", "own.toml", "--workers", "1")
    _, out, _ = run("summary", "results/own")
    assert "uniform *" in out
    assert "* uniform in grid: 2 of 2 runs were cut off by the step limit and are left out" in out
    _, out, _ = run("status", "results/own", "--check")
    assert out.splitlines()[2].split() == ["grid", "uniform", "2", "2", "0", "0"]


def test_reproduce_ends_with_table_and_paths(run, folder):
    small = ("reproduce", "--episodes", "12", "--runs", "2", "--workers", "1", "--out", "paper")
    code, out, _ = run(*small)
    assert code == 0
    assert "20 of 20 runs are stored in paper" in out
    for world in ("RandomMDP", "GridWorld"):
        assert f"{world}: means after 12 episodes with 95 % t-intervals" in out
    assert all(name in out for name in ("ULCVI", "EB-SSP", "UC-SSP", "Bernstein-SSP", "PSRL-SSP"))
    paths = [line.split()[-1] for line in out.splitlines()[-8:]]
    assert [path.rpartition(".")[2] for path in paths] == ["png", "pdf", "svg"] * 2 + ["csv", "md"]
    assert all((folder / path).exists() for path in paths)
    # The second time nothing is run, and the same bytes are drawn.
    files = {path: (folder / path).read_bytes() for path in paths}
    code, again, _ = run(*small)
    assert (code, again.splitlines()[2:]) == (0, out.splitlines()[2:])
    assert {path: (folder / path).read_bytes() for path in paths} == files


@pytest.mark.parametrize("regime", ["theory", "tuned"])
def test_the_paper_is_the_paper(regime):
    study = Study.load(f"paper-{regime}")
    study.check()
    design = study.design
    assert (design.runs, design.size, {cell.episodes for cell in design.cells}) == (10, 100, {10_000})
    assert {(cell.world.label, cell.agent.label) for cell in design.cells} == {
        cell[1:] for cell in PUBLISHED if cell[0] == regime
    }
    for cell in design.cells:
        scale = cell.agent.identity["settings"].get("scale", 1.0)
        assert (scale < 1.0) == (regime == "tuned" and cell.agent.label != "PSRL-SSP")


def test_plots(run, folder):
    run("run", "small.toml", "--workers", "1")
    assert run("plot", "results/small")[1].count("written: results/small/small-regret.") == 3
    assert run("plot", "results/small", "--axes", "log", "--out", "a.svg")[1] == "written: a.svg\n"
    drawn = (folder / "a.svg").read_text()
    assert all(f"<!-- {label} -->" in drawn for label in ("grid", "drawn", "uniform", "psrl", "gap regret"))
    assert run("plot", "results/small", "--out", "y.png")[1] == "written: y.png\n"
    assert {path.name for path in folder.glob("*.??g")} == {"a.svg", "y.png"}
    for arguments, message in (
        (["--kind", "growth"], "growth needs a study that sweeps a numeric setting"),
        (["--out", "y.bmp"], "y.bmp: no figure can be written as .bmp; use the ending .png or .pdf or .svg"),
        (["--axes", "polar"], "axes is 'polar'; it must be 'linear' or 'log'"),
        (["--measure", "coast"], "measure is 'coast'; it must be one of regret, gap_regret"),
    ):
        code, _, err = run("plot", "results/small", *arguments)
        assert code == 2
        assert err.startswith(f"goalward: {message}")


def test_growth(run, folder):
    text = (folder / "small.toml").read_text()
    (folder / "sweep.toml").write_text(
        text.replace("{ states = 3 }", "{ actions = 2 }\nsweep = { states = [2, 3, 4] }")
    )
    run("run", "sweep.toml", "--workers", "1", "--out", "sweep")
    code, out, _ = run("summary", "sweep", "--out", "numbers.md")
    assert code == 0
    assert "gap regret grows as a power of" in out
    assert "## gap regret grows" in (folder / "numbers.md").read_text()
    assert run("plot", "sweep", "--kind", "growth", "--out", "growth.pdf")[1] == "written: growth.pdf\n"


def test_damaged_runs_count_as_missing(run, folder):
    run("run", "small.toml", "--workers", "1")
    store = Store.open(folder / "results" / "small")
    store.path(store.design().keys(store.design().cells[0])[0]).write_bytes(b"rubbish")
    code, out, _ = run("summary", "results/small")
    assert code == 0
    assert "* uniform in grid: 1 of 3 runs are missing; goalward run makes them" in out


def test_mistakes_in_goalward_are_owned_up_to(run, monkeypatch):
    monkeypatch.setattr("goalward.cli.installation.installed", partial(operator.floordiv, 1, 0))
    code, _, err = run("doctor", "--no-test")
    assert code == 70
    assert err == (
        "goalward: a bug in goalward (ZeroDivisionError: integer division or modulo by zero);"
        " please report it with the output of --debug\n"
    )
    with pytest.raises(ZeroDivisionError):
        main(["doctor", "--no-test", "--debug"])


def test_the_doctor(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert "kernel cache" in out
    compiled, kernels = map(int, re.search(r"(\d+) of (\d+) kernels are compiled", out).groups())
    assert 0.8 * kernels < compiled <= kernels
    code, out, _ = run("doctor", "--no-test", "--format", "json")
    installed = json.loads(out)["installed"]
    assert (code, installed["goalward"]) == (0, goalward_version)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.toml"], "missing.toml: No such file or directory"),
        (["run", "grwth"], "no study is called 'grwth'; did you mean 'growth'?"),
        (["run", "small.toml", "--shard", "5"], "shard is '5'; it must be i/n with i from 1 to n, such as 3/16"),
        (["run", "small.toml", "--shard", "0/4"], "shard is 0/4; it must be i/n"),
        (["run", "small.toml", "--shard", "²/4"], "shard is '²/4'; it must be i/n"),
        (["run", "small.toml", "--workers", "0"], "workers is 0; it must be an integer of at least 1"),
        (["run", "small.toml", "--out", "agents.py"], "agents.py: File exists; choose a writable folder"),
        (["run", "small.toml", "--out", "."], ".: the folder holds other files ("),
        (["status", "nowhere"], "nowhere: No such folder; create a results folder with goalward run"),
        (["summary", "."], ".: not a results folder; create a results folder with goalward run"),
        (["plot", "nowhere"], "nowhere: No such folder"),
        (["plot", "nowhere", "--kind", "regert"], "no figure is called 'regert'; did you mean 'regret'?"),
        (
            ["summary", "nowhere", "--compare", "a", "b", "--level", "2"],
            "level is 2.0; it must be a number between 0 and 1",
        ),
        (["reproduce", "--regime", "theoretical"], "no regime is called 'theoretical'; did you mean 'theory'?"),
        (["list", "agent"], "no list is called 'agent'; did you mean 'agents'?"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert err.startswith(f"goalward: {message}")
    assert err.count("\n") == 1
