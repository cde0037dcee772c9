"""Studies: what they mean, and what is said when they are wrong."""

from pathlib import Path

import pytest

from goalward.errors import FileError, SettingError
from goalward.ssp.model import SSP
from goalward.studies.run_spec import make_world
from goalward.studies.spec import line_of, parse_spec
from goalward.studies.study import Study
from goalward.worlds import grid_world, random_mdp

STUDY = """\
name = "try"
runs = 3
episodes = 200

[[worlds]]
world = "grid-world"
label = "GridWorld"

[[worlds]]
world = "random-mdp"
settings = { rows = "dirichlet" }
sweep = { states = [4, 8] }
draw = "seed"

[[agents]]
agent = "uniform"

[[agents]]
agent = "psrl"
label = "PSRL-SSP"
settings = { prior = { kind = "dirichlet", concentration = 1 } }

[[agents]]
agent = "optimal"
worlds = ["GridWorld"]
"""


def study(text=STUDY, path="folder/study.toml"):
    return Study(*parse_spec(text, Path(path)))


def labels(design):
    return [(cell.world.label, cell.agent.label, cell.episodes) for cell in design.cells]


def test_cells_are_agents_times_worlds():
    design = study().design
    assert labels(design) == [
        ("GridWorld", "uniform", 200),
        ("GridWorld", "PSRL-SSP", 200),
        ("GridWorld", "optimal", 200),
        ("random-mdp, states 4", "uniform", 200),
        ("random-mdp, states 4", "PSRL-SSP", 200),
        ("random-mdp, states 8", "uniform", 200),
        ("random-mdp, states 8", "PSRL-SSP", 200),
    ]
    assert design.size == 21


def test_defaults_are_filled_in():
    design = study().design
    assert design.cells[0].world.identity == {
        "id": "grid-world-v0",
        "settings": {"rows": 3, "columns": 4, "success": 0.85},
    }
    prior = {"kind": "dirichlet", "concentration": 1.0}  # without None, which TOML cannot express
    assert design.cells[1].agent.identity["settings"]["prior"] == prior
    bare = study(STUDY.replace("settings = { prior", "# settings = { prior")).design
    assert "prior" not in bare.cells[1].agent.identity["settings"]  # chosen by the task
    spelt = study(STUDY.replace('label = "GridWorld"', "settings = { success = 1 }\nlabel = 'GridWorld'")).design
    assert type(spelt.cells[0].world.identity["settings"]["success"]) is float


def test_the_full_text_is_the_same_study():
    first = study()
    again = study(first.shown_text)
    assert labels(again.design) == labels(first.design)
    assert [again.design.keys(c) for c in again.design.cells] == [first.design.keys(c) for c in first.design.cells]
    assert "success = 0.85" in first.shown_text
    assert again.shown_text == first.shown_text


def test_worlds_in_files(tmp_path):
    random_mdp(seed=3).save(tmp_path / "model.npz")
    (tmp_path / "maze.txt").write_text("S.\n.G\n")
    entries = '[[worlds]]\nworld = "model.npz"\n[[worlds]]\nworld = "maze.txt"\nsettings = { success = 1 }\n'
    (tmp_path / "study.toml").write_text(f'name = "files"\n{entries}[[agents]]\nagent = "uniform"\n')
    loaded = Study.load(tmp_path / "study.toml")
    loaded.check()
    assert [cell.world.label for cell in loaded.design.cells] == ["model", "maze"]
    digest = random_mdp(seed=3).digest
    assert loaded.design.cells[0].world.identity == {"digest": digest}
    assert loaded.attachments.models[digest] == random_mdp(seed=3)
    assert loaded.design.cells[1].world.identity["settings"] == {"text": "S.\n.G\n", "success": 1.0}


def test_the_priors_of_a_study(tmp_path):
    for prior in ('{ kind = "dirichlet" }', '{ kind = "dirichlet", support = "world" }'):
        text = f'name = "x"\n[[worlds]]\nworld = "grid-world"\n[[agents]]\nagent = "psrl"\nsettings.prior = {prior}\n'
        made = study(text)
        made.check()
        assert made.design.cells[0].agent.identity["settings"]["prior"]["concentration"] == 0.1


