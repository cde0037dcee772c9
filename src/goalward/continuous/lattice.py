"""A continuous goal task as a stochastic shortest path problem on a lattice.

Definition
    Nodes are evenly spaced on each axis of a box. An axis that does not wrap around has a node at each bound. A
    function f on the nodes is extended to the box by multilinear interpolation: the corners of the cell around a point
    x have weights w_j(x) >= 0 that sum to 1, and f(x) = sum of w_j(x) f(corner j).

The chain
    Suppose action a of a model leads from node x to the point y. If y lies in the goal set, action a on the lattice
    leads from x to the goal. Otherwise, it leads from x to the corners of the cell around y, with probabilities w_j(y).
    A point y outside the box is replaced by the nearest point of the box. If y is random, it is replaced by a few
    equally likely points. The mean of the corners is y, so this is a Markov chain approximation (Kushner and Dupuis).
    The random corner adds variance: on each axis, at most a quarter of the squared distance between nodes.

Nodes in the goal set are merged into the goal. The other nodes are the states, in the order of the lattice.

Giving up
    The SSP has an additional action, which costs `give_up` and leads to the goal. So every value is at most `give_up`.
    If the value of a state is smaller without this action, the action does not change the value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.continuous.task import TaskSpec
from goalward.errors import SettingError, StateError
from goalward.jit import kernel
from goalward.planning.reduction import LEAST_NORMAL
from goalward.ssp.model import SSP


class LatticeArrays(NamedTuple):
    """The lattice in the form that kernels need. It has the axes and the state of each node."""

    low: Floats
    spacing: Floats
    nodes: Int64s
    periodic: Bools
    state_of: Int32s


class Lattice:
    """A lattice over the box of a task; `nodes` has the number of nodes on each axis.

    `points` ``[S, m]`` are the nodes outside the goal set; they are the states of the SSP. `spacing` ``[m]`` is the
    distance between neighbouring nodes. `state_of` has the state of each node, and S for nodes in the goal set.
    """

    def __init__(self, task: TaskSpec, nodes: Sequence[int]):
        self.task = task
        low, high, self.periodic = task.low, task.high, task.periodic
        self.nodes: Int64s = np.array(nodes, dtype=np.int64)
        self.spacing: Floats = (high - low) / np.where(self.periodic, self.nodes, self.nodes - 1)
        axes = [low[i] + self.spacing[i] * np.arange(self.nodes[i]) for i in range(len(low))]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        inside = task.goal(points)
        if not inside.any():
            raise SettingError(
                f"the lattice of {' x '.join(map(str, self.nodes))} nodes has no node in the goal set; the nodes are"
                f" {', '.join(f'{width:.3g}' for width in self.spacing)} apart: use more nodes or a larger goal set"
            )
        if inside.all():
            raise SettingError("every node of the lattice lies in the goal set; pass a smaller goal set")
        self.points: Floats = np.ascontiguousarray(points[~inside])
        self.state_of: Int32s = np.full(len(points), len(self.points), dtype=np.int32)
        self.state_of[~inside] = np.arange(len(self.points))
        self.arrays = LatticeArrays(low, self.spacing, self.nodes, self.periodic, self.state_of)

    def nearest(self, points: Floats) -> Bools:
        """Return a mask over all nodes (goal set included) that marks the nearest node of each point in `points`."""
        node = np.rint((self.task.folded(points) - self.task.low) / self.spacing).astype(np.int64)
        marked: Bools = np.zeros(self.nodes, dtype=np.bool_)
        marked[tuple(np.where(self.periodic, node % self.nodes, np.clip(node, 0, self.nodes - 1)).T)] = True
        return marked.ravel()

    def model(self, successors: Floats, costs: Floats, give_up: float) -> SSP:
        """Return the SSP of a model with these `successors` and `costs` ``[S, A]``.

        ``successors[s, a]`` ``[q, m]`` are q equally likely next points. An additional action costs `give_up`.
        """
        S, A, q, m = successors.shape
        if not np.isfinite(successors).all():
            raise StateError("the sampled model has steps so large that its states are not finite")
        flat = self.task.folded(successors.reshape(-1, m))
        indptr, room = np.zeros(S * (A + 1) + 1, dtype=np.int64), S * (A * min(q << m, S + 1) + 1)
        targets, weights = np.empty(room, dtype=np.int32), np.empty(room)
        used = write_rows(flat, self.task.goal(flat), q, A, self.arrays, S, indptr, targets, weights)
        full = np.concatenate([costs, np.full((S, 1), give_up)], axis=1)
        return SSP._trusted(indptr, targets[:used].copy(), weights[:used].copy(), full, 0)

    def interpolate(self, points: Floats, values: Floats) -> Floats:
        """Return the interpolated value at each of the `points` ``[n, m]``; `values` are the values of the states."""
        out, folded = np.empty(len(points)), self.task.folded(points)
        interpolate_values(folded, self.task.goal(folded), self.arrays, values, out)
        return out


@kernel
def corners(point: Floats, lattice: LatticeArrays, numbers: Int64s, weights: Floats) -> None:
    """For each corner of the cell around `point`, write its node number to `numbers` and its weight to `weights`."""
    low, spacing, nodes, periodic, _ = lattice
    count = 1
    numbers[0] = 0
    weights[0] = 1.0
    for axis in range(len(low)):
        place = (point[axis] - low[axis]) / spacing[axis]
        n = nodes[axis]
        if periodic[axis]:
            place -= n * math.floor(place / n)
            lower = min(int(place), n - 1)
            upper = lower + 1 if lower + 1 < n else 0
        else:
            place = min(max(place, 0.0), n - 1.0)
            lower = min(int(place), n - 2)
            upper = lower + 1
        share = min(place - lower, 1.0)
        for corner in range(count):
            number = numbers[corner] * n
            weight = weights[corner]
            numbers[corner] = number + lower
            weights[corner] = weight * (1.0 - share)
            numbers[count + corner] = number + upper
            weights[count + corner] = weight * share
        count *= 2


@kernel
def write_rows(
    points: Floats, reached: Bools, q: int, A: int, lattice: LatticeArrays, S: int,
    indptr: Int64s, targets: Int32s, weights: Floats,
) -> int:  # fmt: skip
    """Write the transitions of the SSP in sorted order, without duplicates or zeros; return their number."""
    size = 1 << len(lattice.low)
    numbers = np.empty(size, np.int64)
    shares = np.empty(size)
    end = 0
    pair = 0
    for state in range(S):
        for action in range(A):
            begin = end
            for draw in range(q):
                entry = pair * q + draw
                count = size
                if reached[entry]:
                    count = 1
                    shares[0] = 1.0
                else:
                    corners(points[entry], lattice, numbers, shares)
                for corner in range(count):
                    if shares[corner] < q * LEAST_NORMAL:
                        continue
                    target = S if reached[entry] else lattice.state_of[numbers[corner]]
                    place = end
                    while place > begin and targets[place - 1] > target:
                        place -= 1
                    if place > begin and targets[place - 1] == target:
                        weights[place - 1] += shares[corner] / q
                        continue
                    for other in range(end, place, -1):
                        targets[other] = targets[other - 1]
                        weights[other] = weights[other - 1]
                    targets[place] = target
                    weights[place] = shares[corner] / q
                    end += 1
            indptr[state * (A + 1) + action + 1] = end
            pair += 1
        targets[end] = S
        weights[end] = 1.0
        end += 1
        indptr[(state + 1) * (A + 1)] = end
    return end


@kernel
def interpolate_values(points: Floats, reached: Bools, lattice: LatticeArrays, values: Floats, out: Floats) -> None:
    size = 1 << len(lattice.low)
    numbers = np.empty(size, np.int64)
    shares = np.empty(size)
    for i in range(len(points)):
        out[i] = 0.0
        if reached[i]:
            continue
        corners(points[i], lattice, numbers, shares)
        for corner in range(size):
            state = lattice.state_of[numbers[corner]]
            if state < len(values):
                out[i] += shares[corner] * values[state]
