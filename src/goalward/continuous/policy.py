"""The policy that an agent for continuous states exports: a table of expected costs on a lattice.

Q[i, a] is the expected cost to the goal under the posterior mean if the agent starts at node i, plays action a first
and then plays optimally. In a state, the policy interpolates Q between the corners of the surrounding cell, or takes Q
from the nearest node. It plays the action with the smallest Q and breaks ties at random. A state outside the box is
replaced by the nearest point of the box. The policy needs no goal set, no costs and no belief.

Nothing is proved about the policy. On a coarse lattice, the policy may never reach the goal; test it with `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goalward.acting.contract import Policy, World
from goalward.acting.stop_conditions import Stop
from goalward.arrays import Bools, Floats, Int64s
from goalward.continuous.encoding import BoxEncoding, StateFunction
from goalward.continuous.task import ContinuousPlan, TaskSpec, checked_box
from goalward.errors import SettingError
from goalward.learning.deployed_policy import FrozenPolicy
from goalward.seeds import generator


@dataclass(eq=False, repr=False)
class LatticePolicy(FrozenPolicy):
    """A policy for the states of a box.

    Attributes
    ----------
    low, high, periodic, nodes
        Arrays ``[m]``: the bounds of the box, whether each axis wraps around, and the number of nodes on each axis.
    values
        ``[n, A]``: Q at each node, in the order of `numpy.unravel_index`. In a policy on cells, `values` has minus the
        probabilities of the actions.
    seen
        ``[n]``: for each node, whether the agent has acted in a state whose nearest node is this node.
    interpolated
        Whether Q is interpolated. If not, the nodes are the centres of equal cells, and Q is constant in each cell.
    encoding
        Converts observations to states, and action numbers to the actions of the environment.
    """

    low: Floats
    high: Floats
    periodic: Bools
    nodes: Int64s
    values: Floats
    seen: Bools
    interpolated: bool
    encoding: BoxEncoding

    kind: ClassVar[str] = "lattice"
    continuous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # Cells and periodic axes have as many intervals as nodes; other axes have a node at each bound, so one less.
        intervals = self.nodes - (~self.periodic & self.interpolated)
        self._spacing: Floats = (self.high - self.low) / intervals
        self._table = self.values.reshape(*self.nodes, -1)
        self._seen = self.seen.reshape(self.nodes)
        self._rng = generator(0)

    def act(self, observation: Any) -> Any:
        """Return the action for an observation; this policy never gives up."""
        return self.encoding.action(self.choose(self.encoding.state(observation), self._rng.random))

    def choose(self, state: Floats, draw: Callable[[], float]) -> int:
        lower, share = self.cell(state)
        corners = [(i, (i + 1) % n) if self.interpolated else (i,) for i, n in zip(lower, self.nodes, strict=True)]
        block = self._table[np.ix_(*corners)]
        for weight in share:  # interpolate along one axis after the other
            block = block[0] * (1.0 - weight) + block[1] * weight if self.interpolated else block[0]
        best = np.flatnonzero(block == block.min())
        return int(best[0] if len(best) == 1 else best[int(draw() * len(best))])

    def cell(self, state: Floats) -> tuple[Int64s, Floats]:
        """Return the lower corner of the cell around `state`, and the position in the cell, from 0 to 1."""
        place = (state - self.low) / self._spacing
        last = self.nodes - 1
        place = np.where(self.periodic, np.mod(place, self.nodes), np.clip(place, 0, last))
        lower = np.minimum(place.astype(np.int64), last)
        return lower, place - lower

    def knows(self, observation: Any) -> bool:
        """Return whether the agent has acted in a state that has the same nearest node as this observation."""
        lower, share = self.cell(self.encoding.state(observation))
        nearest = np.rint(lower + share * self.interpolated).astype(np.int64) % self.nodes
        return bool(self._seen[tuple(nearest)])

    def plan(self, world: World[Any, Any]) -> ContinuousPlan:
        task: Any = world.task(1)
        same = isinstance(task, TaskSpec) and np.array_equal((task.low, task.high), (self.low, self.high))
        if not same or not np.array_equal(task.encoding.actions, self.encoding.actions):
            raise SettingError(f"the policy learnt in a task whose box or actions differ from {world}")
        return ContinuousPlan(Deployed(self), Stop())

    def to_state(self) -> dict[str, Any]:
        names = ("low", "high", "periodic", "nodes", "values", "seen", "interpolated")
        return {name: getattr(self, name) for name in names} | {"encoding": self.encoding.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any], key: StateFunction | None) -> LatticePolicy:
        encoding = BoxEncoding.from_state(state["encoding"], key)
        low, high = checked_box(state["low"], state["high"])
        nodes, periodic = np.array(state["nodes"], dtype=np.int64), np.array(state["periodic"], dtype=np.bool_)
        values, seen = np.array(state["values"], dtype=np.float64), np.array(state["seen"], dtype=np.bool_)
        interpolated = bool(state["interpolated"])
        if not len(low) == len(nodes) == len(periodic) == encoding.dimensions or nodes.min() <= interpolated:
            raise ValueError("nodes, periodic and the encoding must have one entry for each coordinate")
        if seen.shape != (nodes.prod(),) or values.shape != (nodes.prod(), len(encoding.actions)):
            raise ValueError("values and seen must have one row for each node")
        if not np.isfinite(values).all():
            raise ValueError("values must be finite")
        return cls(low, high, periodic, nodes, values, seen, interpolated, encoding)

    def __repr__(self) -> str:
        nodes = " x ".join(map(str, self.nodes.tolist()))
        return f"LatticePolicy({nodes} nodes, {len(self.encoding.actions)} actions)"


class Deployed(Policy[Floats]):
    """A `LatticePolicy` in a plan; `act` receives states instead of observations."""

    def __init__(self, policy: LatticePolicy):
        self.policy = policy

    def act(self, state: Floats, draw: Callable[[], float]) -> int:
        return self.policy.choose(state, draw)
