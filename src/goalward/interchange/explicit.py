"""Explicit models as model checkers store them, and what they mean as a stochastic shortest path problem.

Definition
    States 0..N-1 have choices, a choice has branches, and a branch has a target state and a probability. Labels are
    sets of states. A reward structure r gives numbers to states, choices and branches. UMB (`umb.py`) and DRN
    (`drn.py`) are two ways to write this down.

Meaning
    The states of the chosen labels are merged into the goal, and their choices are dropped. The other states keep
    their order. The cost of choice c in state s is r(s) + r(c) + Σ_b p(b) r(b) over its branches b. Branches of one
    choice to the same state are added up.

    A choice becomes the action of its label if no state has two choices of one label and the labels are few, at most
    four times the largest number of choices of a state. Otherwise the i-th choice of a state becomes action i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError, UnknownNameError
from goalward.ssp.checks import ROW_SUM_TOLERANCE
from goalward.ssp.model import SSP, Name
from goalward.ssp.transitions import LARGEST_PAIRS

__all__ = ["Choices", "Explicit", "Reward", "choices_of", "plain_names", "unique_names"]

FEW_LABELS = 16


class Choices(NamedTuple):
    """A model to be written: state S is the goal, which stays where it is at no cost."""

    state_choices: Int64s
    choice_branches: Int64s
    targets: Int64s
    probabilities: Floats
    actions: Int64s
    costs: Floats


def choices_of(ssp: SSP) -> Choices:
    """Return the choices and branches of a model.

    A state without actions cannot be written: it gets a choice that stays where it is, at a cost of 1.
    """
    S, A = ssp.costs.shape
    stuck = np.flatnonzero(~ssp.available.any(axis=1))
    rows = np.sort(np.concatenate([np.flatnonzero(ssp.available), stuck * A, [S * A]]))
    real = np.append(ssp.available, False)[rows]
    lengths = np.where(real, np.append(np.diff(ssp.indptr), 1)[rows], 1)
    is_real = np.repeat(real, lengths)
    targets = np.repeat(rows // A, lengths)
    targets[is_real] = ssp.successors
    probabilities = np.ones(len(targets))
    probabilities[is_real] = ssp.probabilities
    return Choices(
        np.searchsorted(rows, np.append(np.arange(S + 1) * A, S * A + 1)),
        np.concatenate([[0], np.cumsum(lengths)]),
        targets,
        probabilities,
        rows % A,
        np.where(real, np.append(ssp.costs, 0.0)[rows], (rows < S * A).astype(np.float64)),
    )


class Reward(NamedTuple):
    """A reward structure: numbers for each state, choice and branch; None stands for zeros."""

    states: Floats | None = None
    choices: Floats | None = None
    branches: Floats | None = None


@dataclass(frozen=True, eq=False)
class Explicit:
    """A model of states, choices and branches.

    Attributes
    ----------
    state_choices, choice_branches
        Compressed rows: the choices of state s are ``state_choices[s]`` up to ``state_choices[s + 1]``.
    targets, probabilities
        Of each branch.
    initial
        The initial states.
    labels, rewards
        By name; what they hold is read when it is asked for.
    actions, action_names
        The label of each choice as a number, and the text of each number; None if choices have no labels.
    state_names
        Names of states, or None.
    """

    state_choices: Int64s
    choice_branches: Int64s
    targets: Int64s
    probabilities: Floats
    initial: Int64s
    labels: Mapping[str, Callable[[], Bools]]
    rewards: Mapping[str, Callable[[], Reward]]
    actions: Int64s | None = None
    action_names: Sequence[str] = ()
    state_names: Sequence[str] | None = None

    @property
    def states(self) -> int:
        """N, the number of states."""
        return len(self.state_choices) - 1

    def rows(
        self,
        goal: Name | Sequence[Name] | None = None,
        start: Name | None = None,
        cost: str | float | None = None,
        normalize: bool = False,
    ) -> dict[str, Any]:
        """Return what `SSP.from_rows` takes.

        Parameters
        ----------
        goal
            One or more labels or states; the label ``goal`` if not given.
        start
            A state; the one initial state of the model if not given.
        cost
            The name of a reward structure, or the cost of every step; not needed if there is one reward structure.
        normalize
            Rescale the probabilities of choices that do not sum to one.
        """
        is_goal = self._goal_mask(goal)
        number = np.where(is_goal, np.count_nonzero(~is_goal), np.cumsum(~is_goal) - 1)
        S = int(np.count_nonzero(~is_goal))
        if not S:
            raise ShapeError("every state is a goal; choose another goal")
        initial_state = self._start_state(start, is_goal)
        owner = np.repeat(np.arange(self.states), np.diff(self.state_choices))
        kept = ~is_goal[owner]
        choice = np.repeat(np.arange(len(owner)), np.diff(self.choice_branches))
        probabilities = self._checked_probabilities(owner, choice, kept, normalize)
        paid = self._choice_costs(cost, owner, choice, probabilities, kept)
        codes, A, names = self._action_numbers(owner, kept)
        if S * A > LARGEST_PAIRS:
            raise ShapeError(f"there are {S} states and {A} actions, {S * A} pairs; the most is {LARGEST_PAIRS}")
        rows = number[owner] * A + codes
        costs = np.zeros(S * A)
        costs[rows[kept]] = paid[kept]
        inside = kept[choice] & (probabilities > 0.0)
        entries = (probabilities[inside], (rows[choice[inside]], number[self.targets[inside]]))
        matrix = sparse.coo_array(entries, shape=(S * A, S + 1)).tocsr()
        named = None
        if self.state_names is not None:
            named = [name for name, merged in zip(self.state_names, is_goal.tolist(), strict=True) if not merged]
        return {
            "indptr": matrix.indptr,
            "successors": matrix.indices,
            "probabilities": matrix.data,
            "costs": costs.reshape(S, A),
            "initial_state": int(number[initial_state]),
            "normalize": normalize,
            "state_names": named,
            "action_names": names,
        }

    def _goal_mask(self, goal: Name | Sequence[Name] | None) -> Bools:
        """Return which states are goals."""
        wanted = [goal] if isinstance(goal, str | int) else list(goal or ())
        if not wanted and "goal" not in self.labels:
            raise StateError(f"no label is called goal; name the goal with goal=..., one of {self._known_labels()}")
        mask = np.zeros(self.states, dtype=np.bool_)
        for name in wanted or ["goal"]:
            if name in self.labels:
                mask |= self.labels[str(name)]()
            elif (state := self._find_state(name)) is not None:
                mask[state] = True
            else:
                raise UnknownNameError("label or state", str(name), self.labels)
        if not mask.any():
            raise StateError(f"no state is labelled {' or '.join(map(str, wanted or ['goal']))}; choose another goal")
        return mask

    def _known_labels(self) -> str:
        return ", ".join(sorted(self.labels)[:20]) or "its states (it has no labels)"

    def _find_state(self, name: Name) -> int | None:
        """Return the state of a name or a number; None if there is none."""
        if self.state_names is not None and name in self.state_names:
            return self.state_names.index(str(name))
        try:
            number = int(name)
        except ValueError:
            return None
        return number if 0 <= number < self.states else None

    def _start_state(self, start: Name | None, is_goal: Bools) -> int:
        if start is None:
            if len(self.initial) != 1:
                raise StateError(f"{len(self.initial)} states are initial; choose one with start=..., a state's number")
            state = int(self.initial[0])
        else:
            named = self._find_state(start)
            if named is None:
                names = self.state_names[:1000] if self.state_names is not None else [f"0 to {self.states - 1}"]
                raise UnknownNameError("state", str(start), names)
            state = named
        if is_goal[state]:
            raise StateError(f"the start, state {state}, is a goal; choose another with start=...")
        return state

    def _choice(self, owner: Int64s, choice: int) -> str:
        return f"choice {choice - self.state_choices[owner[choice]]} of state {owner[choice]}"

    def _checked_probabilities(self, owner: Int64s, choice: Int64s, kept: Bools, normalize: bool) -> Floats:
        """Check the branches of the choices that are kept."""
        empty = kept & (np.diff(self.choice_branches) == 0)
        if empty.any():
            raise ProbabilityError(f"{self._choice(owner, int(np.argmax(empty)))} has no branches; give it a target")
        weights = self.probabilities
        bad = kept[choice] & ~((weights >= 0.0) & (weights <= 1.0 + ROW_SUM_TOLERANCE))
        if bad.any():
            branch = int(np.argmax(bad))
            raise ProbabilityError(
                f"{self._choice(owner, int(choice[branch]))} goes to state {self.targets[branch]} with probability"
                f" {weights[branch]:g}; probabilities lie in [0, 1]"
            )
        sums = np.bincount(choice, weights=np.where(kept[choice], weights, 0.0), minlength=len(owner))
        off = kept & ((sums == 0.0) | ((np.abs(sums - 1.0) > ROW_SUM_TOLERANCE) & (not normalize)))
        if off.any():
            worst = int(np.argmax(off))
            remedy = (
                "pass normalize=True to rescale (--normalize)" if sums[worst] else "give it branches that can be taken"
            )
            raise ProbabilityError(
                f"the branches of {self._choice(owner, worst)} sum to {sums[worst]:.12g}; probabilities must sum to 1"
                f" within {ROW_SUM_TOLERANCE:g}: {remedy} ({np.count_nonzero(off)} such choices)"
            )
        return weights / np.where(kept, sums, 1.0)[choice] if normalize else weights

    def _choice_costs(
        self, cost: str | float | None, owner: Int64s, choice: Int64s, probabilities: Floats, kept: Bools
    ) -> Floats:
        """Return the cost of every choice; the rewards of goals are not looked at."""
        if isinstance(cost, int | float):
            parts = [np.full(len(owner), float(cost))]
        else:
            states, choices, branches = self._reward(cost)
            parts = [] if states is None else [states[owner]]
            parts += [] if choices is None else [choices]
            if branches is not None:
                bad = ~((branches >= 0.0) & (branches < np.inf))
                mean = np.bincount(choice, weights=probabilities * np.where(bad, 0.0, branches), minlength=len(owner))
                mean[choice[bad]] = branches[bad]
                parts.append(mean)
        total = np.zeros(len(owner))
        for part in parts:
            with np.errstate(over="ignore", invalid="ignore"):
                total += part
            for values in (part, total):
                bad = kept & ~((values >= 0.0) & (values < np.inf))
                if bad.any():
                    worst = int(np.argmax(bad))
                    raise CostError(
                        f"{self._choice(owner, worst)} has the reward {values[worst]:g}; costs must be finite and not"
                        " negative: choose another reward structure, or the cost of every step, with cost=..."
                    )
        return total

    def _reward(self, cost: str | None) -> Reward:
        if cost is None:
            if len(self.rewards) != 1:
                names = ", ".join(sorted(self.rewards)[:20])
                fault = f"there are {len(self.rewards)} reward structures, {names}" if names else "there are no rewards"
                raise CostError(f"{fault}; choose with cost=... (--cost) a reward structure or the cost of every step")
            return next(iter(self.rewards.values()))()
        if cost not in self.rewards:
            raise UnknownNameError("reward structure", cost, self.rewards)
        return self.rewards[cost]()

    def _action_numbers(self, owner: Int64s, kept: Bools) -> tuple[Int64s, int, list[str] | None]:
        """Return the action of every choice, how many there are, and their names: by label, or else by position."""
        position = np.arange(len(owner)) - self.state_choices[owner]
        most = int(position[kept].max(initial=0)) + 1
        if self.actions is None:
            return position, most, None
        used, codes = np.unique(self.actions[kept], return_inverse=True)
        pairs = np.sort(owner[kept] * len(used) + codes)
        if (pairs[1:] == pairs[:-1]).any() or len(used) > max(FEW_LABELS, 4 * most):
            return position, most, None
        names = [self.action_names[label] for label in used.tolist()]
        numbers = np.zeros(len(owner), dtype=np.int64)
        numbers[kept] = codes
        if names == [str(action) for action in range(len(used))]:
            return numbers, len(used), None
        return numbers, len(used), names


def plain_names(names: Sequence[str]) -> list[str]:
    """Return names that are unique, without spaces and line breaks, for formats in which these have a meaning."""
    return unique_names(
        ["_".join("".join(c if c.isprintable() else " " for c in name).split()) or "_" for name in names]
    )


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names of which each is there once: repeated ones get their number."""
    taken, seen = set(names), set[str]()
    unique = []
    for index, name in enumerate(names):
        other, number = name, index
        while other in (seen if other == name else taken):
            other, number = f"{name}_{number}", number + len(names)
        unique.append(other)
        seen.add(other)
        taken.add(other)
    return unique
