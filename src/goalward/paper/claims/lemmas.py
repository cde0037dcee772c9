"""The lemmas of the analysis, tested on runs that were recorded in full.

The lemmas on R2, on the sampled kernels and on posterior sampling are about worlds drawn from the prior: here Dirichlet
rows of concentration 1, five states, two actions and costs between 0.2 and 1, where large values are very rare. The
other lemmas are about every run. They are also tested on the paper's two worlds with its prior, Dirichlet(0.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.posterior.psrl import PSRL
from goalward.beliefs.dirichlet import Dirichlet
from goalward.formatting import number, with_range
from goalward.learning.learn import run_agent
from goalward.paper.claims.findings import Finding, all_of, at_most, below, certain
from goalward.paper.claims.runs import PAPER_WORLDS, RunSource
from goalward.seeds import generator, run_seed
from goalward.statistics import Interval, mean_interval
from goalward.theory.analysis_intervals import Intervals, cut_into_intervals
from goalward.theory.confidence import Coverage, coverage, miss_probabilities, promise
from goalward.theory.decomposition import Decomposition, decompose
from goalward.theory.epochs import EpochCount, Invariants, check_invariants, count_epochs
from goalward.theory.posterior_lemma import agreement, draw_world, quantities, sample_pair
from goalward.theory.regret_bounds import third_term_bound

__all__ = ["lemma_findings", "posterior_finding"]

COSTS = np.linspace(0.2, 1.0, 10).reshape(5, 2)
PRIOR = Dirichlet(1.0)
DELTA = 0.1
LOOSE_VISITS = 100
EXACT_COUNTS = (10, 100, 1_000, 3_000, 10_000, 30_000)


@dataclass(frozen=True, eq=False)
class Examination:
    """What the lemmas are about, measured on one run."""

    terms: Decomposition
    count: EpochCount
    invariants: Invariants
    cover: Coverage
    intervals: Intervals
    loose: Intervals
    """The same with pairs that are known after `LOOSE_VISITS` visits."""
    third: float
    """The bound on R3."""


def examine(name: str | None, episodes: int, seed: int) -> Examination:
    """Record a run of PSRL-SSP, in one of the paper's worlds or in one drawn from the prior, and measure it."""
    if name is None:
        prior = PRIOR
        world = draw_world(prior, Task(COSTS, 0, episodes), generator(run_seed(seed, "drawn")))
    else:
        prior = Dirichlet(0.1)
        world = PAPER_WORLDS[name]()
    run = run_agent(PSRL(prior), world, episodes, run_seed(seed, "examined"), keep_plans=True, keep_steps=True)
    terms, cut = decompose(run, world), cut_into_intervals(run, world)
    S, A = world.costs.shape
    alpha = cut.alpha * LOOSE_VISITS / cut.threshold
    return Examination(
        terms=terms,
        count=count_epochs(run.epochs, S, A),
        invariants=check_invariants(run),
        cover=coverage(run, world, DELTA),
        intervals=cut,
        loose=cut_into_intervals(run, world, alpha=alpha),
        third=third_term_bound(S, A, terms.B, cut.M, run.total_steps, terms.L, cut.delta),
    )


def lemma_findings(source: RunSource) -> list[Finding]:
    """Test all lemmas except that on posterior sampling."""
    drawn_runs, fixed_runs = source.choose(30, 200), source.choose(2, 10)
    drawn_K, fixed_K = source.choose(500, 2_000), source.choose(1_000, 10_000)
    tasks: list[tuple[str | None, int, int]] = [(None, drawn_K, seed) for seed in range(drawn_runs)]
    tasks += [(name, fixed_K, seed) for name in PAPER_WORLDS for seed in range(fixed_runs)]
    examined = source.map(examine, tasks)
    drawn = examined[:drawn_runs]
    where = f"{drawn_runs} worlds drawn from the prior, K={drawn_K:,}"
    everywhere = f"{where}; {' and '.join(PAPER_WORLDS)}, {fixed_runs} runs each, K={fixed_K:,}"
    return [
        decomposition_finding(examined, everywhere),
        first_term_finding(examined, everywhere),
        second_term_finding(drawn, where),
        third_term_finding(drawn, where),
        epochs_finding(examined, everywhere),
        coverage_finding(examined, drawn, everywhere),
        intervals_finding(examined, everywhere),
    ]


def decomposition_finding(examined: list[Examination], ran: str) -> Finding:
    """Test that regret is the sum of three terms, path by path."""
    worst = max(abs(run.terms.sum - run.terms.regret) / run.terms.total_cost for run in examined)
    claim = "Section 4: regret is R1 + R2 + R3"
    return Finding("decomposition", claim, ran, f"largest relative error {worst:.1e}", certain(worst < 1e-6))


def first_term_finding(examined: list[Examination], ran: str) -> Finding:
    """Test R1 <= B L on every path."""
    worst = max(run.terms.R1 / run.terms.bound for run in examined)
    claim = "Lemma: R1 <= B L"
    return Finding("first-term", claim, ran, f"largest R1 / (B L) is {worst:.3g}", certain(worst <= 1.0))


def second_term_finding(drawn: list[Examination], ran: str) -> Finding:
    """Test E[R2] <= B E[L] over worlds of the prior."""
    gap = mean_interval(np.array([run.terms.R2 - run.terms.bound for run in drawn]))
    R2 = mean_interval(np.array([run.terms.R2 for run in drawn]))
    bound = float(np.mean([run.terms.bound for run in drawn]))
    figure = f"mean R2 {with_range(R2)}, mean B L {number(bound)}"
    return Finding("second-term", "Lemma: E[R2] <= B E[L]", ran, figure, below(gap, 0.0))


