"""``draw = "prior"``: the world of each run is drawn from a prior, and said in its file."""

import numpy as np
import pytest

import goalward as gw
from goalward.errors import SettingError
from goalward.results.export import export_table
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import make_world
from goalward.studies.store import Store
from goalward.studies.study import Study

PRIOR = {"kind": "dirichlet", "concentration": 0.5}
PSRL = {"agent": "psrl", "settings": {"prior": PRIOR}}


def study(runs=3, agents=(PSRL,), **entries):
    world = {"world": "random-mdp", "settings": {"states": 3, "actions": 2}, "draw": "prior", **entries}
    return Study.from_dict({"name": "bayes", "runs": runs, "episodes": 10, "worlds": [world], "agents": list(agents)})


@pytest.mark.parametrize("entries", [{}, {"prior": PRIOR}])
def test_transitions_have_the_moments_of_the_prior(entries):
    """Rows of Dirichlet(1/2) over n = 4 successors: mean 1/4, variance (1/4)(3/4)/(n/2 + 1) = 1/16.

    The means of 24 entries over 600 worlds lie within 5 standard errors of them: a false alarm has probability below
    24 * 2 * 1e-6.
    """
    design = study(600, **entries).design
    worlds = [make_world(spec.world, Attachments()) for spec in design.specs(design.cells[0])]
    base = gw.worlds.random_mdp(states=3, actions=2)
    assert all(np.array_equal(world.costs, base.costs) for world in worlds[:5])
    rows = np.array([[row_of(world, pair) for pair in range(6)] for world in worlds])
    assert np.abs(rows.mean(axis=0) - 0.25).max() < 5 * np.sqrt(1 / 16 / 600)
    assert np.abs(rows.var(axis=0) - 1 / 16).max() < 0.015
    assert len({world.digest for world in worlds}) == 600


def row_of(world, pair):
    """Return the probabilities of all successors of a state-action pair."""
    row = np.zeros(world.states + 1)
    part = slice(world.indptr[pair], world.indptr[pair + 1])
    row[world.successors[part]] = world.probabilities[part]
    return row


def test_agents_learn_in_the_same_worlds_and_files_say_which(tmp_path):
    agents = [PSRL, {"agent": "uniform"}]
    made = study(agents=agents, prior=PRIOR)
    results = gw.run(made, tmp_path, workers=1)
    rows = export_table(Store.open(tmp_path)).rows
    digests = {agent: [row["world_digest"] for row in rows if row["agent"] == agent] for agent in ("psrl", "uniform")}
    assert digests["psrl"] == digests["uniform"]
    assert len(set(digests["psrl"])) == 3
    for row, spec in zip(rows, made.design.specs(made.design.cells[0]), strict=False):
        world = make_world(spec.world, Attachments())
        hardness = gw.hardness(world)
        assert (row["world_digest"], row["states"], row["actions"]) == (world.digest, 3, 2)
        assert (row["B_star"], row["T_star"], row["D"]) == (hardness.B_star, hardness.T_star, hardness.D)
    assert len(results.summary()) == 2
    again = Study.load(next(tmp_path.glob("studies/bayes/*.toml")))
    assert again.design == made.design


def test_agents_draw_from_their_own_priors_with_the_same_seeds():
    sharper = {"agent": "psrl", "label": "sharper", "settings": {"prior": PRIOR | {"concentration": 5.0}}}
    design = study(agents=[PSRL, sharper]).design
    first, second = (design.spec(cell, 0) for cell in design.cells)
    assert first.seed == second.seed
    assert first.world["drawn"]["seed"] == second.world["drawn"]["seed"]
    assert first.world["drawn"]["prior"] != second.world["drawn"]["prior"]
    assert first.world["drawn"]["seed"] != design.spec(design.cells[0], 1).world["drawn"]["seed"]


@pytest.mark.parametrize(
    ("entries", "agents", "message"),
    [
        ({}, [{"agent": "uniform"}], r"agents\[0\].settings: random-mdp is drawn from a prior, but neither"),
        ({"prior": "dirichet"}, [PSRL], r"worlds\[0\].draw: no prior is called 'dirichet'; did you mean 'dirichlet'"),
        ({"world": "mountain-car", "settings": {}}, [PSRL], "has no model, so its transitions cannot be drawn"),
    ],
)
def test_mistakes(entries, agents, message):
    with pytest.raises(SettingError, match=message):
        study(agents=agents, **entries).check()
