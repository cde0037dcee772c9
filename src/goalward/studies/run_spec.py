"""The specification of a run, and functions that compute the key, the world and the agent of the run.

The result of a run depends only on the world, the agent, the number of episodes, the step limit, the seed, and
`RESULTS_VERSION`. This version increases whenever a change of goalward changes results. The key of a run is a SHA-256
of all these values. Labels, the study, the other agents, the machine and the number of workers are not part of the key
and change no result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from goalward import agents, worlds
from goalward.acting.contract import Task
from goalward.agents.base import Learner
from goalward.agents.base import registry as known_agents
from goalward.beliefs.base import registry as known_priors
from goalward.environments.by_name import closing
from goalward.errors import FileError, SettingError
from goalward.seeds import generator
from goalward.settings import check_names, settings_of
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.spec import PLAIN, PRIOR, canonical
from goalward.user_code import described, digests_in
from goalward.worlds.base import RULES, AnyWorld, build, build_bare, with_rules
from goalward.worlds.base import registry as known_worlds

RESULTS_VERSION = 4
"""Increase it whenever a result may change, and add a line under "Results" in CHANGELOG.md."""
KEY_DIGITS = 32


def key_of(document: Mapping[str, Any]) -> str:
    """Return the key of a run: the first digits of the SHA-256 of the run's `document`."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()[:KEY_DIGITS]


@dataclass(frozen=True)
class RunSpec:
    """One run, as plain data that is the same on every machine.

    Attributes
    ----------
    world
        ``{"id", "settings"}`` for a world with a name, ``{"digest"}`` for a model from a file. Optional keys are
        ``"give_up_cost"`` if agents may give up, ``"goal"`` and ``"cost"`` for an environment, ``"code"`` if the world
        does not come with goalward, and ``"drawn": {"prior", "seed"}`` if the transitions are drawn from a prior.
    agent
        ``{"name", "settings"}``, and ``"code"`` if the agent or one of its priors does not come with goalward.
    episodes, max_steps, seed
        The arguments of `goalward.learn`.
    results
        The version of the results.
    """

    world: dict[str, Any]
    agent: dict[str, Any]
    episodes: int
    max_steps: int | None
    seed: int
    results: int = RESULTS_VERSION

    @cached_property
    def key(self) -> str:
        """The key of the run, which is also the name of the run's file."""
        return key_of(self.document())

    @property
    def model_digest(self) -> str | None:
        """The digest of the world if the world is a model from a file, otherwise None."""
        return self.world.get("digest")

    @property
    def sources(self) -> set[str]:
        """The SHA-256 of each of the user's files that the run needs."""
        return digests_in(str((self.world, self.agent)))

    def document(self) -> dict[str, Any]:
        """Return all values that determine the run, as plain data without None; the key is a hash of this document."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "key"}

    def build(self, attachments: Attachments) -> tuple[Any, Learner]:
        """Return the world and the agent; raise FileError if the run needs another version of goalward."""
        if self.results != RESULTS_VERSION:
            raise FileError(
                f"the run has results version {self.results}, but this goalward makes version {RESULTS_VERSION};"
                " run the study again, or use the goalward that made the run"
            )
        world = make_world(self.world, attachments)
        return world, make_agent(self.agent, world, self.episodes, attachments)


# Settings


def complete_world(name: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the full id of a world, with its version, and all settings of the world as plain data."""
    world = worlds.find(name)
    return world.id, without_none(world.complete(settings))


