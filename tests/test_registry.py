"""The registries of worlds, agents and priors: names, settings and what they build."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import goalward as gw
from goalward.agents.base import registry as agents
from goalward.beliefs.base import Prior
from goalward.beliefs.base import registry as priors
from goalward.errors import SettingError, UnknownNameError
from goalward.registry import Registry, summary
from goalward.settings import settings_of
from goalward.worlds.base import build
from goalward.worlds.base import registry as worlds

REGISTRIES: dict[str, Registry[Any]] = {"agents": agents, "priors": priors, "worlds": worlds}
ENTRIES = [pytest.param(registry, name, id=name) for registry in REGISTRIES.values() for name in registry.known()]
WORLD = gw.worlds.grid_world(2, 3)

OWN = """
import sys
import goalward as gw
from goalward import agents, worlds
from goalward.beliefs.base import register
from goalward.cli import main
from goalward.settings import Size
from goalward.studies.study import Study

@register("flat")
class Flat(gw.Dirichlet):
    "Every row is equally likely."

    def __init__(self, concentration: float = 1.0):
        super().__init__(concentration)

@agents.register("dizzy")
class Dizzy(agents.Uniform):
    "Turns around."

    turns: Size = 2

@worlds.register("corridor-v0")
def corridor(length: Size = 3) -> gw.SSP:
    "Corridor: one row."
    return worlds.grid_world(1, length)

Study.from_dict({
    "name": "x", "episodes": 5, "runs": 1, "worlds": [{"world": "corridor"}],
    "agents": [{"agent": "psrl", "settings": {"prior": "flat"}}, {"agent": "dizzy", "settings": {"turns": 3}}],
}).check()
world = worlds.make("corridor", length=4)
run = gw.learn(agents.PSRL.from_settings({"prior": "flat"}, world, 5), world, 5)
agents.save(run.agent, sys.argv[1])
print(type(agents.load(sys.argv[1]).prior).__name__)
for kind in ("agents", "priors", "worlds"):
    try:
        main(["list", kind])
    except SystemExit:
        pass
