"""The stochastic shortest path problem (SSP).

Definition
    S non-goal states 0..S-1, a goal g = S, A actions, costs c(s, a) >= 0 and a kernel p(s' | s, a) on S ∪ {g}. Starting
    in `initial_state`, an agent pays c(s, a) for every action until it reaches the goal, where the episode ends.

Representation
    The kernel is stored in compressed rows. Row r = s * A + a holds the successors of (s, a) in increasing order, each
    once, with positive probabilities: `successors[indptr[r]:indptr[r + 1]]` and `probabilities[...]` likewise. A row
    without successors is an action that is not available in s; its cost is stored as infinity.

    A row whose entries sum to 1 within 1e-9 is accepted unchanged. It stands for the distribution proportional to its
    entries, so every statement about the model is exact.

Equality, `hash` and `digest` depend on this mathematical content and on `give_up`, not on names and layout.

Giving up
    In every state but the start, one more action, *give up*, leads to the start with probability one and costs J > 0.
    The episode continues there and still ends only at the goal. UC-SSP assumes such a reset of known cost for models in
    which the goal cannot be reached from every state (Tarbouriech et al., ICML 2020).

    V_J(s), the optimal value of the model with this action, is at most J + V_J(start). It is finite everywhere if,
    without giving up, the goal can be reached from the start with positive probability. Suppose a policy reaches the
    goal with probability p, ends in a dead end otherwise and gives up there, and pays C in expectation before that.
    From the start it costs (C + (1 - p) J) / p. So for large J the best policy maximises p, and for small J it gives up
    early. Regret is measured against V_J(start), the cost of the best policy that may give up, too.
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
    """A stochastic shortest path problem; immutable.

    Make one with `from_dense`, `from_rows` or `from_transitions`, or read one with `load`.

    Attributes
    ----------
    indptr, successors, probabilities
        The kernel in compressed rows, read-only; row ``s * A + a``.
    costs
        ``costs[s, a]``, read-only; infinity where the action is not available.
    initial_state
        Where every episode starts.
    state_names, action_names
        Labels, or None.
    layout
        Where the states lie on a grid, or None.
    give_up
        The action that goes back to the start at a known cost, or None: see `with_give_up`.

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
        """Return a model with these fields, unchecked, and make its arrays read-only; labels are optional."""
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
        """Make a model from compressed rows: row ``s * A + a``, successor S is the goal.

        Row r has the entries ``indptr[r]`` to ``indptr[r + 1]`` of `successors` and `probabilities`. `initial_state`,
        `state_names`, `action_names` and `layout` are as in `from_dense`.

        The probabilities of repeated successors in a row are added up, and zeros are dropped. The shape of `costs`
        gives the numbers of states and actions. `normalize` rescales rows that do not sum to one. `give_up` is the last
        action if agents know that it leads back to the start; `with_give_up` adds such an action. `row_name` names a
        row in error messages; if it is passed, the arrays are not copied.
        """
        rows = checks.canonical_rows(indptr, successors, probabilities, costs, normalize=normalize, row_name=row_name)
        S, A = rows.costs.shape
        start = checks.checked_state(initial_state, S)
        if layout is not None and len(layout.cells) != S:
            raise ShapeError(f"the layout has cells for {len(layout.cells)} states; the model has {S} states")
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
        """Make a model from ``P[S, A, S + 1]``, whose last column is the goal, and ``costs[S, A]``.

        A row of zeros is an action that is not available. `normalize` rescales rows that do not sum to one.
        `state_names` and `action_names` are for people, `layout` for drawing, and `initial_state` is an index.
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

        States and actions have any names, and are numbered in order of appearance. The probabilities of repeated
        transitions are added up. The cost of a pair is the mean cost of its tuples, weighted by their probabilities.
        All `goals` become one goal. `initial_state` is by default the state of the first tuple. `normalize` rescales
        rows that do not sum to one.
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
        """Make a model of all states that are reachable from a start; states and actions are anything hashable.

        `actions` lists the actions of every state, or is a function from a state to its actions. `successors` is a
        function from a state and an action to triples (next state, probability, cost). `goal` is a predicate, a list or
        set of goals, or one goal. More than `limit` states are an error. `normalize` rescales rows that do not sum to
        one.

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
        """Make a model from a mapping of columns, a pyarrow table or a data frame; the options are those of `load`.

        The columns are ``state``, ``action``, ``next_state``, ``probability`` (or ``count``) and ``cost``.
        """
        from goalward.interchange.tables import read

        return cls.from_rows(**read(table, **options))

    def to_table(self) -> Any:
        """Return the transitions as a pyarrow table; those of the initial state come first."""
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
        """Read a model from a file; its content is checked like any other input.

        The ending of `path` names the format: ``.npz`` or ``.json`` (goalward's own), ``.csv`` or ``.parquet`` (tables
        of transitions), ``.umb`` or ``.drn`` (model checkers).

        `start` is the name or number of the initial state, by default the one in the file. Files of other tools take
        `goal`, the name or label of the goal or several of these (default ``goal``), and `normalize`, to rescale rows
        that do not sum to one. For files of model checkers, `cost` names the reward structure that is the cost, or is
        the cost of every step. In tables, repeated transitions are added up, and `prior` is added to every count.
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
        """``available[s, a]``: whether the action can be played in the state."""
        mask: Bools = (self.indptr[1:] > self.indptr[:-1]).reshape(self.costs.shape)
        mask.flags.writeable = False
        return mask

    @cached_property
    def state_starts(self) -> UInt32s:
        """The index in `successors` of each state's first entry, followed by the number of entries."""
        return self.indptr[:: self.actions].astype(np.uint32)

    @property
    def arrays(self) -> ModelArrays:
        """The arrays of the model, as kernels take them."""
        return ModelArrays(self.indptr, self.successors, self.probabilities, self.costs)

    def row(self, state: int, action: int) -> tuple[Int32s, Floats]:
        """Return the successors of `action` in `state`, and their probabilities."""
        row = checks.checked_state(state, self.states, "state") * self.actions
        row += checks.checked_state(action, self.actions, "action")
        entries = slice(self.indptr[row], self.indptr[row + 1])
        return self.successors[entries], self.probabilities[entries]

    def to_dense(self) -> Floats:
        """Return the kernel as ``P[S, A, S + 1]``."""
        P = np.zeros((self.states * self.actions, self.states + 1))
        rows = np.repeat(np.arange(len(P)), np.diff(self.indptr))
        P[rows, self.successors] = self.probabilities
        return P.reshape(self.states, self.actions, self.states + 1)

    def with_costs(self, costs: ArrayLike) -> SSP:
        """Return the same model with other costs; costs of unavailable actions are ignored."""
        return self._replace(costs=checks.checked_costs(costs, self.available))

    def with_initial_state(self, state: int) -> SSP:
        """Return the same model with `state` as its initial state."""
        if self.give_up is not None:
            raise ModelError("giving up leads to the start; choose the start first, then call with_give_up")
        return self._replace(initial_state=checks.checked_state(state, self.states))

    def with_give_up(self, cost: float) -> SSP:
        """Return the model with one more action, the last: give up and go back to the start from any other state.

        An episode still ends only at the goal. So the goal is reached almost surely if it can be reached at all, and
        every value is at most `cost` plus the value of the start.

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
            raise SettingError(f"action {self.give_up} already gives up; set its cost where with_give_up was called")
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
        """Return the label of a state: its name, else its number; the goal is called goal."""
        if state == self.goal:
            return "goal"
        if not 0 <= state < self.states:
            raise StateError(f"there is no state {state}; the model has 0..{self.states - 1} and the goal {self.goal}")
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, action: int) -> str:
        """Return the label of an action: its name, else its number; "none" for -1, which policies have at dead ends."""
        if action == -1:
            return "none"
        if not 0 <= action < self.actions:
            raise StateError(f"there is no action {action}; the model has 0..{self.actions - 1}")
        return self.action_names[action] if self.action_names else str(action)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the mathematical content: the same on every machine, different for different models."""
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
        raise AttributeError(f"an SSP is immutable: {name!r} cannot be set; see with_costs and with_initial_state")

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
    """Return the model with only those actions for which ``available[s, a]`` is True."""
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
            f"world is {world!r:.80}; it must be an SSP: gw.worlds.load reads worlds and files, gw.from_gymnasium reads"
            " environments, and SSP.from_transitions reads tables"
        )