def complete_agent(kind: type[Learner], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of an agent as plain data, except for settings that are read off the true world."""
    return without_none(kind.complete(settings))


def without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain settings without None, which TOML cannot express.

    Only defaults contain None, so leaving out None changes nothing. A prior loses only its settings that are None. Any
    other setting that contains None is left out. Raises SettingError if a default cannot be part of a key.
    """
    complete: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and "kind" in value:
            value = {inner: setting for inner, setting in value.items() if setting is not None}
        if not contains_none(value):
            try:
                complete[name] = json.loads(canonical(value))
            except (TypeError, ValueError, OverflowError, RecursionError):
                raise SettingError(f"{name} is {value!r}; it must {PLAIN}") from None
    return complete


def contains_none(value: object) -> bool:
    """Return whether a value is None or contains None."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return value is None or any(map(contains_none, entries))


def complete_prior(prior: Any) -> dict[str, Any]:
    """Return a prior with all its settings as plain data; users' priors also have a digest of their code."""
    name, settings = known_priors.split(prior)
    settings.pop("code", None)
    complete: dict[str, Any] = without_none({"prior": known_priors.complete({"kind": name} | settings)})["prior"]
    code = known_priors.code(name)
    return complete if code is None else complete | {"code": code}


def check_draw(name: str, draw: str | None, settings: Mapping[str, Any]) -> None:
    """Raise SettingError unless `draw` is None, "prior", or an integer setting that is missing in `settings`."""
    if draw in (None, PRIOR):
        return
    world = worlds.find(name)
    declared = settings_of(world.build)
    check_names(world.id, [draw], declared)
    if draw in settings or type(declared[draw].default) is not int:
        raise SettingError(f"draw is {draw!r}; name an integer setting of {world.id} that `settings` does not set")


# Digests of users' code, because `RESULTS_VERSION` does not change when users edit their code


def world_code(world_id: str, settings: Mapping[str, Any]) -> str:
    """Return the digests of a world's code and of its model; empty if the world comes with goalward.

    The model is included because the world may read it from a file. If runs draw models, the default model is included.
    """
    code = known_worlds.code(world_id)
    if code is None:
        return ""
    model = build_bare(world_id, settings)
    if isinstance(model, SSP):
        return f"{code} {model.digest}"
    with closing(model):
        return code


def agent_code(kind: type[Learner], name: str, settings: Mapping[str, Any]) -> str:
    """Return a digest of the code of an agent and its priors; empty if all of them come with goalward."""
    codes = {f"agent {name}": known_agents.code(name)}
    for setting_name, setting in settings_of(kind).items():
        if setting.registry is not None and setting_name in settings:
            used, _ = setting.registry.split(settings[setting_name])
            codes[f"{setting.registry.kind} {used}"] = setting.registry.code(used)
    foreign = {part: code for part, code in codes.items() if code is not None}
    return hashlib.sha256(canonical(foreign).encode()).hexdigest() if foreign else ""


# The world and the agent


def make_world(identity: Mapping[str, Any], attachments: Attachments) -> Any:
    """Return the world that `identity` (the `RunSpec.world` of a run) describes: an `SSP` or another world."""
    rules = {name: identity[name] for name in RULES if name in identity}
    if "id" not in identity:
        bare: Any = attachments.model(identity["digest"])
    else:
        attachments.remember(identity["id"])
        if (known_worlds.code(identity["id"]) or "") != identity.get("code", "").partition(" ")[0]:
            raise changed(identity["id"])
        if "drawn" not in identity:
            return build(identity["id"], identity["settings"], **rules)
        bare = build_bare(identity["id"], identity["settings"])
    if "drawn" in identity:
        bare = draw_model(bare, identity["drawn"], attachments)
    return with_rules("the world", bare, **rules)


def draw_model(model: Any, drawn: Mapping[str, Any], attachments: Attachments) -> SSP:
    """Return `model` with its transitions drawn from a prior and everything else unchanged."""
    if not isinstance(model, SSP):
        raise SettingError(f"{model!r:.60} has no model, so its transitions cannot be drawn from a prior")
    attachments.remember(drawn["prior"])
    settings = {name: value for name, value in drawn["prior"].items() if name != "code"}
    if drawn["prior"].get("code", known_priors.code(settings["kind"])) != known_priors.code(settings["kind"]):
        raise changed(settings["kind"])
    belief = known_priors.build(settings, model).belief(Task.of(model, 1))
    return belief.sample(generator(drawn["seed"]))


def make_agent(identity: Mapping[str, Any], world: AnyWorld, episodes: int, attachments: Attachments) -> Learner:
    """Return the agent that `identity` describes; required settings that are missing are read off the true `world`."""
    attachments.remember(identity)
    kind = agents.find(identity["name"])
    if agent_code(kind, identity["name"], identity["settings"]) != identity.get("code", ""):
        raise changed(identity["name"])
    kind.check_world(world)
    return kind.from_settings(identity["settings"], world, episodes)


def changed(name: str) -> SettingError:
    return SettingError(f"the code of {described(name)} has changed since the study was read; run the study again")
