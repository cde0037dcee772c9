"""A belief about smooth dynamics: Bayesian linear regression on random Fourier features.

Model
    From the state x, action a leads to x' with

        (x' - x) / span = W_a^T phi(x) + noise,     noise_i ~ N(0, sigma_i^2),

    where span is the length of the box in each coordinate. The features are

        phi(x) = [ sqrt(2 / D) cos(z omega_j / l + b_j), j = 1..D;  1;  z ],   omega_j ~ N(0, I), b_j ~ U[0, 2 pi],

    where z is the state scaled to [-1, 1]. For a coordinate that wraps around, z has the cosine and sine of its angle.
    The D cosines approximate a Gaussian process with a squared exponential kernel of length l (Rahimi, Recht 2007).

Prior
    sigma_i^2 ~ inverse gamma(a_0, b_0). Given sigma_i, all entries of column i of W_a are N(0, sigma_i^2 r^2). Let N be
    the number of steps and y = (x' - x) / span. For each action a, let G_a = sum phi phi^T and M_a = sum phi y^T,
    summed over the steps with action a. The posterior is

        W_a | sigma ~ N(L_a^-1 M_a, sigma_i^2 L_a^-1),  L_a = G_a + I / r^2,
        sigma_i^2  ~ inverse gamma(a_0 + N / 2, b_i),   b_i = b_0 + 1/2 sum y_i^2 - 1/2 sum_a M_ai^T L_a^-1 M_ai.

Length and ratio
    The belief chooses l and r from a grid to maximise the marginal likelihood, whose logarithm (plus a constant) is

        -1/2 m sum_a log det(I + r^2 G_a) - (a_0 + N / 2) sum_i log b_i.

    The belief chooses l and r again whenever the number of steps has grown by half. The choice uses at most 4,096
    steps, evenly spread over all steps. All other computations use all steps.

Walls
    If a step starts inside the box and ends on its surface, a wall stopped the step. No smooth function describes this,
    so the belief ignores such steps. It does learn from steps that start on the surface.

Linear algebra
    A run must be a pure function of its seed. A linear algebra library adds numbers in an order that depends on threads
    and on the processor, so this module uses its own kernels, whose order is fixed. Inner loops run over independent
    entries, so the compiler can vectorise them without changing the order of any sum.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np

from goalward.acting.contract import Steps
from goalward.arrays import Bools, Floats, Int64s
from goalward.continuous.task import TaskSpec
from goalward.jit import kernel

LENGTHS = (0.3, 0.45, 0.7, 1.0, 1.5, 2.2, 3.3, 5.0)
RATIOS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
FIRST_LENGTH, FIRST_RATIO = 0.7, 10.0
SHAPE, SCALE = 1.0, 1e-6
"""a_0 and b_0. With this prior, the noise is about a thousandth of the box."""
FIRST_CHOICE, GROWTH = 20, 1.5
LARGEST_CHANGE = 1e6  # of a state in one step, in units of the box; files with larger changes are damaged
CHUNK = 4096


class Dynamics(NamedTuple):
    """One model of the dynamics: the weights ``[A, d, m]``, and the noise ``[m]`` in units of the state."""

    weights: Floats
    noise: Floats


class FourierRegression:
    """A distribution over smooth dynamics in the box of `task`; it has D = `features` cosines, drawn with `rng`.

    `length` and `ratio` are the current l and r. For each action a, `gram` ``[A, d, d]`` has the lower half of G_a,
    `moments` ``[A, d, m]`` has M_a, and `inverses` ``[A, d, d]`` has (I + G_a)^-1.
    """

    def __init__(self, task: TaskSpec, features: int, rng: np.random.Generator):
        self.task = task
        self.span: Floats = task.high - task.low
        self.embedded = task.dimensions + int(np.count_nonzero(task.periodic))
        self.frequencies = rng.standard_normal((self.embedded, features))
        self.phases = rng.uniform(0.0, 2.0 * np.pi, features)
        self.size = features + 1 + self.embedded  # d, the number of cosines, the constant and the linear features
        self.length, self.ratio = FIRST_LENGTH, FIRST_RATIO
        self.states: Floats = np.empty((0, task.dimensions))
        self.actions: Int64s = np.empty(0, dtype=np.int64)
        self.changes: Floats = np.empty((0, task.dimensions))
        self.chosen_at = 0
        self.squares: Floats = np.zeros(task.dimensions)
        self.accumulate(0)

    @property
    def steps(self) -> int:
        """N, the number of steps from which the belief has learnt."""
        return len(self.actions)

    def features(self, states: Floats, length: float | None = None) -> Floats:
        """Return the features phi of each state in `states`, ``[n, d]``; `length` replaces the current l."""
        z = 2.0 * (states - self.task.low) / self.span - 1.0
        wraps = self.task.periodic
        if wraps.any():
            z = np.concatenate([z[:, ~wraps], np.cos(np.pi * z[:, wraps]), np.sin(np.pi * z[:, wraps])], axis=1)
        phi = np.empty((len(z), self.size))
        cosines(np.ascontiguousarray(z), self.frequencies, self.phases, self.length if length is None else length, phi)
        return phi

    def update(self, steps: Steps) -> None:
        """Update the posterior with `steps`; choose length and ratio again if there are enough new steps."""
        inside = ~self.on_surface(steps.next_states) | self.on_surface(steps.states)
        before = self.steps
        change = (steps.next_states[inside] - steps.states[inside]) / self.span
        wraps = self.task.periodic
        change[:, wraps] -= np.rint(change[:, wraps])
        self.states = np.concatenate([self.states, steps.states[inside]])
        self.actions = np.concatenate([self.actions, steps.actions[inside]])
        self.changes = np.concatenate([self.changes, change])
        self.squares = self.squares + (change**2).sum(axis=0)
        if self.steps >= max(FIRST_CHOICE, GROWTH * self.chosen_at):
            length = self.length
            self.choose()
            self.chosen_at = self.steps
            if self.length != length:
                before = 0
        self.accumulate(before)

    def on_surface(self, states: Floats) -> Bools:
        touches = ((states <= self.task.low) | (states >= self.task.high)) & ~self.task.periodic
        return np.asarray(touches.any(axis=1))

    def accumulate(self, first: int) -> None:
        """Add all steps from index `first` onwards to G and M; if `first` is 0, first reset G and M to zero."""
        if first == 0:
            A, d = self.task.actions, self.size
            self.gram: Floats = np.zeros((A, d, d))
            self.moments: Floats = np.zeros((A, d, self.task.dimensions))
            self.inverses: Floats = np.tile(np.eye(d), (A, 1, 1))
        room = np.empty(self.size)
        for start in range(first, self.steps, CHUNK):
            chunk = slice(start, start + CHUNK)
            phi = self.features(self.states[chunk])
            add_steps(phi, self.actions[chunk], self.changes[chunk], self.gram, self.moments)
            for row, action in zip(phi, self.actions[chunk].tolist(), strict=True):
                update_inverse(self.inverses[action], row, room)

    def choose(self) -> None:
        """Set length and ratio to the values with the largest marginal likelihood."""
        sample = np.unique(np.linspace(0, self.steps - 1, min(self.steps, CHUNK)).astype(np.int64))
        states, actions, changes = self.states[sample], self.actions[sample], self.changes[sample]
        squares = (changes**2).sum(axis=0)
        best = -np.inf
        for length in LENGTHS:
            gram, moments = np.zeros(self.gram.shape), np.zeros(self.moments.shape)
            add_steps(self.features(states, length), actions, changes, gram, moments)
            for ratio in RATIOS:
                score = evidence(gram, moments, squares, len(sample), ratio)
                if score > best:
                    best, self.length, self.ratio = score, length, ratio

    def sample(self, rng: np.random.Generator) -> Dynamics:
        means, factors, scales, _ = posterior(self.gram, self.moments, self.squares, self.ratio)
        deviations = np.sqrt(scales / rng.gamma(SHAPE + 0.5 * self.steps, size=len(scales)))
        normals = rng.standard_normal(means.shape)
        for factor, normal in zip(factors, normals, strict=True):
            solve_upper(factor, normal)
        return Dynamics(means + normals * deviations, deviations * self.span)

    def mean(self) -> Dynamics:
        """Return the posterior mean of the weights, and the noise that belongs to the posterior mean of 1 / sigma^2."""
        means, _, scales, _ = posterior(self.gram, self.moments, self.squares, self.ratio)
        return Dynamics(means, np.sqrt(scales / (SHAPE + 0.5 * self.steps)) * self.span)

    def moved(self, states: Floats, phi: Floats, dynamics: Dynamics) -> Floats:
        """Return the mean next state for each state and action, ``[n, A, m]``; `phi` has the features of `states`."""
        A, d, m = dynamics.weights.shape
        changes = np.empty((len(states), A * m))
        products(phi, np.ascontiguousarray(dynamics.weights.transpose(1, 0, 2)).reshape(d, A * m), changes)
        return np.asarray(states[:, np.newaxis, :] + changes.reshape(-1, A, m) * self.span)

    def to_state(self) -> dict[str, Any]:
        names = ("frequencies", "phases", "states", "actions", "changes")
        numbers = {"length": self.length, "ratio": self.ratio, "chosen_at": self.chosen_at}
        return {name: getattr(self, name) for name in names} | numbers

    def restore(self, state: dict[str, Any]) -> None:
        m, count = self.task.dimensions, len(np.asarray(state["actions"]))
        shapes = {"frequencies": self.frequencies.shape, "phases": self.phases.shape, "actions": (count,)}
        for name, shape in (shapes | {"states": (count, m), "changes": (count, m)}).items():
            array = np.array(state[name])
            if array.shape != shape or array.dtype != getattr(self, name).dtype or not np.isfinite(array).all():
                raise ValueError(f"{name} must hold finite numbers of shape {shape}")
            setattr(self, name, array)
        if count and not np.abs(self.changes).max() <= LARGEST_CHANGE:
            raise ValueError(f"changes must be at most {LARGEST_CHANGE:g} times the size of the box")
        if count and not 0 <= self.actions.min() <= self.actions.max() < self.task.actions:
            raise ValueError(f"actions must be 0..{self.task.actions - 1}")
        if state["length"] not in LENGTHS or state["ratio"] not in RATIOS or not 0 <= state["chosen_at"] <= count:
            raise ValueError(f"length must be in {LENGTHS}, ratio in {RATIOS}, and chosen_at in 0..{count}")
        self.length, self.ratio = float(state["length"]), float(state["ratio"])
        self.chosen_at = int(state["chosen_at"])
        self.squares = (self.changes**2).sum(axis=0)
        self.accumulate(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = copy.copy(self)
        # The belief changes only these arrays in place.
        twin.gram, twin.moments, twin.inverses = self.gram.copy(), self.moments.copy(), self.inverses.copy()
        return twin


def posterior(gram: Floats, moments: Floats, squares: Floats, ratio: float) -> tuple[Floats, Floats, Floats, float]:
    """Return the posterior for `gram` (G), `moments` (M), `squares` (sums of squared changes) and `ratio` (r).

    The result has the means of W_a ``[A, d, m]``, the Cholesky factors of L_a ``[A, d, d]`` (stored by columns), b_i,
    and the sum of log det L_a over all actions.
    """
    means, factors, scales = moments.copy(), np.zeros(gram.shape), SCALE + 0.5 * squares
    determinant = 0.0
    for action in range(len(gram)):
        determinant += cholesky(gram[action], ratio**-2, factors[action])
        solve_lower(factors[action], means[action])
        scales = scales - 0.5 * (means[action] ** 2).sum(axis=0)
        solve_upper(factors[action], means[action])
    return means, factors, np.maximum(scales, SCALE), determinant


def evidence(gram: Floats, moments: Floats, squares: Floats, steps: int, ratio: float) -> float:
    """Return the log marginal likelihood up to a constant, or minus infinity if it overflows or is undefined."""
    _, _, scales, determinant = posterior(gram, moments, squares, ratio)
    # det(I + r^2 G) = r^(2d) det(G + I / r^2)
    determinant += 2.0 * gram.shape[0] * gram.shape[1] * math.log(ratio)
    likelihood = (SHAPE + 0.5 * steps) * float(np.log(scales).sum())
    score = -0.5 * len(squares) * determinant - likelihood
    return score if math.isfinite(score) else -math.inf


@kernel
def cosines(z: Floats, frequencies: Floats, phases: Floats, length: float, phi: Floats) -> None:
    """Write the features of the embedded states `z` to `phi`: the cosines, the constant 1, and `z` itself."""
    count = len(phases)
    scale = math.sqrt(2.0 / count)
    for row in range(len(z)):
        for j in range(count):
            phi[row, j] = 0.0
        for i in range(z.shape[1]):
            share = z[row, i] / length
            for j in range(count):
                phi[row, j] += share * frequencies[i, j]
        for j in range(count):
            phi[row, j] = scale * math.cos(phi[row, j] + phases[j])
        phi[row, count] = 1.0
        for i in range(z.shape[1]):
            phi[row, count + 1 + i] = z[row, i]


@kernel
def add_steps(phi: Floats, actions: Int64s, changes: Floats, gram: Floats, moments: Floats) -> None:
    """For each step, add phi phi^T to the lower half of `gram` and phi y^T to `moments`, at the action of the step."""
    for row in range(len(phi)):
        action = actions[row]
        for i in range(phi.shape[1]):
            share = phi[row, i]
            for j in range(i + 1):
                gram[action, i, j] += share * phi[row, j]
            for j in range(changes.shape[1]):
                moments[action, i, j] += share * changes[row, j]


@kernel
def update_inverse(inverse: Floats, phi: Floats, direction: Floats) -> float:
    """Update `inverse` in place from H^-1 to (H + phi phi^T)^-1 and return phi^T H^-1 phi.

    `direction` is a buffer for d numbers.
    """
    size = len(phi)
    for j in range(size):
        direction[j] = 0.0
    for i in range(size):
        share = phi[i]
        for j in range(size):
            direction[j] += share * inverse[i, j]
    gain = 0.0
    for i in range(size):
        gain += phi[i] * direction[i]
    for i in range(size):
        share = direction[i] / (1.0 + gain)
        for j in range(size):
            inverse[i, j] -= share * direction[j]
    return gain


@kernel
def cholesky(matrix: Floats, diagonal: float, factor: Floats) -> float:
    """Factorise M = matrix + diagonal I; return log det M, or NaN if M is not positive definite.

    Only the lower half of `matrix` is used. Row j of the array `factor` becomes column j of the Cholesky factor.
    """
    size = len(matrix)
    for j in range(size):
        for i in range(j, size):
            factor[j, i] = matrix[i, j]
        factor[j, j] += diagonal
    logarithm = 0.0
    for j in range(size):
        for k in range(j):
            share = factor[k, j]
            for i in range(j, size):
                factor[j, i] -= share * factor[k, i]
        pivot = factor[j, j]
        if not pivot > 0.0:
            return np.nan
        logarithm += math.log(pivot)
        root = math.sqrt(pivot)
        for i in range(j, size):
            factor[j, i] /= root
    return logarithm


@kernel
def solve_lower(factor: Floats, right: Floats) -> None:
    """Solve L X = R in place, where `right` ``[d, m]`` is R; row j of `factor` is column j of L."""
    for j in range(len(factor)):
        for c in range(right.shape[1]):
            right[j, c] /= factor[j, j]
        for i in range(j + 1, len(factor)):
            share = factor[j, i]
            for c in range(right.shape[1]):
                right[i, c] -= share * right[j, c]


@kernel
def solve_upper(factor: Floats, right: Floats) -> None:
    """Solve L^T X = R in place, where `right` ``[d, m]`` is R; row j of `factor` is column j of L."""
    for j in range(len(factor) - 1, -1, -1):
        for i in range(j + 1, len(factor)):
            share = factor[j, i]
            for c in range(right.shape[1]):
                right[j, c] -= share * right[i, c]
        for c in range(right.shape[1]):
            right[j, c] /= factor[j, j]


@kernel
def products(phi: Floats, weights: Floats, out: Floats) -> None:
    """Write the matrix product of `phi` ``[n, d]`` and `weights` ``[d, c]`` to `out`."""
    for row in range(len(phi)):
        for c in range(weights.shape[1]):
            out[row, c] = 0.0
        for i in range(phi.shape[1]):
            share = phi[row, i]
            for c in range(weights.shape[1]):
                out[row, c] += share * weights[i, c]
