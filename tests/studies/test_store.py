"""The results folder: written whole, checked, and clear about what it cannot do."""

import json
import os
import shutil
import time
from dataclasses import replace

import pytest

from goalward import agents, learn, worlds
from goalward.errors import FileError, UnknownNameError
from goalward.results.results import load_results
from goalward.studies import run_file as record
from goalward.studies import store as store_module
from goalward.studies.rerun import rerun
from goalward.studies.run_file import encode
from goalward.studies.run_spec import RESULTS_VERSION
from goalward.studies.status import unused_files
from goalward.studies.store import MARKER, NoRun, Store
from goalward.studies.study import Study


@pytest.fixture
def filled(folder, run_here):
    study = Study.load(folder / "small.toml")
    return study, run_here(study)[1]


def stored_design(store):
    (path,) = store.folder.glob("studies/small/*.toml")
    return path


def keys(study):
    return [key for cell in study.design.cells for key in study.design.keys(cell)]


def test_a_study_is_kept_as_it_was_run(filled):
    study, store = filled
    assert list(store.studies()) == ["small"]
    assert store.design() == store.design("small") == study.design
    assert Study.load(stored_design(store)).design == study.design


def test_only_whole_files_are_there(filled):
    study, store = filled
    files = sorted(path.name for path in (store.folder / "runs").rglob("*") if path.is_file())
    assert files == sorted(f"{key}.parquet" for key in keys(study))
    assert os.stat(store.path(keys(study)[0])).st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def set_aside(store, keys):
    states = store.states(keys).items()
    return [(store.set_aside(key, run.reason), run.reason) for key, run in states if run.state == "damaged"]


def test_damage_is_found_and_set_aside(filled):
    study, store = filled
    assert set_aside(store, keys(study)) == []
    changed, cut = keys(study)[:2]
    content = bytearray(store.path(changed).read_bytes())
    content[200] ^= 1
    store.path(changed).write_bytes(content)
    store.path(cut).write_bytes(store.path(cut).read_bytes()[:100])
    with pytest.raises(FileError, match="does not match the checksum; goalward run makes the run"):
        store.read(changed)
    moved = set_aside(store, keys(study))
    assert [reason.partition(",")[0] for _, reason in moved] == [
        "the content does not match the checksum",
        "the file has no checksum",
    ]
    assert all(path.parent == store.folder / "damaged" and path.exists() for path, _ in moved)
    assert not store.has(changed)
    assert not store.has(cut)


def test_a_file_under_another_name_is_not_that_run(filled):
    study, store = filled
    first, second = keys(study)[:2]
    copied = store.path(first).read_bytes()
    store.path(second).write_bytes(copied)
    with pytest.raises(FileError, match=f"the file name does not match the run {first}"):
        store.read(second)
    (moved,) = set_aside(store, keys(study))
    assert moved[1] == f"the file name does not match the run {first} in the file"
    assert store.find(second) == NoRun("missing")
    assert store.read(first).key == first


def test_another_format_is_the_same_to_everybody(filled, run_here, monkeypatch):
    study, store = filled
    key = keys(study)[0]
    spec = study.design.spec(study.design.cells[0], 0)
    monkeypatch.setattr(record, "FORMAT_VERSION", 0)
    older = encode(learn(agents.make("uniform"), worlds.grid_world(2, 2), 30, seed=0), spec, {"cpu_seconds": 0.1})
    monkeypatch.undo()
    store.path(key).write_bytes(older)
    reason = "the file has format 0; this goalward reads format 3"
    assert store.find(key) == NoRun("damaged", reason)
    assert load_results(store, study.design).cells[0].damaged == [0]
    report, _ = run_here(study)
    assert [why for _, why in report.damaged] == [reason]
    assert (report.stored, report.done, report.complete) == (11, 1, True)
    assert load_results(store, study.design).cells[0].damaged == []


def test_what_cannot_be_set_aside_is_named(filled, monkeypatch):
    study, store = filled
    key = keys(study)[0]
    store.path(key).write_bytes(b"rubbish")

    def refuse(source, target):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(store_module.os, "replace", refuse)
    with pytest.raises(FileError, match=r"the file cannot be moved to .*Read-only file system"):
        set_aside(store, keys(study))
    assert store.has(key)


@pytest.mark.parametrize("diverted", ["attachments", "failed", "damaged", "active", "runs/ab", "studies/x"])
def test_a_folder_with_links_to_other_folders_is_refused(filled, tmp_path, diverted):
    """Nothing is read, set aside or pruned through them."""
    _, store = filled
    (tmp_path / "outside").mkdir()
    path = store.folder / diverted
    if path.exists():
        shutil.rmtree(path)
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(FileError, match=f"{diverted}: this folder is a symbolic link"):
        Store.open(store.folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("runs = 100000000", "the study has 400,000,000 runs"),
        ("runs = 4", "the file name does not match"),
        ("runs = -1", "the stored study is damaged"),
        ("", "the file name does not match"),
        ("[", "the stored study is damaged"),
    ],
)
def test_a_forged_design_is_refused(filled, line, message):
    _, store = filled
    path = stored_design(store)
    assert "runs = 3\n" in path.read_text()
    path.write_text(path.read_text().replace("runs = 3\n", f"{line}\n"))
    with pytest.raises(FileError, match=message):
        store.design()


