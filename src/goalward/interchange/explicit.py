"""Converts the explicit models of model checkers to stochastic shortest path problems.

Definition
    States 0..N-1 have choices, a choice has branches, and a branch has a target state and a probability. Labels are
    sets of states. A reward structure r gives numbers to states, choices and branches. The
    file formats UMB (`umb.py`) and DRN (`drn.py`) store such models.

Meaning
    The states of the chosen labels are merged into the goal, which has no choices. The other states keep
    their order. The cost of choice c in state s is r(s) + r(c) + Σ_b p(b) r(b), summed over the branches b of c. If
    several branches of a choice lead to the same state, the probabilities are added up.

    Choices may have labels. Each label becomes an action if all choices of a state have different labels and there
    are few labels (at most four times the largest number of choices). Otherwise, choice i becomes action i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError, UnknownNameError
from goalward.jit import kernel, lightly
from goalward.ssp.checks import ModelArrays
from goalward.ssp.model import SSP, Name
from goalward.ssp.transitions import check_pairs

FEW_LABELS = 16
SHORT = 64  # rows with at most this many entries are sorted while they are written
NO_NUMBERS, NO_CODES = np.empty(0), np.empty(0, dtype=np.int64)


class Choices(NamedTuple):
    """A model in the form that files need. State S is the goal, which leads to itself at no cost."""

    state_choices: Int64s
    choice_branches: Int64s
    targets: Int64s
    probabilities: Floats
    actions: Int64s
    costs: Floats


def choices_of(ssp: SSP) -> Choices:
    """Return the choices and branches of a model.

    Files cannot have a state without actions. So a state without actions gets one choice, a self-loop with cost 1.
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
    """A reward structure: the rewards of states, choices and branches. None stands for zeros."""

    states: Floats | None = None
    choices: Floats | None = None
    branches: Floats | None = None