@pytest.mark.parametrize(
    ("found", "put", "line", "message"),
    [
        ("runs = 3", "rns = 3", 2, "no key is called 'rns'; did you mean 'runs'?"),
        ("runs = 3", "zzz = 3", 2, "no key is called 'zzz'; there are: agents, description, episodes"),
        ("runs = 3", "runs = 'x'", 2, "runs is 'x'; it must be a valid integer"),
        ("runs = 3", "runs = 0", 2, "runs is 0; it must be greater than or equal to 1"),
        ("runs = 3", "runs = true", 2, "runs is True; it must be a valid integer"),
        ("runs = 3", "seed = -1", 2, "seed is -1; it must be greater than or equal to 0"),
        ("= 200", "= [200, 0]", 3, "episodes is [200, 0]; it must be a valid integer"),
        ("= 200", "= 0", 3, "episodes is 0; it must be greater than or equal to 1"),
        ('name = "try"', "", 1, 'name is missing; add name = "..."'),
        ('name = "try"', 'name = "a/b"', 1, "name is 'a/b'; it must be made of letters, digits"),
        ("label = ", "lable = ", 7, "no key is called 'lable'; did you mean 'label'?"),
        ('"grid-world"', '"gridworld"', 6, "no world is called 'gridworld'; did you mean 'grid-world'?"),
        ("rows = ", "row = ", 11, "no setting of random-mdp-v1 is called 'row'; did you mean 'rows'?"),
        ('rows = "dirichlet"', 'rows = "flat"', 11, "rows is 'flat'; it must be 'dirichlet' or 'uniform'"),
        ("states = [4", "states = [nan", 12, "states is nan; it must be a finite number, a string, true or false"),
        ("[4, 8]", "[]", 12, "states is []; it must have at least 1 item"),
        ("[4, 8]", "4", 12, "states is 4; it must be a valid list"),
        ("states = [4, 8]", "rows = ['uniform']", 12, "rows is both set and swept; remove it from settings or"),
        ('draw = "seed"', 'draw = "sed"', 13, "no setting of random-mdp-v1 is called 'sed'; did you mean 'seed'?"),
        ('draw = "seed"', 'draw = "rows"', 13, "draw is 'rows'; name an integer setting of random-mdp-v1"),
        ('agent = "uniform"', 'agent = "unifrm"', 16, "no agent is called 'unifrm'; did you mean 'uniform'?"),
        ('agent = "uniform"', "agent = 3", 16, "agent is 3; it must be a valid string"),
        ('agent = "uniform"', 'agent = "mine.py:Mine"', 16, "folder/mine.py: No such file or directory"),
        (
            'agent = "uniform"',
            'agent = "mine.py"',
            16,
            "'mine.py' does not name a class or function in a file; write",
        ),
        ("concentration", "concetration", 21, "no setting of the dirichlet prior is called 'concetration'; did"),
        ('{ kind = "dirichlet", concentration = 1 }', "3", 21, "prior is 3; pass a prior, a name"),
        ("settings = { prior", "settings = { scale", 21, "no setting of psrl is called 'scale'"),
        ("concentration = 1", "concentration = -1", 21, "concentration is -1; it must be a positive number"),
        ('kind = "dirichlet"', 'kind = "beta"', 21, "no prior is called 'beta'; there are: dirichlet, finite, "),
        ('["GridWorld"]', '["Gridworld"]', 25, "no world of this study is called 'Gridworld'; did you mean"),
        ('agent = "optimal"', 'agent = "uniform"', 23, "two agents are called 'uniform' in GridWorld; give one"),
        ('label = "GridWorld"', 'label = "random-mdp, states 4"', 9, "two worlds are called 'random-mdp, states 4'"),
    ],
)
def test_mistakes_are_named_with_their_line(found, put, line, message):
    assert found in STUDY
    with pytest.raises(FileError) as raised:
        study(STUDY.replace(found, put, 1)).check()
    assert str(raised.value).startswith(f"folder/study.toml, line {line}: {message}")


def test_text_that_is_no_toml():
    with pytest.raises(FileError, match=r"study.toml: not TOML: .*line 2, column"):
        study("name = 'a'\nruns = = 3")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"missing\.toml: No such file or directory"):
        Study.load(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="not a text file in UTF-8; a study is written in TOML"):
        Study.load(tmp_path / "binary.toml")