"""


def test_what_users_register_is_known_everywhere(tmp_path: Path, run_python: Callable[..., str]) -> None:
    printed = run_python(f"import sys; sys.argv.append({str(tmp_path / 'agent.npz')!r})\n{OWN}")
    assert printed.startswith("Flat\n")
    for name, text in {"dizzy": "Turns around.", "flat": "Every row is", "corridor-v0": "Corridor: one row."}.items():
        assert re.search(rf"^ *{name} +{re.escape(text)}", printed, re.MULTILINE)


def test_a_look_up_imports_one_algorithm(run_python: Callable[..., str]) -> None:
    code = "import sys, goalward as gw; gw.agents.find('q-learning'); print(*sorted(sys.modules))"
    modules = run_python(code).split()
    assert "goalward.agents.model_free.q_learning" in modules
    assert "goalward.agents.model_free.rand_ql" not in modules
    assert "pydantic" not in modules


@pytest.mark.parametrize(("registry", "name"), ENTRIES)
def test_complete_settings_are_plain_and_complete(registry: Registry[Any], name: str) -> None:
    entry = registry.find(name)
    assert len(summary(entry)) < 100
    assert summary(entry).endswith(".")
    thing = getattr(entry, "build", entry)
    if registry is priors:

        def complete(given: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in priors.complete({"kind": name} | given).items() if key != "kind"}
    else:
        complete = entry.complete
    if getattr(thing, "python_only", ""):
        with pytest.raises(SettingError, match="can be used in Python only"):
            complete({})
        return
    full = complete({})
    assert json.loads(json.dumps(full)) == full
    assert complete(full) == full
    assert full.keys() == settings_of(thing).keys() - set(getattr(thing, "needs", ()))
    with pytest.raises(UnknownNameError, match="is called 'colour'"):
        complete({"colour": 1})


def test_entries_are_built_from_their_complete_settings() -> None:
    for name, world in worlds:
        made, known = world.build(**world.complete({})), build(name, {})
        assert repr(made) == repr(known) if world.continuous else made == known
    task = gw.continuous.make("mountain-car")
    for _, agent in agents:
        made = agent.from_settings(agent.complete({}), task if agent.continuous else WORLD, 10)
        assert made.settings().items() >= agent.complete({}).items()
    for name, prior in priors:
        if not getattr(prior, "python_only", ""):
            assert isinstance(priors.build(name, WORLD), Prior)


def test_the_same_settings_make_the_same_key() -> None:
    """Also if they are written as integers, by their defaults, or with numbers of NumPy."""
    complete = agents.find("eb-ssp").complete
    for scale in (1, 1.0, np.float64(1.0), np.float32(1.0), np.int64(1)):
        assert json.dumps(complete({"scale": scale})) == json.dumps(complete({}))
    rows = worlds.find("grid-world").complete({"rows": np.int64(3), "success": 1})
    assert json.dumps(rows) == '{"rows": 3, "columns": 4, "success": 1.0}'
    assert complete({"action_order": np.array([1, 0])})["action_order"] == [1, 0]


def test_a_prior_is_a_name_or_a_table() -> None:
    full = {"kind": "dirichlet", "concentration": 0.1, "support": None}
    complete = agents.find("psrl").complete
    assert complete({"prior": "dirichlet"})["prior"] == full
    assert complete({})["prior"] is complete({"prior": None})["prior"] is None
    with pytest.raises(SettingError, match="prior is None; pass a prior"):
        agents.find("kl-index").complete({"prior": None})
    assert complete({"prior": {"kind": "dirichlet", "concentration": 2}})["prior"] == full | {"concentration": 2.0}
    with pytest.raises(SettingError) as error:
        complete({"prior": 3})
    assert str(error.value) == (
        'prior is 3; pass a prior, a name (such as "dirichlet") or a table (such as { kind = "dirichlet",'
        " concentration = 0.1 })"
    )
    with pytest.raises(SettingError, match="finite prior can be used in Python only: its models cannot be written"):
        complete({"prior": "finite"})
    with pytest.raises(SettingError, match="support is 'rows'; leave it out"):
        priors.build({"kind": "dirichlet", "support": "rows"}, WORLD)


def test_a_prior_in_a_constructor_is_an_object_a_name_or_a_table() -> None:
    PSRL: Any = gw.agents.PSRL
    assert PSRL("dirichlet").prior == PSRL({"kind": "dirichlet", "concentration": 0.1}).prior == gw.Dirichlet(0.1)
    assert PSRL().prior is PSRL(None).prior is PSRL.from_settings({"prior": None}, WORLD, 1).prior is None
    for given, message in {
        3: "prior is 3; pass a prior, a name",
        "dirichlett": "no prior is called 'dirichlett'; did you mean 'dirichlet'",
    }.items():
        with pytest.raises((SettingError, UnknownNameError), match=message):
            PSRL(given)
    for table, message in (
        ({"concetration": 1}, "no setting of the dirichlet prior is called 'concetration'; did you mean"),
        ({"concentration": -1}, "concentration is -1; it must be a positive number"),
        ({"support": "world"}, "no world is known here"),
    ):
        with pytest.raises((SettingError, UnknownNameError), match=message):
            PSRL({"kind": "dirichlet"} | table)


def test_priors_are_equal_if_their_settings_are() -> None:
    assert gw.Dirichlet(0.1) == gw.Dirichlet() != gw.Dirichlet(0.2)
    assert gw.Dirichlet(support=WORLD) == gw.Dirichlet(support=WORLD) != gw.Dirichlet()
    assert len({gw.Neighbourhoods(), gw.Neighbourhoods(), gw.Dirichlet()}) == 2


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="'Two words' cannot name a prior"):
        priors.register("Two words")
    with pytest.raises(ValueError, match="agent 'psrl' is already registered"):
        agents.register("psrl")
    for name in (3, None, ["psrl"]):
        with pytest.raises(UnknownNameError, match="no agent is called"):
            agents.find(name)


def test_a_class_in_a_file_that_is_no_prior_is_refused(tmp_path):
    (tmp_path / "own.py").write_text("class Near:\n    def belief(self, task): ...\n")
    with pytest.raises(SettingError, match=r"Near in .*own.py is not a prior; derive it from goalward.beliefs.Prior"):
        priors.find(f"{tmp_path}/own.py:Near")