@dataclass(frozen=True, eq=False)
class Explicit:
    """A model of states, choices and branches.

    Attributes
    ----------
    state_choices, choice_branches
        Pointers of compressed rows: state s has the choices ``state_choices[s]`` to ``state_choices[s + 1] - 1``.
    targets, probabilities
        The target state and the probability of each branch.
    initial
        The initial states.
    labels, rewards
        Functions that read a label or a reward structure, by name.
    actions, action_names
        The number of each choice's label, and the text of each number. `actions` is None if choices have no labels.
    state_names
        The names of states, or None.
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
        """The number of states."""
        return len(self.state_choices) - 1

    def rows(
        self,
        goal: Name | Sequence[Name] | None = None,
        start: Name | None = None,
        cost: str | float | None = None,
        normalize: bool = False,
    ) -> dict[str, Any]:
        """Return the arguments of `SSP.from_rows`.

        Parameters
        ----------
        goal
            One or more labels or states. The default is the label ``goal``.
        start
            The initial state. The default is the only initial state of the model.
        cost
            The name of a reward structure, or the cost of every step. The default is the only reward structure.
        normalize
            Rescale the probabilities of choices that do not sum to one.
        """
        is_goal = self._goal_mask(goal)
        kept = np.flatnonzero(~is_goal)
        S = len(kept)
        if not S:
            raise ShapeError("every state is a goal; choose another goal")
        initial_state = self._start_state(start, is_goal)
        number = np.where(is_goal, S, np.cumsum(~is_goal) - 1).astype(np.int32)
        codes, A, action_names = self._action_numbers(is_goal)
        check_pairs(S, A)
        price = float(cost) if isinstance(cost, int | float) else 0.0
        reward = Reward() if isinstance(cost, int | float) else self._reward(cost)

        def row_name(row: int) -> str:
            state, action = int(kept[row // A]), row % A
            own = slice(*self.state_choices[state : state + 2])
            position = action if codes is None else int(np.argmax(codes[own] == action))
            return f"choice {position} of state {state}"

        rows = ModelArrays(
            np.zeros(S * A + 1, dtype=np.int64),
            np.empty(len(self.targets), dtype=np.int32),
            np.empty(len(self.targets)),
            np.full((S, A), price),
        )
        inputs: list[Any] = [self.state_choices, self.choice_branches, self.targets, self.probabilities, number]
        inputs += [NO_CODES if codes is None else codes, *(NO_NUMBERS if part is None else part for part in reward)]
        for array in inputs:
            array.flags.writeable = False  # one type for the kernel
        fill: Any = lightly(fill_rows, len(self.targets))
        empty, end = fill(*inputs, normalize, rows)
        if empty >= 0:
            raise ProbabilityError(f"{row_name(empty)} has no branches; add a branch with a target state")
        return {
            **rows._replace(successors=rows.successors[:end], probabilities=rows.probabilities[:end])._asdict(),
            "initial_state": int(number[initial_state]),
            "normalize": normalize,
            "state_names": self.state_names and [self.state_names[state] for state in kept.tolist()],
            "action_names": action_names,
            "row_name": row_name,
        }

    def _goal_mask(self, goal: Name | Sequence[Name] | None) -> Bools:
        """Return for each state whether the state is a goal."""
        wanted = [goal] if isinstance(goal, str | int) else list(goal or ["goal"])
        if not goal and "goal" not in self.labels:
            labels = ", ".join(sorted(self.labels)[:20]) or "the states (there are no labels)"
            raise StateError(f"no label is called goal; pass goal=... with one of {labels}")
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
            raise StateError(
                f"the model has {len(self.initial)} initial states; pass the number of one state as start=..."
            )
        if is_goal[state]:
            raise StateError(f"the start (state {state}) is a goal; choose another start with start=...")
        return state

    def _reward(self, cost: str | None) -> Reward:
        if cost is None:
            if len(self.rewards) != 1:
                names = ", ".join(sorted(self.rewards)[:20])
                fault = f"there are {len(self.rewards)} reward structures, {names}" if names else "there are no rewards"
                raise CostError(f"{fault}; pass a reward structure or the cost of every step as cost=... (--cost)")
            return next(iter(self.rewards.values()))()
        if cost not in self.rewards:
            raise UnknownNameError("reward structure", cost, self.rewards)
        return self.rewards[cost]()

    def _action_numbers(self, is_goal: Bools) -> tuple[Int64s | None, int, tuple[str, ...] | None]:
        """Return the action of each choice, the number of actions, and their names.

        If the actions are None, the i-th choice of a state is action i.
        """
        lengths = np.diff(self.state_choices)
        most = max(int(lengths[~is_goal].max()), 1)
        if self.actions is None:
            return None, most, None
        kept = np.repeat(~is_goal, lengths)
        labels, all_names = self.actions, list(self.action_names)
        if "" in all_names:  # if a state has several choices without labels, all but the first get new labels
            blank = (labels == all_names.index("")) & kept
            count = np.concatenate([[0], np.cumsum(blank)])
            rank = blank * (count[1:] - np.repeat(count[self.state_choices[:-1]], lengths) - 1)
            labels = np.where(rank > 0, len(all_names) + rank - 1, labels)
            all_names += unique_names([*all_names, *["unlabelled"] * int(rank.max(initial=0))])[len(all_names) :]
        used = np.flatnonzero(np.bincount(labels[kept], minlength=1))
        if len(used) > max(FEW_LABELS, 4 * most) or not len(used):
            return None, most, None
        check_pairs(self.states, len(used))
        table = np.zeros(len(all_names), dtype=np.int64)
        table[used] = np.arange(len(used))
        codes = table[labels]
        taken = np.zeros(self.states * len(used), dtype=np.bool_)
        taken[(np.repeat(np.arange(self.states), lengths) * len(used) + codes)[kept]] = True
        if np.count_nonzero(taken) < np.count_nonzero(kept):  # a state has two choices with the same label
            return None, most, None
        names = tuple(all_names[label] for label in used.tolist())
        return codes, len(used), None if names == tuple(map(str, range(len(used)))) else names


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
    normalize: bool,
    rows: ModelArrays,
) -> tuple[int, int]:
    """Write the `rows` of a model. Return the row of the first choice without branches (or -1) and the entry count.

    `number[s]` is the new number of state s. All goals get the number S (the number of other states). Branches to the
    same state are added up. Short rows are sorted. Invalid numbers stay in the rows, because a later check reports them
    with the name of the row. The kernel adds rewards to the costs.
    """
    indptr, successors, weights, costs = rows
    states, actions = costs.shape
    choice_of = np.full(actions, -1, dtype=np.int64)
    end = 0
    for old in range(number.size):
        state = number[old]
        if state == states:
            continue
        for choice in range(state_choices[old], state_choices[old + 1]):
            choice_of[choice - state_choices[old] if codes.size == 0 else codes[choice]] = choice
        for action in range(actions):
            row = state * actions + action
            choice = choice_of[action]
            if choice >= 0:
                choice_of[action] = -1
                begin = end
                total = 0.0
                mean = 0.0
                for branch in range(choice_branches[choice], choice_branches[choice + 1]):
                    probability = probabilities[branch]
                    target = number[targets[branch]]
                    total += probability
                    if branch_rewards.size:
                        paid = branch_rewards[branch]
                        mean = add_cost(mean, probability * paid if 0.0 <= paid < np.inf else paid)
                    place = end
                    while place > begin and successors[place - 1] > target and end - begin < SHORT:
                        place -= 1
                    same = place > begin and successors[place - 1] == target
                    if same and 0.0 <= probability <= 1.0 and weights[place - 1] >= 0.0:
                        weights[place - 1] += probability
                        continue
                    for later in range(end, place, -1):
                        successors[later] = successors[later - 1]
                        weights[later] = weights[later - 1]
                    successors[place] = target
                    weights[place] = probability
                    end += 1
                if end == begin:
                    return row, end
                cost = costs[state, action]
                if state_rewards.size:
                    cost = add_cost(cost, state_rewards[old])
                if choice_rewards.size:
                    cost = add_cost(cost, choice_rewards[choice])
                costs[state, action] = add_cost(cost, mean / total if normalize else mean)
            indptr[row + 1] = end
    return -1, end


@kernel
def add_cost(total: float, term: float) -> float:
    """Return the sum of two costs, or the invalid cost if there is one, for a later check to report."""
    if not 0.0 <= total < np.inf:
        return total
    return total + term if 0.0 <= term < np.inf else term


def find_state(
    names: Sequence[str] | None, states: int, name: Name, kind: str = "state", known: Iterable[str] | None = None
) -> int:
    """Return the number of the state `name` (a name or a number). An error message lists the names `known`."""
    if names is not None and name in names:
        return list(names).index(str(name))
    try:
        number = int(name)
    except ValueError:
        number = -1
    if not 0 <= number < states:
        raise UnknownNameError(kind, str(name), known or (names or ())[:1000] or [f"0 to {states - 1}"])
    return number


def unique_names(names: Sequence[str]) -> list[str]:
    """Return unique names. A repeated name gets its index as a suffix."""
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
