"""Runs made again for what is not stored."""

import shutil

import numpy as np
import pytest

from goalward.errors import FileError, SettingError
from goalward.learning.regret import optimum
from goalward.studies.attachments import Attachments
from goalward.studies.rerun import rerun
from goalward.worlds import grid_world


@pytest.mark.parametrize("agent", ["uniform", "psrl", "ulcvi", "bernstein-ssp", "q-learning"])
def test_it_is_the_run_that_was_stored(write_study, run_here, agent):
    study = write_study(agent)
    _, store = run_here(study)
    cell = study.design.cells[0]
    world, run = rerun(study.design.spec(cell, 1))
    stored = store.read(study.design.keys(cell)[1])
    assert np.array_equal(stored.column("regret"), run.regret)
    assert len(run.trajectory.states) == run.total_steps
    assert optimum(world).gaps[run.trajectory.states, run.trajectory.actions].sum() == pytest.approx(run.gap_regret[-1])


OWN_AGENT = """\
from pathlib import Path
from goalward.agents import PSRL

with Path({log!r}).open("a") as log:
    log.write("executed\\n")

class Own(PSRL):
    pass
"""


def test_every_stored_run_can_be_made_again_from_the_folder_alone(folder, write_study, run_here, run_python):
    log = folder / "log"
    log.write_text("")
    (folder / "own.py").write_text(OWN_AGENT.format(log=str(log)))
    grid_world(2, 3).save(folder / "model.json")
    extra = '[[worlds]]\nworld = "model.json"'
    run_here(write_study("own.py:Own", "psrl", extra=extra))
    elsewhere = folder.parent / f"{folder.name}-elsewhere"
    shutil.move(folder / "results", elsewhere)
    for name in ("own.py", "own.toml", "model.json"):
        (folder / name).unlink()
    log.write_text("")
    code = f"""
import shutil

import numpy as np
from goalward.studies.rerun import rerun
from goalward.results.results import load_results
from goalward.studies.store import Store
from goalward.results.summary import summary_table
store = Store.open({str(elsewhere)!r})
results = load_results(store, store.design())
summary_table(results)
print(len(open({str(log)!r}).read()), end=" ")
for cell in results.design.cells:
    for spec in results.design.specs(cell):
        stored = store.read(spec.key)
        world, run = rerun(spec, store.attachments)
        assert np.array_equal(run.regret, stored.column("regret"))
        print(cell.world.label, cell.agent.label, end=" ")
"""
    cells = [(world, agent) for world in ("model", "grid") for agent in ("Own", "psrl")]
    assert run_python(code).split() == ["0", *(part for cell in cells for part in cell * 2)]
    assert log.read_text() == "executed\n"


def test_attachments_are_verified(folder, write_study, run_here):
    grid_world(2, 3).save(folder / "model.npz")
    study = write_study("agents.py:Plain", extra='[[worlds]]\nworld = "model.npz"')
    _, store = run_here(study)
    spec = study.design.spec(study.design.cells[0], 0)
    (model,) = (store.folder / "attachments").glob("*.npz")
    (file,) = (store.folder / "attachments").glob("*.py")
    assert (model.stem, file.stem) == (spec.model_digest, *spec.sources)
    text = file.read_text()
    for path, other in ((file, text + "# changed"), (model, None)):
        if other is None:
            grid_world(2, 2).save(path)
        else:
            path.write_text(other)
        with pytest.raises(FileError, match="the content does not match the file name; run the study again"):
            rerun(spec, store.attachments)
        run_here(study)
        assert rerun(spec, store.attachments)
    model.write_bytes(b"rubbish")
    with pytest.raises(FileError, match=r"damaged, or no.*; run the study once more to attach the model"):
        rerun(spec, store.attachments)
    model.unlink()
    with pytest.raises(FileError, match=r"the model [0-9a-f]{12}... is not attached; run the study once more"):
        rerun(spec, store.attachments)


def test_what_cannot_be_run_again(write_study, folder):
    study = write_study("agents.py:Plain")
    cell = study.design.cells[0]
    with pytest.raises(FileError, match=r"the Python file [0-9a-f]{12}... is not attached"):
        rerun(study.design.spec(cell, 0))
    assert rerun(study.design.spec(cell, 0), study.attachments)
    with pytest.raises(SettingError, match="run is 2; it must be from 0 to 1 in this study"):
        study.design.spec(cell, 2)


def test_a_digest_leads_nowhere_else(folder):
    (folder / "secret.py").write_text("")
    with pytest.raises(FileError, match="is not attached"):
        Attachments(folder=folder / "attachments").file("../secret")