def test_a_failed_write_harms_nothing(filled, monkeypatch):
    study, store = filled
    key = keys(study)[0]
    before = store.path(key).read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.os, "replace", full)
    with pytest.raises(FileError, match=r"cannot be written .No space left on device."):
        store.add(key, b"other")
    assert store.path(key).read_bytes() == before
    assert not list(store.folder.rglob("*.part"))


def test_what_was_left_half_written_is_removed_when_nobody_can_own_it(filled):
    _, store = filled
    old, new = store.folder / "runs" / ".old.part", store.folder / "runs" / ".new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    store.sweep()
    assert not old.exists()
    assert new.exists()


def test_failures_are_kept_until_the_run_succeeds(filled):
    study, store = filled
    key = keys(study)[0]
    assert store.failure(key) is None
    store.add_failure(key, {"error": "ValueError: x"})
    assert store.failure(key) == {"error": "ValueError: x"}
    store.add(key, store.path(key).read_bytes())
    assert store.failure(key) is None
    store.failure_path(key).write_text("{")
    assert "the record of the failure cannot be read" in store.failure(key)["error"]


def test_folders_that_are_no_results(tmp_path):
    with pytest.raises(FileError, match="No such folder; create a results folder with goalward run"):
        Store.open(tmp_path / "missing")
    with pytest.raises(FileError, match="not a results folder"):
        Store.open(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(FileError, match=r"holds other files \(notes\.txt\); choose an empty folder"):
        Store.open(tmp_path, create=True)
    with pytest.raises(FileError, match="choose a writable folder"):
        Store.open(tmp_path / "notes.txt" / "results", create=True)


def test_another_layout_is_named(tmp_path):
    (tmp_path / MARKER).write_text(json.dumps({"version": 0}))
    with pytest.raises(
        FileError, match=r"layout version 0; this goalward reads version 3\. Use the goalward that wrote"
    ):
        Store.open(tmp_path)
    (tmp_path / MARKER).write_text("{")
    with pytest.raises(FileError, match="cannot be read"):
        Store.open(tmp_path)


def test_results_of_another_version_are_read_and_not_mixed(folder, run_here):
    study = Study.load(folder / "small.toml")
    older = replace(study.design, results=0)
    assert older.reference != study.design.reference
    store = Store.open(folder / "results", create=True)
    text = study.text.replace(f"results = {RESULTS_VERSION}", "results = 0")
    store.save_study(older.reference, text, study.attachments)
    for cell in older.cells:
        for spec in older.specs(cell):
            run = rerun(replace(spec, results=RESULTS_VERSION))[1]
            store.add(spec.key, encode(run, spec, {"cpu_seconds": 0.1}))
    assert store.design() == older
    assert load_results(store, store.design()).count() == (12, 12)
    report, _ = run_here(study)
    assert (report.stored, report.done) == (0, 12), "no run of another version counts"
    assert len(store.designs("small")) == 2
    assert not any(unused_files(store).values())


def test_which_study(filled, write_study, run_here):
    _, store = filled
    run_here(write_study("uniform", name="other"))
    with pytest.raises(FileError, match="holds the studies other, small; choose one of them with --study"):
        store.design()
    with pytest.raises(UnknownNameError, match="did you mean 'other'"):
        store.design("othr")


def test_designs_of_one_name_lie_side_by_side(folder, run_here):
    study = Study.load(folder / "small.toml")
    _, store = run_here(study)
    smaller, colleague = study.replace(runs=1, episodes=5), study.replace(agents=[{"agent": "optimal"}])
    for other in (smaller, colleague, smaller):
        run_here(other)
    assert list(store.studies()) == ["small"]
    in_order = [store.read_design(reference) for reference in store.designs("small")]
    assert in_order == [study.design, colleague.design, smaller.design]
    assert store.design() == store.design("small") == smaller.design
    for each in (study, smaller, colleague):
        reference = each.design.reference
        assert store.design(reference) == store.design(reference[:-3]) == each.design
        assert load_results(store, each.design).count() == (each.design.size, each.design.size)
        assert Study.load(store.folder / "studies" / f"{reference}.toml").design == each.design
    assert not any(unused_files(store).values())
    for wrong in ("small/zz", "small/../small"):
        with pytest.raises(UnknownNameError, match=r"no design in .* is called"):
            store.design(wrong)
    # Another description is not another design.
    run_here(study.replace(description="the same"))
    assert (len(store.designs("small")), store.design().description) == (3, "the same")
