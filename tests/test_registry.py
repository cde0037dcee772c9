"""One registry for worlds, agents and priors: a new entry is one new file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import goalward as gw
from goalward.agents.base import registry as agents
from goalward.beliefs.base import NamedPrior, Prior
from goalward.beliefs.base import registry as priors
from goalward.errors import SettingError, UnknownNameError
from goalward.registry import Registry, summary
from goalward.worlds.base import registry as worlds

REGISTRIES: dict[str, Registry[Any]] = {"agents": agents, "priors": priors, "worlds": worlds}
ENTRIES = [pytest.param(entry, id=name) for registry in REGISTRIES.values() for name, entry in registry]
WORLD = gw.worlds.grid_world(2, 3)

NEW_PRIOR = """
from goalward.beliefs.base import register
from goalward.beliefs.dirichlet import Dirichlet

@register("flat")
class Flat(Dirichlet):
    "Every row is equally likely."

    def __init__(self, concentration: float = 1.0):
        super().__init__(concentration)

    @classmethod
    def from_settings(cls, settings, world):
        return cls(**settings)
"""
NEW_AGENT = """
from dataclasses import dataclass
from goalward.agents.base import register
from goalward.agents.baselines import Uniform

@register("dizzy")
@dataclass(eq=False)
class Dizzy(Uniform):
    "Turns around."
"""
NEW_WORLD = """
from goalward.worlds.base import register
from goalward.worlds.grid import grid_world

@register("corridor-v0")
def corridor(length: int = 3):
    "Corridor: one row."
    return grid_world(1, length)
"""
USE_THEM = """
import json, sys, tempfile
import goalward as gw
from goalward.cli import main
from goalward.studies.study import Study
study = tempfile.NamedTemporaryFile("w", suffix=".toml")
study.write('''name = "x"
episodes = 5
runs = 1
[[worlds]]
world = "corridor"
[[agents]]
agent = "psrl"
settings.prior = "flat"
[[agents]]
agent = "dizzy"
''')
study.flush()
Study.load(study.name).check()
run = gw.learn(gw.agents.PSRL.from_settings({"prior": "flat"}, gw.worlds.corridor(), 5), gw.worlds.corridor(), 5)
gw.agents.save(run.agent, study.name + ".npz")
kept = gw.agents.load(study.name + ".npz")
print(type(kept.prior).__name__, "Dizzy" in dir(gw.agents), "corridor" in dir(gw.worlds))
for kind in ("agents", "priors", "worlds"):
    try:
        main(["list", kind])
    except SystemExit:
        pass
