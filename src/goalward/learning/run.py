"""`Run` is the result of `learn`: the costs, steps and regret of every episode, and the epochs.

`goalward.studies.run_file` stores the episodes of a run, but neither single steps nor epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from goalward.acting.encoding import Encoding
from goalward.acting.stop_conditions import Ended
from goalward.agents.base import Agent, Learner
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import SettingError
from goalward.learning.deployed_policy import FrozenPolicy, LearntPolicy
from goalward.learning.replay import Replay
from goalward.ssp.model import SSP
from goalward.table import Table

TRUNCATIONS = {
    Ended.MAX_STEPS: "max_steps ended the run",
    Ended.STOPPED: "the run was interrupted",
    Ended.DEAD_END: "a dead end ended the run",
}


@dataclass(frozen=True, eq=False)
class Epochs:
    """The epochs of a run in order; each attribute has one entry for each epoch.

    Attributes
    ----------
    start_step, start_episode
        The number of steps and the number of finished episodes before the epoch.
    steps, goals
        The number of steps of the epoch, and the number of arrivals at the goal.
    ended
        A sum of `Ended` flags: the reasons why the epoch ended.
    """

    start_step: Int64s
    start_episode: Int64s
    steps: Int64s
    goals: Int64s
    ended: Int64s

    def __len__(self) -> int:
        return len(self.steps)

    def ended_by(self, condition: Ended) -> Bools:
        """Return, for each epoch, whether `condition` is among the reasons why the epoch ended."""
        return np.asarray((self.ended & int(condition)) != 0)

    def __repr__(self) -> str:
        causes = {flag.name: int(np.count_nonzero(self.ended_by(flag))) for flag in Ended}
        ended = ", ".join(f"{name} {count}" for name, count in causes.items() if count)
        several = ", some by several at once" if sum(causes.values()) > len(self) else ""
        return f"Epochs({len(self)}; ended by {ended or 'nothing'}{several})"


@dataclass(frozen=True, eq=False)
class Run:
    """A run of an agent in a world, which depends only on the agent's settings, the world, `episodes` and `seed`.

    Attributes
    ----------
    agent
        The agent at the end of the run. ``learn(run.agent, ..., resume=True)`` continues to learn with this agent.
    seed, episodes
        The seed and the number of episodes that were passed to `learn`.
    costs, steps
        The cost and the number of steps of each episode.
    gaps
        The sum of the optimality gaps of each episode; NaN if the true model is not known.
    reached
        Whether each episode ended at the goal. In a known model, only the last entry can be False.
    epochs
        The starts, the lengths and the ends of the epochs.
    optimal_value
        V*(s_init) of the true model; NaN if the model is not known.
    ended
        The `Ended` flags of the run: `EPISODES` if all episodes were finished.
    plans
        The plans with their models and values: `Plan` objects, or `ContinuousPlan` objects in a task with continuous
        states. None without ``keep_plans=True``.
    trajectory
        All steps as `Steps`; None without ``keep_steps=True``.
    world
        The true model; None if the true model is not known or the run was resumed.
    replay
        The data for `goalward.watch`; None without ``keep_replay=True``.
    """

    agent: Learner
    seed: int
    episodes: int
    costs: Floats
    steps: Int64s
    gaps: Floats
    reached: Bools
    epochs: Epochs
    optimal_value: float
    ended: Ended
    plans: tuple[Any, ...] | None = field(default=None, repr=False)
    trajectory: Any = field(default=None, repr=False)
    world: SSP | None = field(default=None, repr=False)
    replay: Replay | None = field(default=None, repr=False)

    @cached_property
    def regret(self) -> Floats:
        """The realised regret after each episode k, which is the sum of the costs so far minus k V*(s_init)."""
        self._require_model()
        return np.cumsum(self.costs) - self.optimal_value * np.arange(1, len(self.costs) + 1)

    @cached_property
    def gap_regret(self) -> Floats:
        """The sum of the optimality gaps up to each episode; it has the same mean as `regret` but less variance."""
        self._require_model()
        return np.cumsum(self.gaps)

    @cached_property
    def policy(self) -> FrozenPolicy:
        """The policy to deploy: the best policy that the agent knows, without exploration."""
        best = self.agent.best_policy()
        return LearntPolicy.of(self.agent, best) if isinstance(self.agent, Agent) else best

    def model(self) -> SSP:
        """Return the agent's estimate of the model: the posterior mean, with only the transitions that were seen.

        Actions that were never played in a state are not available there (see `goalward.beliefs.base.seen_model`).
        States and actions have the names of the world. In an environment, states that never appeared are left out.
        """
        model = self.agent.mean_model()
        if model is None or not isinstance(self.agent, Agent):
            raise SettingError(f"{self.agent.name} does not estimate a model; use an agent that does, such as psrl")
        if self.agent.task.encoding is not None:
            return seen_states(model, self.agent.pair_visits(), self.agent.task.encoding)
        labels = ("state_names", "action_names", "layout")
        return model if self.world is None else model._replace(**{name: getattr(self.world, name) for name in labels})

    @property
    def has_model(self) -> bool:
        """Whether the true model is known, so that regret can be computed."""
        return not np.isnan(self.optimal_value)

    @property
    def total_steps(self) -> int:
        """The number of steps of the run."""
        return int(self.steps.sum())

    @property
    def truncated(self) -> bool:
        """Whether any requested episode did not end at the goal."""
        return len(self.reached) < self.episodes or not bool(self.reached.all())

    @property
    def truncation(self) -> str:
        """A text on why some episodes did not end at the goal, with advice. It is empty if all reached the goal."""
        reasons = [text for flag, text in TRUNCATIONS.items() if flag & self.ended]
        # If the run itself was ended, the environment did not cut off the last episode.
        closed = self.reached[:-1] if reasons else self.reached
        cut = int(np.count_nonzero(~closed))
        if cut:
            late = not closed[-(1 + len(closed) // 4) :].all()
            advice = (
                "; check the goal rule, or allow more steps: gymnasium.make(id, max_episode_steps=...)"
                if cut == len(closed)
                else ", also late ones; allow more steps with max_episode_steps=..., or learn for more episodes"
                if late
                else ", none of the last quarter"
            )
            reasons.append(f"the environment cut off {cut:,} of {len(closed):,} episodes{advice}")
        return " and ".join(reasons)

    @cached_property
    def notes(self) -> dict[str, int | float | str]:
        """The agent's notes about the run, such as its default prior or caveats."""
        return self.agent.notes()

    def _require_model(self) -> None:
        if not self.has_model:
            raise SettingError(
                "regret needs the true model; learn in an SSP, or in an environment that contains an SSP. In tasks with"
                " continuous states V* is not known, so use run.costs and run.steps"
            )

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {
            "episodes": f"{len(self.costs):,} of {self.episodes:,}",
            "steps": self.total_steps,
            "epochs": len(self.epochs),
            "seed": str(self.seed),
        }
        if self.has_model and len(self.costs):
            facts |= {"regret": float(self.regret[-1]), "gap regret": float(self.gap_regret[-1])}
        if self.truncated:
            facts["cut off"] = self.truncation
        notes = ["goalward.plot(run) draws it, goalward.watch(run) replays it"]
        return Table.facts(facts, title=f"Run of {self.agent.name}", notes=notes).html()

    def __repr__(self) -> str:
        known = (
            "" if not len(self.costs) else f", regret={self.regret[-1]:.6g}" if self.has_model else ", optimum unknown"
        )
        cut = f", truncated ({self.truncation})" if self.truncated else ""
        return (
            f"Run({self.agent.name}, episodes={len(self.costs)}, steps={self.total_steps}, seed={self.seed}{known}, "
            f"epochs={len(self.epochs)}{cut})"
        )


def seen_states(model: SSP, visits: Int64s | None, encoding: Encoding) -> SSP:
    """Return `model` restricted to visited states and their successors, with new numbers and names from `encoding`."""
    rows = np.repeat(np.arange(model.states), np.diff(model.indptr[:: model.actions]))
    kept = np.append(model.available.any(axis=1) if visits is None else visits.any(axis=1), True)
    kept[model.initial_state] = True
    while not kept[model.successors[kept[rows]]].all():
        kept[model.successors[kept[rows]]] = True
    states = np.flatnonzero(kept[:-1])
    numbers = np.cumsum(kept) - 1
    lengths = np.diff(model.indptr).reshape(model.costs.shape)[states]
    return SSP.from_rows(
        np.append(0, np.cumsum(lengths)),
        numbers[model.successors[kept[rows]]],
        model.probabilities[kept[rows]],
        model.costs[states],
        int(numbers[model.initial_state]),
        state_names=[encoding.name(state) for state in states.tolist()],
        action_names=[encoding.action_name(action) for action in range(model.actions)],
        give_up=model.give_up,
    )
