"""Where results come from: commit, versions, host, times and tags."""

import subprocess

import goalward as gw
from goalward.results.export import export_table
from goalward.studies.runner import Options
from goalward.studies.study import Study, git_commit


def git(folder, *arguments):
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *settings, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_of_a_study(tmp_path):
    assert git_commit(tmp_path / "missing") == ""
    git(tmp_path, "init", "-q")
    (tmp_path / "study.toml").write_text("one")
    git(tmp_path, "add", "study.toml")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert git_commit(tmp_path) == commit
    (tmp_path / "study.toml").write_text("two")
    assert git_commit(tmp_path) == f"{commit}-dirty"


def test_exports_carry_where_runs_come_from(folder, run_here):
    study = Study.load(folder / "small.toml")
    run_here(study, options=Options(tags=["pilot"], only=["agent=psrl"]))
    _, store = run_here(study, options=Options(tags=["paper"]))
    rows = export_table(store).rows
    assert {row["tags"] for row in rows} == {"paper,pilot"}
    assert {row["goalward"] for row in rows} == {gw.__version__}
    assert all(row["started"] <= row["ended_at"] and row["host"] for row in rows)
    stored = store.stored(study.design.reference)
    assert stored.first_run < stored.last_run
    assert (stored.version, stored.tags) == (gw.__version__, ["paper", "pilot"])


def test_the_status_of_results_in_python(folder, run_here):
    study = Study.load(folder / "small.toml")
    _, store = run_here(study, options=Options(only=["agent=psrl"]))
    results = gw.open_results(store.folder)
    rows = {(row["world"], row["agent"]): row for row in results.status().data()}
    assert rows["grid", "psrl"]["stored"] == 3
    assert rows["grid", "uniform"]["missing_runs"] == [0, 1, 2]
    path = store.path(study.design.keys(study.design.cells[1])[2])
    path.write_bytes(path.read_bytes()[:-9])
    assert [row["stored"] for row in results.status().data()] == [0, 3, 0, 3], "a file that is there counts"
    assert [row["stored"] for row in results.status(check=True).data()] == [0, 2, 0, 3]
    path.write_bytes(b"")
    assert [row["stored"] for row in results.status().data()] == [0, 2, 0, 3], "an empty file does not"
