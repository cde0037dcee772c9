"""The stochastic shortest path problem (SSP).

Definition
    A model has S non-goal states 0..S-1, a goal g = S, A actions, costs c(s, a) >= 0 and probabilities p(s' | s, a). An
    episode starts in `initial_state`. The agent pays c(s, a) for every action until it reaches the goal.

Representation
    The probabilities are stored in compressed rows. Row r = s * A + a holds the possible successors of (s, a) in
    increasing order: `successors[indptr[r]:indptr[r + 1]]`. Their probabilities have the same indices in
    `probabilities`. If an action is not available in a state, the row is empty and the cost is infinity.

    A row is accepted unchanged if its entries sum to 1 within 1e-9. The row stands for the distribution proportional to
    its entries, so every statement about the model is exact.

Equality, `hash` and `digest` depend on the arrays, the start and `give_up`, but not on names and layout.

Giving up
    The additional action *give up* is available in every state except the start. This action costs J > 0 and leads to
    the start with probability one. The episode continues and still ends only at the goal. UC-SSP assumes a reset of
    known cost if the goal cannot be reached from every state (Tarbouriech et al., ICML 2020).

    Let V_J(s) be the optimal value with this action. V_J(s) is at most J + V_J(start). V_J is finite everywhere if a
    path leads from the start to the goal without giving up. Consider a policy that reaches the goal with probability p
    and otherwise gives up in a dead end. Let C be its expected cost until the goal or until giving up. Then its
    expected total cost from the start is (C + (1 - p) J) / p. For large J, the best policy therefore maximises p. For
    small J, the best policy gives up early. Regret is measured against V_J(start).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Bools, Floats, Int32s, Int64s, UInt32s
from goalward.errors import FileError, ModelError, SettingError, ShapeError, StateError
from goalward.progress import phase
from goalward.settings import Positive, check
from goalward.ssp import checks
from goalward.ssp.checks import ModelArrays, StatesAndActions
from goalward.ssp.layout import GridLayout
from goalward.ssp.transitions import GOAL, Transition, dense_rows, reachable_transitions, read_transitions
from goalward.table import ShownAsFacts

Name = str | int
"""The name or number of a state, or a label, in a file."""
GIVE_UP = "give up"
HASHED_AT_ONCE = 1 << 22  # numbers


class SSP(StatesAndActions, ShownAsFacts):
    """An immutable stochastic shortest path problem.

    Make a model with `from_dense`, `from_rows` or `from_transitions`, or read a model with `load`.

    Attributes
    ----------
    indptr, successors, probabilities
        Read-only arrays: the probabilities in compressed rows, where the row of (s, a) is ``s * A + a``.
    costs
        A read-only array ``costs[s, a]``, with infinity where the action is not available.
    initial_state
        The state in which every episode starts.
    state_names, action_names
        The names of the states and of the actions, or None.
    layout
        The positions of the states on a grid, or None.
    give_up
        The number of the action that gives up (see `with_give_up`), or None.

    Examples
    --------
    >>> import goalward as gw
    >>> ssp = gw.SSP.from_transitions([("home", "walk", "work", 1.0, 3.0),
    ...                                ("home", "bus", "work", 0.5, 1.0),
    ...                                ("home", "bus", "home", 0.5, 1.0)], goals=["work"])
    >>> ssp
    SSP(states=1, actions=2, transitions=3, costs=1..3, initial_state=0 'home')
    """

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    costs: Floats
    initial_state: int
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    layout: GridLayout | None
    give_up: int | None

    def __init__(self) -> None:
        raise TypeError("make an SSP with SSP.from_dense, SSP.from_rows, SSP.from_transitions or SSP.load")

    @classmethod
    def _trusted(cls, *values: Any, **named: Any) -> SSP:
        """Return a model with these fields, without checks, and make its arrays read-only; labels are optional."""
        fields: dict[str, Any] = dict.fromkeys(FIELDS) | dict(zip(FIELDS, values, strict=False)) | named
        for name in ModelArrays._fields:
            fields[name].flags.writeable = False
        ssp = object.__new__(cls)
        ssp.__dict__.update(fields)
        return ssp

    @classmethod
    def from_rows(
        cls,
        indptr: ArrayLike,
        successors: ArrayLike,
        probabilities: ArrayLike,
        costs: ArrayLike,
        initial_state: int = 0,
        *,
        normalize: bool = False,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        layout: GridLayout | None = None,
        give_up: int | None = None,
        row_name: Callable[[int], str] | None = None,
    ) -> SSP:
        """Make a model from compressed rows. The row of (s, a) is ``s * A + a``, and S is the goal.

        Row r consists of ``successors[indptr[r]:indptr[r + 1]]`` and the `probabilities` with the same indices. For
        `initial_state`, `state_names`, `action_names` and `layout`, see `from_dense`.

        The probabilities of repeated successors in a row are added up. Zeros are dropped. `costs` must have shape (S,
        A). `normalize` rescales rows that do not sum to one. `give_up` is None, or the last action if agents know that
        this action leads to the start (see `with_give_up`). The function `row_name` returns the name of a row for error
        messages; if `row_name` is passed, the arrays are not copied.
        """
        rows = checks.canonical_rows(indptr, successors, probabilities, costs, normalize=normalize, row_name=row_name)
        S, A = rows.costs.shape
        start = checks.checked_state(initial_state, S)
        if layout is not None and len(layout.cells) != S:
            raise ShapeError(f"the layout has {len(layout.cells)} cells for {S} states; pass a cell for each state")
        names = (
            checks.checked_names("state_names", state_names, S),
            checks.checked_names("action_names", action_names, A),
        )
        return cls._trusted(*rows, start, *names, layout, checks.checked_give_up(rows, start, give_up))

    @classmethod
    def from_dense(
        cls,
        P: ArrayLike,
        costs: ArrayLike,
        initial_state: int = 0,
        *,
        normalize: bool = False,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        layout: GridLayout | None = None,
    ) -> SSP:
        """Make a model from ``costs[S, A]`` and ``P[S, A, S + 1]``, where the last column of `P` is the goal.

        If an action is not available, all entries of its row must be zero. `normalize` rescales rows that do not sum to
        one. `initial_state` is a number. `state_names` and `action_names` are for people, and `layout` is for figures.
        """
        return cls.from_rows(
            *dense_rows(P), costs, initial_state, normalize=normalize, state_names=state_names,
            action_names=action_names, layout=layout,
        )  # fmt: skip

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[Transition],
        *,
        goals: Iterable[Hashable],
        initial_state: Hashable | None = None,
        normalize: bool = False,
    ) -> SSP:
        """Make a model from `transitions`: tuples (state, action, next state, probability, cost).

        The names of states and actions are arbitrary hashable objects. The names are numbered in order of appearance.
        The probabilities of repeated transitions are added up. The cost of a state-action pair is the mean cost of its
        tuples, weighted by their probabilities. All `goals` become one goal. By default, `initial_state` is the state
        of the first tuple. `normalize` rescales rows that do not sum to one.
        """
        return cls.from_rows(**read_transitions(transitions, goals, initial_state, normalize))

    @classmethod
    def from_successors(
        cls,
        start: Hashable,
        actions: Iterable[Hashable] | Callable[[Any], Iterable[Hashable]],
        successors: Callable[[Any, Any], Iterable[tuple[Hashable, float, float]]],
        goal: object,
        *,
        limit: int = 1_000_000,
        normalize: bool = False,
    ) -> SSP:
        """Make a model of all states that can be reached from `start`; states and actions are hashable objects.

        `actions` is a list of the actions, or a function that returns the actions of a state. ``successors(state,
        action)`` returns triples (next state, probability, cost). `goal` is a predicate, a list or set of goals, or one
        goal. More than `limit` states raise ShapeError. `normalize` rescales rows that do not sum to one.

        Examples
        --------
        >>> import goalward as gw
        >>> walk = lambda x, step: [(x + step, 0.9, 1.0), (x, 0.1, 1.0)]
        >>> gw.SSP.from_successors(3, lambda x: [-1, 1] if x < 9 else [-1], walk, goal=0)
        SSP(states=9, actions=2, transitions=34, unavailable=1, costs=1, initial_state=0 '3')
        """
        transitions = reachable_transitions(start, actions, successors, goal, limit)
        return cls.from_transitions(transitions, goals=[GOAL], initial_state=start, normalize=normalize)

    @classmethod
    def from_table(cls, table: Any, **options: Any) -> SSP:
        """Make a model from a mapping of columns, a pyarrow table or a data frame, with the options of `load`.

        `table` has the columns ``state``, ``action``, ``next_state``, ``probability`` (or ``count``) and ``cost``.
        """
        from goalward.interchange.tables import read

        return cls.from_rows(**read(table, **options))

    def to_table(self) -> Any:
        """Return the transitions as a pyarrow table, which starts with the transitions of the initial state."""
        from goalward.interchange.tables import to_table

        return to_table(self)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        goal: Name | Sequence[Name] | None = None,
        start: Name | None = None,
        cost: str | float | None = None,
        normalize: bool = False,
        prior: float | None = None,
    ) -> SSP:
        """Read a model from a file and check its content.

        The ending of `path` names the format: ``.npz`` or ``.json`` (goalward's own), ``.csv`` or ``.parquet`` (tables
        of transitions), ``.umb`` or ``.drn`` (model checkers).

        `start` is the name or number of the initial state (by default, the initial state in the file). The other
        options are only for files of other tools. `goal` is the name or label of the goal, or a list of names (default
        ``goal``). `normalize` rescales rows that do not sum to one. For files of model checkers, `cost` is the name of
        the reward structure to use as cost, or a number (the cost of every step). For tables, `prior` is added to every
        count. Repeated transitions in tables are added up.
        """
        from goalward import interchange

        options = {"goal": goal, "start": start, "cost": cost, "normalize": normalize}
        fields = interchange.read(Path(path), **options, prior=prior)
        try:
            return cls.from_rows(**fields)
        except (ModelError, TypeError) as error:
            raise FileError(f"{path}: not a model: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the model to a file.

        The ending of `path` names the format: ``.npz`` (any size), ``.json`` (small, for people to read), ``.csv`` or
        ``.parquet`` (tables of transitions), ``.umb`` (PRISM, Storm, Modest) or ``.drn`` (Storm).
        """
        from goalward import interchange

        interchange.write(Path(path), self)

    @cached_property
    def available(self) -> Bools:
        """``available[s, a]`` is True if the action can be played in the state."""
        mask: Bools = (self.indptr[1:] > self.indptr[:-1]).reshape(self.costs.shape)
        mask.flags.writeable = False
        return mask

    @cached_property
    def state_starts(self) -> UInt32s:
        """The index of the first entry of each state in `successors`, followed by the number of all entries."""
        return self.indptr[:: self.actions].astype(np.uint32)

    @property
    def arrays(self) -> ModelArrays:
        """The arrays of the model in the form that kernels take."""
        return ModelArrays(self.indptr, self.successors, self.probabilities, self.costs)

    def row(self, state: int, action: int) -> tuple[Int32s, Floats]:
        """Return two arrays: the successors of `action` in `state`, and their probabilities."""
        row = checks.checked_state(state, self.states, "state") * self.actions
        row += checks.checked_state(action, self.actions, "action")
        entries = slice(self.indptr[row], self.indptr[row + 1])
        return self.successors[entries], self.probabilities[entries]

    def to_dense(self) -> Floats:
        """Return the transition probabilities as an array ``P[S, A, S + 1]``."""
        P = np.zeros((self.states * self.actions, self.states + 1))
        rows = np.repeat(np.arange(len(P)), np.diff(self.indptr))
        P[rows, self.successors] = self.probabilities
        return P.reshape(self.states, self.actions, self.states + 1)

    def with_costs(self, costs: ArrayLike) -> SSP:
        """Return the same model with the given `costs`; the costs of unavailable actions are ignored."""
        return self._replace(costs=checks.checked_costs(costs, self.available))

    def with_initial_state(self, state: int) -> SSP:
        """Return the same model with `state` as its initial state."""
        if self.give_up is not None:
            raise ModelError("giving up leads to the old start; call with_initial_state before with_give_up")
        return self._replace(initial_state=checks.checked_state(state, self.states))

    def with_give_up(self, cost: float) -> SSP:
        """Return the model with a new last action: it leads to the start from all states but the start.

        An episode still ends only at the goal. If a path leads from the start to the goal, some policy now reaches the
        goal almost surely. The value of every state is at most `cost` plus the value of the start.

        Examples
        --------
        >>> import goalward as gw
        >>> leap = gw.SSP.from_transitions([("edge", "leap", "far side", 0.5, 1.0), ("edge", "leap", "abyss", 0.5, 1.0),
        ...                                 ("abyss", "climb", "abyss", 1.0, 1.0)], goals=["far side"])
        >>> gw.solve(leap.with_give_up(10.0)).values.tolist()
        [12.0, 22.0]
        """
        price = check("give_up_cost", cost, Positive, ", the cost of starting again")
        if self.give_up is not None:
            raise SettingError(f"action {self.give_up} already gives up; call with_give_up on a model without it")
        S, A = self.costs.shape
        lengths = np.zeros((S, A + 1), dtype=np.int64)
        lengths[:, :A] = np.diff(self.indptr).reshape(S, A)
        lengths[:, A] = np.arange(S) != self.initial_state
        # The entries of a state are adjacent, so the new entry goes after its last one.
        ends = np.delete(self.indptr[A::A], self.initial_state)
        names = self.action_names or tuple(map(str, range(A)))
        return self._replace(
            indptr=np.append(0, np.cumsum(lengths)),
            successors=np.insert(self.successors, ends, self.initial_state),
            probabilities=np.insert(self.probabilities, ends, 1.0),
            costs=np.column_stack([self.costs, np.where(lengths[:, A], price, np.inf)]),
            action_names=(*names, GIVE_UP),
            give_up=A,
        )

    def _replace(self, **changes: Any) -> SSP:
        return SSP._trusted(**({name: self.__dict__[name] for name in FIELDS} | changes))

    def state_name(self, state: int) -> str:
        """Return the name of `state`, or its number if it has no name; the name of the goal is "goal"."""
        if state == self.goal:
            return "goal"
        if not 0 <= state < self.states:
            raise StateError(f"the model has no state {state}; use 0..{self.states - 1}, or {self.goal} for the goal")
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, action: int) -> str:
        """Return the name of `action`, or its number if it has no name; the name of -1 (no action) is "none"."""
        if action == -1:
            return "none"
        if not 0 <= action < self.actions:
            raise StateError(f"the model has no action {action}; use 0..{self.actions - 1}")
        return self.action_names[action] if self.action_names else str(action)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the model without names and layout; it is the same on every machine."""
        give_up = "" if self.give_up is None else f" {self.give_up}"
        content = hashlib.sha256(f"goalward-ssp {self.states} {self.actions} {self.initial_state}{give_up}".encode())
        with phase("hashing the model"):
            for array in self.arrays:
                numbers = array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1)
                for first in range(0, len(numbers), HASHED_AT_ONCE):  # so that Ctrl-C is answered in between
                    content.update(numbers[first : first + HASHED_AT_ONCE].data)
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SSP):
            return NotImplemented
        return self is other or (
            (self.initial_state, self.give_up) == (other.initial_state, other.give_up)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ModelArrays._fields)
        )

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an SSP is immutable: {name!r} cannot be set; call with_costs or with_initial_state")

    def __reduce__(self) -> tuple[Any, ...]:
        return SSP._trusted, tuple(self.__dict__[name] for name in FIELDS)

    def _facts(self) -> dict[str, object]:
        paid = self.costs[self.available]
        missing = self.available.size - paid.size
        return {
            "states": self.states,
            "actions": self.actions,
            "transitions": len(self.successors),
            **({"unavailable": missing} if missing else {}),
            "costs": f"{paid.min():g}" if paid.min() == paid.max() else f"{paid.min():g}..{paid.max():g}",
            "initial_state": f"{self.initial_state}"
            + (f" {self.state_names[self.initial_state]!r}" if self.state_names else ""),
        }


FIELDS = tuple(SSP.__annotations__)
"""The fields of a model, in the order of `_trusted`; copies, pickles and goalward's own files use this order."""


def restrict_actions(ssp: SSP, available: Bools) -> SSP:
    """Return `ssp` with only the actions for which ``available[s, a]`` is True."""
    lengths = np.diff(ssp.indptr)
    entries = np.repeat(available.reshape(-1), lengths)
    return ssp._replace(
        indptr=np.append(0, np.cumsum(np.where(available.reshape(-1), lengths, 0))),
        successors=ssp.successors[entries],
        probabilities=ssp.probabilities[entries],
        costs=np.where(available, ssp.costs, np.inf),
    )


def check_model(world: object) -> None:
    """Raise SettingError unless `world` is an SSP."""
    if not isinstance(world, SSP):
        raise SettingError(
            f"world is {world!r:.80}; pass an SSP: gw.worlds.load reads worlds and files, gw.from_gymnasium reads"
            " environments, and SSP.from_transitions reads tables"
        )