"""


def test_a_new_file_is_all_it_takes(tmp_path: Path, run_python: Callable[..., str]) -> None:
    """Files are put into the packages by their search paths; studies, command line, saving and dir know them."""
    extra = {"beliefs": NEW_PRIOR, "agents": NEW_AGENT, "worlds": NEW_WORLD}
    for package, text in extra.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "brand_new.py").write_text(text)
    opening = "".join(
        f"import goalward.{package}; goalward.{package}.__path__.append({str(tmp_path / package)!r})\n"
        for package in extra
    )
    printed = run_python(opening + USE_THEM)
    assert printed.startswith("Flat True True\n")
    for name, text in {"dizzy": "Turns around.", "flat": "Every row is", "corridor-v0": "Corridor: one row."}.items():
        assert re.search(rf"^ *{name} +{re.escape(text)}", printed, re.MULTILINE)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_is_described(entry: Any) -> None:
    assert summary(entry).endswith(".")
    schema = entry.schema()
    assert schema.defaults.keys() <= schema.settings.keys()


@pytest.mark.parametrize("entry", ENTRIES)
def test_complete_settings_are_plain_and_complete(entry: Any) -> None:
    schema = entry.schema()
    if schema.python_only:
        with pytest.raises(SettingError, match="can be used in Python only"):
            entry.complete({})
        return
    full = entry.complete({})
    assert json.loads(json.dumps(full)) == full
    assert entry.complete(full) == full
    expected = {name for name, each in schema.settings.items() if not each.from_world}
    assert full.keys() == expected
    with pytest.raises(UnknownNameError, match="is called 'colour'"):
        entry.complete({"colour": 1})


def test_entries_are_built_from_their_complete_settings() -> None:
    for name, world in worlds:
        made, known = world.from_settings(world.complete({})), gw.worlds.make(name)
        assert repr(made) == repr(known) if world.continuous else made == known
    task = gw.worlds.make("mountain-car")
    for _, agent in agents:
        made = agent.from_settings(agent.complete({}), task if agent.continuous else WORLD, 10)
        assert made.settings().items() >= agent.complete({}).items()
    for name, prior in priors:
        if not prior.schema().python_only:
            assert isinstance(priors.build(name, WORLD), Prior)


def test_integers_are_floats_where_the_default_is() -> None:
    """So 1 and 1.0 name the same runs. What no float holds is left to the check of the setting."""
    assert repr(worlds.find("grid-world").complete({"success": 1})["success"]) == "1.0"
    assert repr(agents.find("eb-ssp").complete({"scale": 1})["scale"]) == "1.0"
    assert agents.find("eb-ssp").complete({"scale": 10**400})["scale"] == 10**400


def test_a_prior_is_a_name_or_a_table() -> None:
    full = {"kind": "dirichlet", "concentration": 0.1, "support": None, "goal": None}
    complete = agents.find("psrl").complete
    assert complete({})["prior"] == complete({"prior": "dirichlet"})["prior"] == full
    assert complete({"prior": {"kind": "dirichlet", "concentration": 2}})["prior"] == full | {"concentration": 2.0}
    with pytest.raises(SettingError) as error:
        complete({"prior": 3})
    assert str(error.value) == (
        'prior is 3; it must be a name, such as "dirichlet", or a table such as { kind = "dirichlet",'
        " concentration = 0.1 }"
    )
    with pytest.raises(SettingError, match="the finite prior can be used in Python only: it holds models"):
        complete({"prior": "finite"})
    with pytest.raises(SettingError, match="support is 'rows'; it must be"):
        priors.build({"kind": "dirichlet", "support": "rows"}, WORLD)


def test_a_setting_whose_default_is_a_prior_takes_priors() -> None:
    assert agents.find("psrl").schema().settings["prior"].registry is priors
    assert agents.find("psrl").schema().settings["value_limit"].registry is None


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="'Two words' cannot name a prior"):
        priors.register("Two words")
    with pytest.raises(ValueError, match="agent 'psrl' is registered already"):
        agents.register("psrl")
    for name in (3, None, ["psrl"]):
        with pytest.raises(UnknownNameError, match="no agent is called"):
            agents.find(name)


def test_public_names() -> None:
    names = dir(gw.agents)
    assert "PSRL" in names
    assert "importlib" not in names
    assert "random_mdp" in dir(gw.worlds)
    assert all(hasattr(gw.agents, name) for name in names)
    assert all(hasattr(gw.worlds, name) for name in dir(gw.worlds))
    with pytest.raises(AttributeError, match=r"module 'goalward\.agents' has no attribute 'PRSL'"):
        gw.agents.PRSL  # noqa: B018


def test_a_module_that_fails_is_not_forgotten(tmp_path: Path, run_python: Callable[..., str]) -> None:
    """The next look-up meets the same error instead of a registry that is half full."""
    (tmp_path / "broken.py").write_text("1 / 0")
    printed = run_python(
        f"import goalward.beliefs; goalward.beliefs.__path__.append({str(tmp_path)!r})\n"
        "from goalward.beliefs.base import registry\n"
        "for _ in range(2):\n"
        "    try: registry.known()\n"
        "    except ZeroDivisionError: print('again')\n"
    )
    assert printed.split() == ["again", "again"]


def test_functions_and_classes_are_entries_alike() -> None:
    assert isinstance(priors.find("slip"), NamedPrior)
    assert priors.find("dirichlet") is gw.Dirichlet
    built = priors.build({"kind": "slip", "concentration": 0.5}, WORLD)
    assert built.settings() == gw.TiedDirichlet.slip(WORLD, 0.5).settings()
