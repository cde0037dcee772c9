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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError, UnknownNameError
from goalward.jit import kernel, lightly
from goalward.ssp.checks import LEAST_PROBABILITY, ROW_SUM_TOLERANCE, ModelArrays, check_costs
from goalward.ssp.model import SSP, Name
from goalward.ssp.transitions import check_pairs

FEW_LABELS = 16
MOST_MOVES = 4096
NO_NUMBERS, NO_CODES = np.empty(0), np.empty(0, dtype=np.int64)


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
        """Return what `SSP.from_rows` takes; with ``canonical``, the fields of a model that need no further check.

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
        S = int(np.count_nonzero(~is_goal))
        if not S:
            raise ShapeError("every state is a goal; choose another goal")
        initial_state = self._start_state(start, is_goal)
        number = np.where(is_goal, S, np.cumsum(~is_goal) - 1).astype(np.int32)
        lengths = np.diff(self.state_choices)
        codes, A, action_names = self._action_numbers(lengths, is_goal)
        check_pairs(S, A)
        names = None
        if self.state_names is not None:
            names = tuple(self.state_names[state] for state in np.flatnonzero(~is_goal).tolist())
        labels = {"initial_state": int(number[initial_state]), "state_names": names, "action_names": action_names}
        arrays = None if normalize else self._canonical_rows(number, S, A, codes, cost)
        if arrays is not None:
            return {**arrays._asdict(), **labels, "canonical": True}
        owner = np.repeat(np.arange(self.states), lengths)
        choices = np.flatnonzero(~is_goal[owner])
        owner = owner[choices]
        position = choices - self.state_choices[owner]
        rows = number[owner].astype(np.int64) * A + (position if codes is None else codes[choices])
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows)
            rows, choices, owner = rows[order], choices[order], owner[order]

        def choice_name(index: int) -> str:
            return f"choice {choices[index] - self.state_choices[owner[index]]} of state {owner[index]}"

        shape = (len(self.choice_branches) - 1, S + 1)
        kernel = sparse.csr_array((self.probabilities, number[self.targets], self.choice_branches), shape=shape)
        kernel = kernel[choices]
        branches = np.diff(kernel.indptr)
        if not branches.all():
            raise ProbabilityError(f"{choice_name(int(np.argmin(branches)))} has no branches; give it a target")
        indptr = np.zeros(S * A + 1, dtype=np.int64)
        indptr[rows + 1] = branches
        costs = np.zeros(S * A)
        costs[rows] = self._choice_costs(cost, owner, choices, normalize, choice_name)
        return {
            "indptr": np.cumsum(indptr),
            "successors": kernel.indices,
            "probabilities": kernel.data,
            "costs": costs.reshape(S, A),
            "normalize": normalize,
            **labels,
            "row_name": lambda row: choice_name(int(np.searchsorted(rows, row))),
        }

    def _goal_mask(self, goal: Name | Sequence[Name] | None) -> Bools:
        """Return which states are goals."""
        wanted = [goal] if isinstance(goal, str | int) else list(goal or ["goal"])
        if not goal and "goal" not in self.labels:
            labels = ", ".join(sorted(self.labels)[:20]) or "its states (it has no labels)"
            raise StateError(f"no label is called goal; name the goal with goal=..., one of {labels}")
        mask = np.zeros(self.states, dtype=np.bool_)
        for name in wanted:
            if name in self.labels:
                mask |= self.labels[str(name)]()
            else:
                mask[find_state(self.state_names, self.states, name, "label or state", self.labels)] = True
        if not mask.any():
            raise StateError(f"no state is labelled {' or '.join(map(str, wanted))}; choose another goal")
        return mask

    def _start_state(self, start: Name | None, is_goal: Bools) -> int:
        if start is not None:
            state = find_state(self.state_names, self.states, start)
        elif len(self.initial) == 1:
            state = int(self.initial[0])
        else:
            raise StateError(f"{len(self.initial)} states are initial; choose one with start=..., a state's number")
        if is_goal[state]:
            raise StateError(f"the start, state {state}, is a goal; choose another with start=...")
        return state

    def _choice_costs(
        self,
        cost: str | float | None,
        owner: Int64s,
        choices: Int64s,
        normalize: bool,
        choice_name: Callable[[int], str],
    ) -> Floats:
        """Return the costs of some choices, whose states are `owner`."""
        if isinstance(cost, int | float):
            terms = [np.full(len(owner), float(cost))]
        else:
            states, every_choice, branches = self._reward(cost)
            terms = [] if states is None else [states[owner]]
            terms += [] if every_choice is None else [every_choice[choices]]
            terms += [] if branches is None else [self._mean_reward(branches, normalize)[choices]]
        total = np.zeros(len(owner))
        for term in terms:
            with np.errstate(over="ignore", invalid="ignore"):
                total += term
            for values in (term, total):
                check_costs(values, lambda index: f"with the chosen rewards (cost=...), {choice_name(index)}")
        return total

    def _mean_reward(self, branches: Floats, normalize: bool) -> Floats:
        """Return the mean reward of the branches of each choice; a reward that is not a cost comes out as it is."""
        choice = np.repeat(np.arange(len(self.choice_branches) - 1), np.diff(self.choice_branches))
        bad = ~((branches >= 0.0) & (branches < np.inf))
        possible = (self.probabilities >= 0.0) & (self.probabilities < np.inf)  # others are refused with the rows
        weighted = np.where(possible, self.probabilities, 0.0) * np.where(bad, 0.0, branches)
        means: Floats = np.bincount(choice, weights=weighted, minlength=len(self.choice_branches) - 1).astype(
            np.float64
        )
        if normalize:
            with np.errstate(invalid="ignore", divide="ignore"):  # a sum of 0 is refused, too
                means /= np.bincount(choice, weights=self.probabilities, minlength=len(means))
        means[choice[bad]] = branches[bad]
        return means

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

    def _action_numbers(self, lengths: Int64s, is_goal: Bools) -> tuple[Int64s | None, int, tuple[str, ...] | None]:
        """Return the action of each choice by its label, the number of actions, and their names.

        Without a number for each choice, the i-th choice of a state is action i.
        """
        most = max(int(lengths[~is_goal].max()), 1)
        if self.actions is None:
            return None, most, None
        kept = np.repeat(~is_goal, lengths)
        used = np.flatnonzero(np.bincount(self.actions[kept], minlength=1))
        if len(used) > max(FEW_LABELS, 4 * most) or not len(used):
            return None, most, None
        check_pairs(self.states, len(used))
        table = np.zeros(len(self.action_names), dtype=np.int64)
        table[used] = np.arange(len(used))
        codes = table[self.actions]
        taken = np.zeros(self.states * len(used), dtype=np.bool_)
        taken[(np.repeat(np.arange(self.states), lengths) * len(used) + codes)[kept]] = True
        if np.count_nonzero(taken) < np.count_nonzero(kept):  # some state has two choices of one label
            return None, most, None
        names = tuple(self.action_names[label] for label in used.tolist())
        return codes, len(used), None if names == tuple(map(str, range(len(used)))) else names

    def _canonical_rows(
        self, number: Int32s, S: int, A: int, codes: Int64s | None, cost: str | float | None
    ) -> ModelArrays | None:
        """Return the arrays of a model in canonical form, in one pass; None if anything about them is unusual."""
        price = float(cost) if isinstance(cost, int | float) else 0.0
        reward = Reward() if isinstance(cost, int | float) else self._reward(cost)
        inputs = (self.state_choices, self.choice_branches, self.targets, self.probabilities, number)
        parts = (NO_NUMBERS if part is None else part for part in reward)
        rows = ModelArrays(
            np.empty(S * A + 1, dtype=np.int64),
            np.empty(len(self.targets), dtype=np.int32),
            np.empty(len(self.targets)),
            np.empty((S, A)),
        )
        arguments: list[NDArray[Any]] = [*inputs, NO_CODES if codes is None else codes, *parts]
        for array in arguments:
            array.flags.writeable = False  # one type for the kernel
        fill: Any = lightly(fill_rows, len(self.targets))
        end = fill(*arguments, price, *rows)
        if end < 0:
            return None
        return rows._replace(successors=rows.successors[:end], probabilities=rows.probabilities[:end])


@kernel
def fill_rows(
    state_choices: Int64s,
    choice_branches: Int64s,
    targets: Int64s,
    probabilities: Floats,
    number: Int32s,
    codes: Int64s,
    state_rewards: Floats,
    choice_rewards: Floats,
    branch_rewards: Floats,
    price: float,
    indptr: Int64s,
    successors: Int32s,
    weights: Floats,
    costs: Floats,
) -> int:
    """Write the rows of a model in canonical form; return the number of entries, or -1 if any number is refused.

    `number` is the new number of each state, that of goals being the number of states left. Rows are sorted by
    insertion; if that takes long, -1 is returned too.
    """
    states, actions = costs.shape
    choice_of = np.full(actions, -1, dtype=np.int64)
    end = 0
    moves = 0
    indptr[0] = 0
    for old in range(number.size):
        state = number[old]
        if state == states:
            continue
        for choice in range(state_choices[old], state_choices[old + 1]):
            choice_of[choice - state_choices[old] if codes.size == 0 else codes[choice]] = choice
        for action in range(actions):
            choice = choice_of[action]
            row = state * actions + action
            indptr[row + 1] = end
            costs[state, action] = np.inf
            if choice < 0:
                continue
            choice_of[action] = -1
            begin = end
            total = 0.0
            cost = price
            if state_rewards.size:
                cost += state_rewards[old]
            if choice_rewards.size:
                cost += choice_rewards[choice]
            for branch in range(choice_branches[choice], choice_branches[choice + 1]):
                probability = probabilities[branch]
                if not 0.0 <= probability <= 1.0 + ROW_SUM_TOLERANCE:
                    return -1
                if branch_rewards.size:
                    if not 0.0 <= branch_rewards[branch] < np.inf:
                        return -1
                    cost += probability * branch_rewards[branch]
                if probability == 0.0:
                    continue
                target = number[targets[branch]]
                place = end
                while place > begin and successors[place - 1] > target:
                    place -= 1
                if place > begin and successors[place - 1] == target:
                    weights[place - 1] += probability
                else:
                    for later in range(end, place, -1):
                        successors[later] = successors[later - 1]
                        weights[later] = weights[later - 1]
                    successors[place] = target
                    weights[place] = probability
                    end += 1
                moves += end - place
                if moves > 16 * (end + MOST_MOVES):
                    return -1
                total += probability
            if end == begin or abs(total - 1.0) > ROW_SUM_TOLERANCE:
                return -1
            for entry in range(begin, end):
                if weights[entry] < LEAST_PROBABILITY:
                    return -1
            if not 0.0 <= cost < np.inf:
                return -1
            if state_rewards.size and not state_rewards[old] >= 0.0:
                return -1
            if choice_rewards.size and not choice_rewards[choice] >= 0.0:
                return -1
            costs[state, action] = cost + 0.0  # a cost of -0.0 becomes 0.0
            indptr[row + 1] = end
    return end


def find_state(
    names: Sequence[str] | None, states: int, name: Name, kind: str = "state", known: Iterable[str] | None = None
) -> int:
    """Return the number of a state, given by its name or its number; `known` are names that an error lists."""
    if names is not None and name in names:
        return list(names).index(str(name))
    try:
        number = int(name)
    except ValueError:
        number = -1
    if not 0 <= number < states:
        raise UnknownNameError(kind, str(name), known or (names or ())[:1000] or [f"0 to {states - 1}"])
    return number


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
