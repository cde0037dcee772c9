"""Test the lemmas of the analysis on runs with recorded steps and plans.

The lemmas on R2, on the sampled kernels and on posterior sampling are about worlds drawn from the prior. Here these
worlds have Dirichlet(1) rows, five states, two actions and costs from 0.2 to 1; large V* are very rare. The other
lemmas are about every run. They are also tested in the paper's two worlds, with the paper's prior Dirichlet(0.1).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.posterior.psrl import PSRL
from goalward.arrays import Floats
from goalward.beliefs.dirichlet import Dirichlet
from goalward.formatting import Interval, number, with_range
from goalward.learning.learn import run_agent
from goalward.paper.claims.claims import Finding, all_of, at_most, below, certain
from goalward.paper.claims.runs import PAPER_WORLDS, RunSource
from goalward.seeds import generator, run_seed
from goalward.statistics import mean_interval
from goalward.theory.analysis_intervals import cut_into_intervals
from goalward.theory.confidence import Coverage, coverage, miss_probabilities, promise
from goalward.theory.decomposition import decompose
from goalward.theory.epochs import check_invariants, count_epochs
from goalward.theory.posterior_lemma import agreement, draw_world, quantities, sample_pair
from goalward.theory.trace import trace_of

COSTS = np.linspace(0.2, 1.0, 10).reshape(5, 2)
PRIOR = Dirichlet(1.0)
DELTA = 0.1
LOOSE_VISITS = 100
EXACT_COUNTS = (10, 100, 1_000, 3_000, 10_000, 30_000)
Measured = dict[str, Floats]
"""The columns of `examine`, with an entry for each run."""


def examine(name: str | None, episodes: int, seed: int) -> dict[str, float]:
    """Record a run of PSRL-SSP and return its measurements. If `name` is None, the world is drawn from the prior.

    `R3`, `L`, `N`, `M`, `rates` and `variance` are divided by their bounds. `loose_variance` is the variance if pairs
    count as known after `LOOSE_VISITS` visits.
    """
    if name is None:
        prior = PRIOR
        world = draw_world(prior, Task(COSTS, 0, episodes), generator(run_seed(seed, "drawn")))
    else:
        prior, world = Dirichlet(0.1), PAPER_WORLDS[name]()
    run = run_agent(PSRL(prior), world, episodes, run_seed(seed, "examined"), keep_plans=True, keep_steps=True)
    trace, (S, A) = trace_of(run), world.costs.shape
    terms, cut, cover = decompose(trace), cut_into_intervals(trace), sum(coverage(trace, DELTA), Coverage())
    count, invariants_hold = count_epochs(run.epochs, S, A), all(check_invariants(trace))
    loose = cut_into_intervals(trace, known_after=LOOSE_VISITS)
    return {
        "error": terms.error,
        "R1": terms.R1,
        "R2": terms.R2,
        "BL": terms.bound,
        "R3": terms.R3 / cut.third_term_bound,
        "L": count.L / count.bound,
        "N": count.N / count.macro_bound,
        "epochs_hold": count.holds and invariants_hold,
        "M": max(cut.M / cut.bound, loose.M / loose.bound),
        "rates": cut.rates / cut.rates_bound,
        "variance": cut.variance_ratio,
        "loose_variance": loose.variance_ratio,
        "known_pairs": cut.known_pairs,
        "known_after": cut.known_after,
        **vars(cover),
    }


def lemmas(source: RunSource) -> Iterator[Finding]:
    """Test all lemmas except the lemma on posterior sampling."""
    drawn_runs, fixed_runs = source.size(200), source.size(10)
    drawn_K, fixed_K = source.size(2_000), source.size(10_000)
    tasks: list[tuple[str | None, int, int]] = [(None, drawn_K, seed) for seed in range(drawn_runs)]
    tasks += [(name, fixed_K, seed) for name in PAPER_WORLDS for seed in range(fixed_runs)]
    examined = source.map(examine, tasks)
    where = f"{drawn_runs} worlds drawn from the prior, K={drawn_K:,}"
    everywhere = f"{where}; {' and '.join(PAPER_WORLDS)}, {fixed_runs} runs each, K={fixed_K:,}"
    columns = {name: np.array([run[name] for run in examined]) for name in examined[0]}
    yield from on_every_run(columns, everywhere)
    yield from on_worlds_of_the_prior({name: column[:drawn_runs] for name, column in columns.items()}, where)
    yield bernstein(columns, drawn_runs, everywhere)


def on_every_run(runs: Measured, ran: str) -> Iterator[Finding]:
    """Test the lemmas that hold for every single run."""
    worst = runs["error"].max()
    yield Finding("decomposition", ran, f"largest relative error {worst:.1e}", certain(worst < 1e-6))
    worst = (runs["R1"] / runs["BL"]).max()
    yield Finding("first-term", ran, f"largest R1 / (B L) is {worst:.3g}", certain(worst <= 1.0))
    figure = (
        f"largest L / bound is {runs['L'].max():.3g}, macro-epochs at most {runs['N'].max():.3g} of their bound;"
        " all invariants checked"
    )
    note = "with log to base 2; with the natural logarithm the lemma is false, see goalward.theory.epochs"
    yield Finding("epochs", ran, figure, certain(bool(runs["epochs_hold"].all())), note)
    strict, loose = mean_interval(runs["variance"]), mean_interval(runs["loose_variance"])
    fit = certain(bool(max(runs["M"].max(), runs["rates"].max()) <= 1.0))
    figure = (
        f"largest M / bound {runs['M'].max():.3g}, sum of A_l / bound {runs['rates'].max():.3g}; mean variance of an"
        f" interval over 44 B² {with_range(strict)}, and {with_range(loose)} if pairs are known after {LOOSE_VISITS}"
        " visits"
    )
    known, visits = int(runs["known_pairs"].max()), float(runs["known_after"].min())
    note = f"with the proof's constants a pair needs {number(visits)} visits or more to be known; {known} reach this"
    yield Finding("intervals", ran, figure, all_of(fit, at_most(strict, 1.0), at_most(loose, 1.0)), note)


def on_worlds_of_the_prior(runs: Measured, ran: str) -> Iterator[Finding]:
    """Test the bounds on E[R2] and E[R3]."""
    R2, bound, gap = mean_interval(runs["R2"]), float(runs["BL"].mean()), mean_interval(runs["R2"] - runs["BL"])
    yield Finding("second-term", ran, f"mean R2 {with_range(R2)}, mean B L {number(bound)}", below(gap, 0.0))
    ratio = mean_interval(runs["R3"])
    note = "the bound's constants, 288 and 1632, leave several orders of magnitude"
    yield Finding("third-term", ran, f"mean of R3 over its bound {with_range(ratio)}", below(ratio, 1.0), note)


def bernstein(runs: Measured, drawn: int, ran: str) -> Finding:
    """Test how often kernels lie in their Bernstein sets. The first `drawn` runs are in worlds from the prior."""
    true, sampled, checks, informative = (
        int(runs[name][:drawn].sum()) for name in ("true_misses", "sampled_misses", "checks", "informative")
    )
    worst = 0.0
    for world in (build() for build in PAPER_WORLDS.values()):
        for n in EXACT_COUNTS:
            allowed = promise(n, world.states, world.actions, DELTA)
            worst = max(worst, float(miss_probabilities(world, n, DELTA).max() / allowed))
    misses = int(runs["true_misses"].sum()) + sampled
    # Markov's inequality: if the lemma holds, this many misses have at most this probability.
    chance = 1.0 if misses == 0 else min(1.0, 2.0 * float(runs["promised"].sum()) / misses)
    figure = (
        f"{true} misses of theta_* and {sampled} of theta_l in {checks:,} sets, {informative:,} of which exclude"
        f" anything; {runs['promised'][:drawn].sum():.3g} are allowed."
        f" Exact probability of a miss at n = 10 ... 30,000: at most {worst:.1e} of the promise"
    )
    note = "the sets are wide: 28 A alone exceeds 1 up to several hundred visits"
    return Finding("bernstein", ran, figure, certain(worst <= 1.0 and chance > 0.05), note)


def posterior(source: RunSource) -> Iterator[Finding]:
    """Test whether sampled and true models are exchangeable, over worlds drawn from the prior."""
    number_of_worlds, epoch, episodes = source.size(1_000), 15, 100
    wanted = quantities(Task(COSTS, 0, episodes))
    tasks = [
        (PSRL(PRIOR), PRIOR, COSTS, epoch, episodes, run_seed(seed, "pair"), wanted) for seed in range(number_of_worlds)
    ]
    pairs = [pair for pair in source.map(sample_pair, tasks) if pair is not None]
    sampled, true = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    names = ["V(s_init)" if row is None else f"theta{row}" for row in wanted]
    tests = agreement(sampled, true, names)
    p = min(1.0, len(tests) * min(test.p for test in tests))
    value, half = tests[0].difference, 1.96 * tests[0].error
    interval = Interval(value, value - half, value + half, tests[0].worlds)
    ran = f"{len(pairs)} worlds drawn from the prior, epoch {epoch} of each; exact tests of {len(tests)} quantities"
    figure = f"mean V(s_init; theta_l) - V(s_init; theta_*) {with_range(interval)}; p = {p:.2g} for all tests together"
    note = "rejected at p < 0.01; a true property is rejected with a probability below 0.01"
    yield Finding("posterior", ran, figure, certain(p >= 0.01), note)
