"""The lemmas and theorems of the PSRL-SSP paper, computed for recorded runs.

This package analyses finished runs; `learn` does not use it. `report` compares a run with all lemmas and theorems. The
other functions compute the quantities of a single lemma or theorem, mostly from the `Trace` of a run.
"""

from typing import TYPE_CHECKING

from goalward.lazy import lazy

if TYPE_CHECKING:
    from goalward.theory.analysis_intervals import cut_into_intervals as cut_into_intervals
    from goalward.theory.confidence import coverage as coverage
    from goalward.theory.confidence import miss_probabilities as miss_probabilities
    from goalward.theory.decomposition import decompose as decompose
    from goalward.theory.epochs import check_invariants as check_invariants
    from goalward.theory.epochs import count_epochs as count_epochs
    from goalward.theory.epochs import epoch_bound as epoch_bound
    from goalward.theory.limit import RegretLimit as RegretLimit
    from goalward.theory.limit import regret_limit as regret_limit
    from goalward.theory.posterior_lemma import agreement as agreement
    from goalward.theory.posterior_lemma import draw_world as draw_world
    from goalward.theory.posterior_lemma import sample_pair as sample_pair
    from goalward.theory.regret_bounds import theorem_1 as theorem_1
    from goalward.theory.regret_bounds import theorem_2 as theorem_2
    from goalward.theory.run_report import Report as Report
    from goalward.theory.run_report import report as report
    from goalward.theory.trace import Trace as Trace
    from goalward.theory.trace import trace_of as trace_of
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__)