def test_models_in_files_have_no_settings(tmp_path):
    grid_world().save(tmp_path / "grid.npz")
    text = 'name = "x"\n[[worlds]]\nworld = "grid.npz"\nsettings = { rows = 3 }\n[[agents]]\nagent = "uniform"\n'
    with pytest.raises(FileError, match=r"line 4: grid\.npz is a model file, which has no settings; leave out"):
        study(text, tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("runs",), 1),
        (("text",), 3),
        (("worlds", 0), 6),
        (("worlds", 0, "settings", "rows"), 9),
        (("worlds", 1, "settings", "rows"), 12),
        (("worlds", 1, "world"), 11),
        (("worlds", 1, "draw"), 10),
        (("agents", 0, "settings", "prior"), 15),
        (("nothing",), 1),
    ],
)
def test_lines_of_keys(place, line):
    text = """\
runs = 3 # worlds = 1

text = '''
runs = 4
'''
[[worlds]] # the first
"world" = "a"
[worlds.settings]
rows = 3
[[ worlds ]]
world = "b"
settings = { rows = 3 }
[[agents]]
agent = "c"
settings.prior = 3
"""
    assert line_of(text, place) == line


@pytest.mark.parametrize(
    "comment",
    [
        '# """',
        "# '''",
        'text = "#" # """',
        'text = """a # \n"""  # [x]',
        "list = [\n  '''[worlds]''', # ]\n  \"[\",\n]",
    ],
)
def test_what_looks_like_toml_inside_comments_and_texts_is_none(comment):
    text = f"first = 1\n{comment}\nwrong = 3\n[[worlds]]\nworld = 'a'\n"
    lines = text.split("\n")
    assert line_of(text, ("wrong",)) == lines.index("wrong = 3") + 1
    assert line_of(text, ("worlds", 0, "world")) == lines.index("world = 'a'") + 1


def test_keys_of_every_kind_have_their_line():
    text = '"a b".c = 1\r\n\'d.e\' = 2\r\n[x."y z"]\r\n"k\\u00e9" = 3\r\nlist = [{ q = 1 },\r\n { r = 2 }]\r\n'
    assert line_of(text, ("a b", "c")) == 1
    assert line_of(text, ("d.e",)) == 2
    assert line_of(text, ("x", "y z", "k\u00e9")) == 4
    assert line_of(text, ("x", "y z", "list", 1, "r")) == 5


def test_a_mistake_after_a_comment_with_quotes_has_its_line(folder):
    with pytest.raises(FileError, match=r"line 4: no key is called 'rns'; did you mean 'runs'"):
        study('name = "x"  # """\nepisodes = 3 # \'\'\'\n# """\nrns = 3\n[[worlds]]\nworld = "grid-world"\n')


@pytest.mark.parametrize("value", [True, 3, 0.1, 1e-300, 'a "b" \\ \n é', [1, [2.5]], {"a b": {'"': [1]}}, {}, []])
def test_settings_of_every_kind_are_written_in_full(folder, value):
    (folder / "own.py").write_text(
        "from dataclasses import dataclass, field\nfrom goalward.agents import PSRL\n"
        f"@dataclass(eq=False)\nclass Own(PSRL):\n    extra: object = field(default_factory=lambda: {value!r})\n"
    )
    (folder / "own.toml").write_text(STUDY.replace('"uniform"', '"own.py:Own"'))
    first = Study.load(folder / "own.toml")
    (folder / "full.toml").write_text(first.shown_text)
    again = Study.load(folder / "full.toml")
    assert [again.design.keys(c) for c in again.design.cells] == [first.design.keys(c) for c in first.design.cells]
    assert again.design.cells[0].agent.identity["settings"]["extra"] == value


DOCUMENT = {
    "name": "small",
    "runs": 2,
    "episodes": 5,
    "worlds": [{"world": "grid-world", "settings": {"rows": 2}, "sweep": {"columns": [2, 3]}}],
    "agents": [{"agent": "psrl", "label": 'a "label"'}],
}


