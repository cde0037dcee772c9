"""What decides a run, and the key made of it.

A run is decided by the world, the agent, the number of episodes, the step limit, the seed, and `RESULTS_VERSION`, which
moves with every change of the package that moves results. Its key is a SHA-256 of these. Labels, the study, the other
agents, the machine and the number of workers are not part of it, so they change no result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from goalward.errors import FileError

__all__ = ["RESULTS_VERSION", "RunSpec", "canonical", "check_results_version", "key_of"]

RESULTS_VERSION = 3
"""Raise it whenever any result may move, with a line under "Results" in CHANGELOG.md."""


def canonical(value: object) -> str:
    """Write plain data in the one form that keys are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def key_of(document: Mapping[str, Any]) -> str:
    """Return the key of a run's document: 32 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class RunSpec:
    """One run, as plain data that is the same on every machine.

    Attributes
    ----------
    world
        ``{"id", "settings"}`` for a world of the registry, ``{"digest"}`` for a model from a file; with
        ``"give_up_cost"`` if agents may give up. A world of the registry also has the ``"digest"`` of its model, where
        it is one (if every run draws its own, of the one with the default settings), and ``"code"``, the SHA-256 of the
        file that defines it, unless it comes with goalward.
    agent
        ``{"name", "settings"}``, and ``"source"``, the SHA-256 of its text, if the class is in a user's file. With
        ``"code"``, the SHA-256 of the files that define the agent and its priors, for those that are registered and do
        not come with goalward.
    episodes, max_steps, seed
        The arguments of `goalward.learn`.
    """

    world: dict[str, Any]
    agent: dict[str, Any]
    episodes: int
    max_steps: int | None
    seed: int

    @cached_property
    def key(self) -> str:
        """The key of the run, which names its file."""
        return key_of(self.document())

    @property
    def model_digest(self) -> str | None:
        """The digest of the world, if it is a model from a file."""
        return None if "id" in self.world else self.world.get("digest")

    @property
    def agent_source(self) -> str | None:
        """The SHA-256 of the user's file that has the agent, if it is not one of the registry."""
        return self.agent.get("source")

    def document(self) -> dict[str, Any]:
        """Return what decides the run as plain data: the key is made of it, and files keep it."""
        return {
            "results": RESULTS_VERSION,
            "world": self.world,
            "agent": self.agent,
            "episodes": self.episodes,
            "max_steps": self.max_steps,
            "seed": self.seed,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> RunSpec:
        """Return the run of a document; raise FileError if it is damaged or of another version of the results."""
        try:
            check_results_version(document, "the run")
            return cls(**{name: document[name] for name in ("world", "agent", "episodes", "max_steps", "seed")})
        except KeyError as error:
            raise FileError(f"the run does not say its {error.args[0]}; run the study again") from None

    def __hash__(self) -> int:
        return hash(self.key)


def check_results_version(document: Mapping[str, Any], what: str) -> None:
    """Raise FileError if a study or a run was made with another version of the results."""
    version = document["results"]
    if version != RESULTS_VERSION:
        raise FileError(
            f"{what} was made with results version {version}, this goalward makes version {RESULTS_VERSION};"
            " run the study again, or use the goalward that made it"
        )