def third_term_finding(drawn: list[Examination], ran: str) -> Finding:
    """Test the bound on E[R3]."""
    ratio = mean_interval(np.array([run.terms.R3 / run.third for run in drawn]))
    figure = f"mean of R3 over its bound {with_range(ratio)}"
    note = "the bound's constants, 288 and 1632, leave several orders of magnitude"
    return Finding("third-term", "Lemma: E[R3] <= 288 B S sqrt(M A) log + ...", ran, figure, below(ratio, 1.0), note)


def epochs_finding(examined: list[Examination], ran: str) -> Finding:
    """Test the number of epochs, with the logarithm to base 2, and what holds at every epoch."""
    worst = max(run.count.L / run.count.bound for run in examined)
    macro = max(run.count.N / run.count.macro_bound for run in examined)
    true = all(
        run.count.holds and run.invariants.doubling and run.invariants.triggers_rarely and run.terms.L > 0
        for run in examined
    )
    figure = f"largest L / bound is {worst:.3g}, macro-epochs {macro:.3g} of theirs; all invariants checked"
    note = "with log to base 2; with the natural logarithm the lemma is false, see goalward.theory.epochs"
    claim = "Lemma: L <= sqrt(2 S A K log T) + S A log T; K_l <= K_{l-1} + 1; visits at most double"
    return Finding("epochs", claim, ran, figure, certain(true), note)


def coverage_finding(examined: list[Examination], drawn: list[Examination], ran: str) -> Finding:
    """Test that kernels lie in their Bernstein sets as often as promised."""
    total = drawn[0].cover
    for run in drawn[1:]:
        total += run.cover
    fixed_misses = sum(run.cover.true_misses for run in examined) - total.true_misses
    worst = 0.0
    for build in PAPER_WORLDS.values():
        world = build()
        for n in EXACT_COUNTS:
            allowed = promise(n, world.states, world.actions, DELTA)
            worst = max(worst, float(miss_probabilities(world, n, DELTA).max() / allowed))
    misses = total.true_misses + total.sampled_misses + fixed_misses
    # Markov's inequality: if the lemma holds, this many misses have at most this probability.
    chance = 1.0 if misses == 0 else min(1.0, 2.0 * sum(run.cover.promised for run in examined) / misses)
    verdict = certain(worst <= 1.0 and chance > 0.05)
    figure = (
        f"{total.true_misses} misses of theta_* and {total.sampled_misses} of theta_l in {total.checks:,} sets,"
        f" {total.informative:,} of which exclude anything; {total.promised:.3g} are allowed."
        f" Exact probability of a miss at n = 10 ... 30,000: at most {worst:.1e} of the promise"
    )
    note = "the sets are wide: 28 A alone exceeds 1 up to several hundred visits"
    return Finding(
        "bernstein", "Lemma: theta_* and theta_l lie in B_l w.p. 1 - delta/(2 S A n)", ran, figure, verdict, note
    )


def intervals_finding(examined: list[Examination], ran: str) -> Finding:
    """Test the lemmas on intervals: their number, their variance, and the sum of the rates."""
    both = [(run.intervals, run.loose) for run in examined]
    largest = max(cut.M / cut.bound for pair in both for cut in pair)
    rates = max(cut.rates / cut.rates_bound for cut, _ in both)
    strict, loose = (mean_interval(np.array([pair[side].variance_ratio for pair in both])) for side in (0, 1))
    verdict = all_of(certain(largest <= 1.0 and rates <= 1.0), at_most(strict, 1.0), at_most(loose, 1.0))
    figure = (
        f"largest M / bound {largest:.3g}, sum of A_l / bound {rates:.3g}; mean variance of an interval over 44 B²"
        f" {with_range(strict)}, and {with_range(loose)} if pairs are known after {LOOSE_VISITS} visits"
    )
    known, visits = max(cut.known_pairs for cut, _ in both), min(cut.threshold for cut, _ in both)
    note = f"with the proof's constants a pair needs {number(visits)} visits or more to be known; {known} ever are"
    claim = "Lemmas on intervals: M <= C/B + K + L + ..., sum A_l <= 6 S A log², variance <= 44 B²"
    return Finding("intervals", claim, ran, figure, verdict, note)


def posterior_finding(source: RunSource) -> Finding:
    """Test that sampled and true models can be exchanged, over worlds drawn from the prior."""
    number_of_worlds, epoch, episodes = source.choose(150, 1_000), 15, 100
    wanted = quantities(Task(COSTS, 0, episodes))
    tasks = [(PSRL(PRIOR), COSTS, epoch, episodes, run_seed(seed, "pair"), wanted) for seed in range(number_of_worlds)]
    pairs = [pair for pair in source.map(sample_pair, tasks, size=25) if pair is not None]
    sampled, true = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    names = ["V(s_init)" if row is None else f"theta{row}" for row in wanted]
    tests = agreement(sampled, true, names)
    smallest = min(test.p for test in tests)
    p = min(1.0, len(tests) * smallest)
    value = tests[0]
    half = 1.96 * value.error
    interval = Interval(value.difference, value.difference - half, value.difference + half, value.worlds)
    ran = f"{len(pairs)} worlds drawn from the prior, epoch {epoch} of each; exact tests of {len(tests)} quantities"
    figure = f"mean V(s_init; theta_l) - V(s_init; theta_*) {with_range(interval)}; p = {p:.2g} for all tests together"
    note = "rejected at p < 0.01, which a true property is with probability below 0.01"
    return Finding("posterior", "Lemma: E f(theta_l) = E f(theta_*)", ran, figure, certain(p >= 0.01), note)