def test_a_study_from_a_dict_is_that_of_the_same_toml(tmp_path):
    made = Study.from_dict(DOCUMENT)
    (tmp_path / "small.toml").write_text(made.text)
    read = Study.load(tmp_path / "small.toml")
    assert read.design == made.design
    assert repr(made) == "Study('small': 2 cells of 2 runs)"
    DOCUMENT["worlds"][0]["settings"]["rows"] = 2
    assert made.spec.worlds[0].settings is not DOCUMENT["worlds"][0]["settings"]


def test_files_of_a_study_from_a_dict_are_in_its_folder(tmp_path):
    grid_world().save(tmp_path / "grid.npz")
    document = {"name": "x", "worlds": [{"world": "grid.npz"}], "agents": [{"agent": "psrl"}]}
    assert Study.from_dict(document, tmp_path).design.cells[0].world.identity == {"digest": grid_world().digest}
    with pytest.raises(SettingError, match=r"study x: worlds\[0\].settings: grid.npz: No such file or directory"):
        Study.from_dict(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "runs: runs is 0; it must be greater than or equal to 1"),
        (
            {"agents": [{"agent": "prsl"}]},
            "small: agents[0].agent: no agent is called 'prsl'; did you mean 'psrl'?",
        ),
        (
            {"worlds": [{"world": "grid-world", "settings": {"rows": None}}]},
            "[0].settings.rows: rows is None; it",
        ),
        (
            {"worlds": ({"world": "grid-world"},)},
            "worlds: worlds is ({'world': 'grid-world'},); it must be a valid list",
        ),
        ({"worlds": [3]}, "worlds[0]: worlds is 3; it must be a valid table"),
        ({"worlds": [{"world": "grid-world", "settings": 3}]}, "settings: settings is 3; it must be a valid table"),
        ({"worlds": [{"world": "grid-world", "label": ""}]}, "label: label is ''; it must have at least 1 character"),
    ],
)
def test_mistakes_in_a_dict_are_named_with_their_key(change, message):
    with pytest.raises(SettingError) as raised:
        Study.from_dict(DOCUMENT | change).check()
    assert message in str(raised.value)


def test_wrong_values_in_a_dict_are_found_by_check():
    document = DOCUMENT | {"agents": [{"agent": "psrl", "settings": {"max_rejections": -1}}]}
    with pytest.raises(SettingError, match=r"study small: agents\[0\]\.settings: max_rejections is -1"):
        Study.from_dict(document).check()
    with pytest.raises(SettingError, match="a study must be a dict with the keys of a study file, not 3"):
        Study.from_dict(3)


EVERYTHING = """\
name = "everything"
description = "files, sweeps, groups, nothing left out"
seed = 3
runs = 2
episodes = 4
max_steps = 500

[[worlds]]
world = "unused.txt"

[[worlds]]
world = "model.npz"
give_up_cost = 4.5

[[worlds]]
world = "maze.txt"
label = "a maze"
sweep = { success = [0.5, 1] }
group = "maps"

[[worlds]]
world = "random-mdp"
sweep = { states = [3, 4], rows = ["uniform", "dirichlet"] }
settings = { actions = 2 }
draw = "seed"

[[agents]]
agent = "psrl"
worlds = ["random-mdp, states 3, rows uniform"]
settings = { prior = { kind = "dirichlet" } }

[[agents]]
agent = "own.py:Own"
worlds = ["model", "a maze", "random-mdp"]
sweep = { extra = [1, 2] }

[[agents]]
agent = "uniform"
worlds = ["model"]
"""
OWN = """\
from dataclasses import dataclass, field
from goalward.agents import PSRL

@dataclass(eq=False)
class Own(PSRL):
    extra: int = 0
    table: dict = field(default_factory=lambda: {"a": None})
    entries: list = field(default_factory=lambda: [1, None])
"""


@pytest.mark.parametrize("changes", [{}, {"runs": 1, "episodes": 3}])
def test_a_results_folder_says_what_was_run(folder, run_here, changes):
    random_mdp(seed=3).save(folder / "model.npz")
    for name in ("maze", "unused"):
        (folder / f"{name}.txt").write_text("S.\n.G\n")
    (folder / "own.py").write_text(OWN)
    (folder / "everything.toml").write_text(EVERYTHING)
    study = Study.load(folder / "everything.toml").replace(**changes)
    _, store = run_here(study)
    for name in ("model.npz", "maze.txt", "unused.txt", "own.py", "everything.toml"):
        (folder / name).unlink()
    (stored,) = store.folder.glob("studies/**/*.toml")
    again = Study.load(stored)
    assert again.design == study.design
    report, _ = run_here(again)
    assert (report.stored, report.done) == (report.total, 0)


