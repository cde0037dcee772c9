"""The Bernstein confidence sets of the analysis, and how often kernels lie outside them.

Let n be the number of visits to (s, a) before epoch l, n+ = max(n, 1), and theta_hat the empirical frequencies. Then

    A_l(s, a) = log(S A n+ / delta) / n+
    B_l(s, a) = { theta : |theta(s') - theta_hat(s')| <= 4 sqrt(theta_hat(s') A_l) + 28 A_l  for all s', the goal too }.

Lemma (Bernstein): theta_*(. | s, a) lies in B_l(s, a) with probability at least 1 - delta / (2 S A n+). By the property
of posterior sampling, the same holds for theta_l if the world is drawn from the prior.

Checks
    A miss is a kernel outside its set. `coverage` counts the checks and the misses of a run. `promised` is the sum of
    delta / (2 S A n+) over all checks. By Markov's inequality, P(misses >= m) <= promised / m, even though the checks
    are not independent. For a fixed number of visits, `miss_probability` computes the probability of a miss as a sum of
    binomial probabilities. So even a bound of 1e-8 can be tested.

The paper proves the lemma only for a fixed n; docs/explanation/theory.md repairs the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from goalward.arrays import Floats, Int64s
from goalward.settings import Confidence, check
from goalward.ssp.model import SSP
from goalward.theory.trace import Trace

SLACK = 1e-12  # relative tolerance for rounding errors of the boundary, which belongs to the set


@dataclass(frozen=True)
class Coverage:
    """Counts of kernels inside and outside their confidence sets; ``a + b`` combines two epochs or runs."""

    checks: int = 0  # the number of sets that were checked
    informative: int = 0  # the number of these sets that exclude some distribution
    true_misses: int = 0  # how often theta_* was outside its set
    sampled_misses: int = 0  # how often theta_l was outside its set
    promised: float = 0.0  # the sum of delta / (2 S A n+) over the checks
    true_ratio: float = 0.0  # the largest distance of theta_* from the frequencies, divided by the allowed distance
    sampled_ratio: float = 0.0  # the same for theta_l

    def __add__(self, other: Coverage) -> Coverage:
        """Return the combined coverage, with the sums of all counts and the larger ratios."""
        pairs = {name: (value, getattr(other, name)) for name, value in vars(self).items()}
        return Coverage(**{name: max(pair) if name.endswith("ratio") else sum(pair) for name, pair in pairs.items()})


def rate(visits: Int64s | int, S: int, A: int, delta: float) -> Floats:
    """Return the rate A_l = log(S A n+ / delta) / n+."""
    n = np.maximum(visits, 1)
    return np.asarray(np.log(S * A * n / delta) / n)


def width(frequencies: Floats, A_l: Floats) -> Floats:
    """Return 4 sqrt(theta_hat A_l) + 28 A_l, the largest distance from theta_hat inside the confidence set."""
    return np.asarray(4.0 * np.sqrt(frequencies * A_l) + 28.0 * A_l)


def promise(visits: Int64s | int, S: int, A: int, delta: float) -> Floats:
    """Return delta / (2 S A n+), the probability of a miss that the lemma allows."""
    return np.asarray(delta / (2.0 * S * A * np.maximum(visits, 1)))


def coverage(trace: Trace, delta: float = 0.1) -> list[Coverage]:
    """Return the coverage of each epoch of `trace`, with confidence sets of level `delta` for all visited pairs."""
    check("delta", delta, Confidence)
    true, (S, A) = trace.world.to_dense(), trace.world.costs.shape
    counts = np.zeros(true.shape, dtype=np.int64)
    by_epoch = []
    for model, steps in zip(trace.models, trace.epoch_slices(), strict=True):
        seen = counts.sum(axis=2) > 0
        by_epoch.append(inspect(counts[seen], true[seen], model.to_dense()[seen], S, A, delta))
        np.add.at(counts, (trace.steps.states[steps], trace.steps.actions[steps], trace.steps.next_states[steps]), 1)
    return by_epoch


def inspect(counts: Int64s, true: Floats, sampled: Floats, S: int, A: int, delta: float) -> Coverage:
    """Return the coverage of some state-action pairs; `counts`, `true` and `sampled` are ``[pair, successor]``."""
    if not len(counts):
        return Coverage()
    n = counts.sum(axis=1)
    frequencies = counts / n[:, None]
    A_l = rate(n, S, A, delta)[:, None]
    allowed = width(frequencies, A_l)
    ratios = [np.abs(kernel - frequencies) / allowed for kernel in (true, sampled)]
    misses = [int(np.count_nonzero((ratio > 1.0 + SLACK).any(axis=1))) for ratio in ratios]
    excludes = ((frequencies - allowed > 0.0) | (frequencies + allowed < 1.0)).any(axis=1)
    return Coverage(
        checks=len(n),
        informative=int(np.count_nonzero(excludes)),
        true_misses=misses[0],
        sampled_misses=misses[1],
        promised=float(promise(n, S, A, delta).sum()),
        true_ratio=float(ratios[0].max()),
        sampled_ratio=float(ratios[1].max()),
    )


def miss_probability(p: float, n: int, S: int, A: int, delta: float) -> float:
    """Return the probability that a successor of probability `p` has a frequency too far from `p` in `n` draws.

    The number x of draws of this successor has a binomial distribution. The result is the total probability of all x
    with |x / n - p| > 4 sqrt(x / n A_l) + 28 A_l.
    """
    x = np.arange(n + 1.0)
    frequencies = x / n
    wrong = np.abs(frequencies - p) > width(frequencies, rate(n, S, A, delta)) * (1.0 + SLACK)
    x = x[wrong]
    logarithms = (
        special.gammaln(n + 1.0)
        - special.gammaln(x + 1.0)
        - special.gammaln(n - x + 1.0)
        + special.xlogy(x, p)
        + special.xlog1py(n - x, -p)
    )
    return float(np.exp(logarithms).sum())


def miss_probabilities(world: SSP, n: int, delta: float = 0.1) -> Floats:
    """Return an upper bound on the probability of a miss after `n` visits, for each state-action pair of `world`.

    The upper bound is a sum over the successors. The lemma claims a probability of at most `delta` / (2 S A n).
    """
    check("delta", delta, Confidence)
    S, A = world.costs.shape
    distinct, index = np.unique(world.to_dense(), return_inverse=True)
    misses = np.array([miss_probability(float(p), n, S, A, delta) for p in distinct])
    return np.asarray(misses[index.reshape(S, A, S + 1)].sum(axis=2))