def test_changes_replace_what_a_study_says():
    growth = Study.load("growth")
    assert (growth.replace(runs=2).design.runs, growth.design.runs) == (2, 20)
    assert growth.replace(runs=20).design == growth.design
    with pytest.raises(SettingError, match=r"^runs: runs is 0; it must be greater than or equal to 1"):
        growth.replace(runs=0)
    with pytest.raises(SettingError, match="no key is called 'run'; did you mean 'runs'"):
        growth.replace(run=2)


PIT = """\
name = "pit"
runs = 2
episodes = 20

[[worlds]]
world = "pit.json"
give_up_cost = 4.5

[[agents]]
agent = "psrl"
"""


def test_agents_may_give_up_in_a_world_of_a_study(tmp_path):
    model = SSP.from_dense([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]]], [[1.0], [1.0]])
    model.save(tmp_path / "pit.json")
    found = study(PIT, str(tmp_path / "study.toml"))
    found.check()
    spec = found.design.spec(found.design.cells[0], 0)
    assert spec.world == {"digest": model.digest, "give_up_cost": 4.5}
    assert make_world(spec.world, found.attachments) == model.with_give_up(4.5)
    assert study(found.shown_text, str(tmp_path / "study.toml")).design == found.design
    with pytest.raises(FileError, match=r"line 5: .*no policy reaches the goal almost surely.*give_up_cost=20"):
        study(PIT.replace("give_up_cost = 4.5", ""), str(tmp_path / "study.toml")).check()
    with pytest.raises(FileError, match="line 7: give_up_cost is 0; it must be greater than 0"):
        study(PIT.replace("4.5", "0"), str(tmp_path / "study.toml"))


NESTED = """\
name = "nested"
[[worlds]]
world = "grid-world"
label = "{rows} x {columns}"
sweep = { rows = [2, 3], columns = [4] }
[[agents]]
agent = "psrl"
settings = { prior = { kind = "dirichlet" } }
sweep = { SWEEP }
"""


def test_settings_inside_others_can_be_swept():
    design = study(NESTED.replace("SWEEP", '"prior.concentration" = [0.01, 1]')).design
    assert [cell[:2] for cell in labels(design)] == [
        (world, f"psrl, concentration {value}") for world in ("2 x 4", "3 x 4") for value in ("0.01", "1")
    ]
    priors = [cell.agent.settings["prior"] for cell in design.cells[:2]]
    assert priors == [{"kind": "dirichlet", "concentration": value} for value in (0.01, 1.0)]
    # The same runs as of the prior that is written out.
    prior = '{ kind = "dirichlet", concentration = 0.01 }'
    plain = NESTED.replace("sweep = { SWEEP }", "").replace('{ kind = "dirichlet" }', prior)
    assert study(plain).design.keys(design.cells[0]) == design.keys(design.cells[0])


@pytest.mark.parametrize(
    ("found", "put", "line", "message"),
    [
        (
            '{ kind = "dirichlet" }',
            '{ kind = "dirichlet", concentration = 1 }',
            9,
            "prior.concentration is both set and",
        ),
        (
            'settings = { prior = { kind = "dirichlet" } }',
            "",
            9,
            "prior.concentration is swept, but prior is not set; add",
        ),
        ("{columns}", "{colums}", 4, "no swept setting is called 'colums'; did you mean 'columns'?"),
        (
            "concentration",
            "concetration",
            8,
            "no setting of the dirichlet prior is called 'concetration'; did you mean",
        ),
    ],
)
def test_mistakes_in_sweeps_and_labels(found, put, line, message):
    text = NESTED.replace("SWEEP", '"prior.concentration" = [0.01, 1]')
    with pytest.raises(FileError) as raised:
        study(text.replace(found, put, 1))
    assert f"line {line}: {message}" in str(raised.value)
