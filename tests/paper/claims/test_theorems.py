"""Growth of regret and epochs: verdicts on made-up numbers, and what is measured on real runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import GivenSource, SmallSource, cell, made_up

from goalward import hardness
from goalward.formatting import with_range
from goalward.paper.claims import theorems
from goalward.paper.claims.claims import Verdict
from goalward.paper.claims.runs import drawn_worlds
from goalward.studies.rerun import rerun
from goalward.theory.epochs import count_epochs
from goalward.theory.regret_bounds import theorem_1, theorem_2

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN

EPOCHS = """
name = "epochs"
runs = 3
episodes = 300
[[worlds]]
world = "grid-world-v0"
label = "GridWorld"
[[worlds]]
world = "random-mdp-v1"
label = "RandomMDP"
settings = { states = 8, seed = 5, rows = "uniform" }
[[worlds]]
world = "grid-world-v0"
label = "GridWorld, success 0.4"
settings = { success = 0.4 }
[[agents]]
agent = "psrl"
label = "PSRL-SSP"
"""


class TestEpochs:
    def test_real_runs_stay_within_the_lemma(self, tmp_path: Path) -> None:
        source = SmallSource(tmp_path, 3, 100)
        number, _, conjecture = theorems.epochs(source)
        assert number.verdict is HOLDS
        assert "all runs within the lemma's bound" in number.figure
        # The repeated run has the epochs of the stored one.
        results = source.results("claims-epochs", runs=3, episodes=100)
        found = results.cells[0]
        for spec in results.design.specs(found.cell):
            count, starts = theorems.epochs_of(spec, 11, 4)
            stored = source.store.read(spec.key)
            assert count.L == len(starts) == stored.outcome["total_epochs"] == stored.column("epochs")[-1]
        assert f"exponent in K: GridWorld {with_range(theorems.exponent(found))}" in conjecture.figure

    def test_runs_beyond_the_lemma_are_counted(self, tmp_path: Path) -> None:
        """An agent that samples at every step has one epoch a step, far more than the lemma allows."""
        study = tmp_path / "epochs.toml"
        study.write_text(EPOCHS.replace('agent = "psrl"', 'agent = "psrl-step"'))
        source = SmallSource(tmp_path / "results", 0, 0)
        results = source.results(str(study), runs=1, episodes=150)
        found = theorems.sqrt_epochs(source, results, "")
        assert found.verdict is FAILS
        kept = [
            count_epochs(rerun(spec)[1].epochs, *drawn_worlds(results, each)[0].costs.shape).holds
            for each in results.cells
            for spec in results.design.specs(each.cell)
        ]
        assert kept.count(False) > 0
        assert f"; {kept.count(False)} of 3 runs not within the lemma's bound" in found.figure

    @pytest.mark.parametrize(("factor", "verdict"), [(1.5, HOLDS), (0.5, FAILS)])
    def test_tsde(self, factor: float, verdict: Verdict) -> None:
        results = made_up(*growing(0.4, factor))
        assert theorems.tsde(results, "").verdict is verdict

    @pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (0.8, FAILS)])
    def test_the_conjecture(self, power: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(theorems, "sqrt_epochs", lambda *arguments: None)
        *_, conjecture = theorems.epochs(GivenSource(*growing(power, 1.0)))
        assert conjecture.verdict is verdict


def growing(power: float, factor: float) -> Iterable[Any]:
    """Make up regrets that grow like a power of K; those of TSDE are larger by a factor."""
    points = np.arange(1, 1001)
    for world in theorems.EPOCH_WORLDS:
        for agent, times in (("PSRL-SSP", 1.0), ("TSDE", factor)):
            finals = times * np.array([99.0, 100.0, 101.0])
            yield cell(world, agent, finals.tolist(), np.outer(finals, (points / 1000.0) ** power), points)


@pytest.fixture(scope="module")
def theorem_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("theorem")


class TestTheorem1:
    """S² A = 2,048 episodes are the fewest that the largest world of the sweep allows."""

    def test_real_runs(self, theorem_runs: Path) -> None:
        source = SmallSource(theorem_runs, 2, 2048)
        in_K, sizes = theorems.theorem_1_claims(source)
        results = source.results("claims-theorem", runs=2, episodes=2048)
        largest = max((theorems.exponent(each) for each in results.cells), key=lambda each: each.low)
        assert f"the largest of 8 settings: {with_range(largest)}" in in_K.figure
        assert in_K.verdict is (HOLDS if largest.low <= 0.5 else FAILS)
        # Two worlds cannot decide how the ratio grows, except in A.
        assert sizes.verdict is OPEN
        self.check_sweep(results, "states", [4, 8, 16, 32])
        self.check_sweep(results, "actions", [2, 4, 8, 16])

    @staticmethod
    def check_sweep(results: Any, setting: str, sizes: list[int]) -> None:
        sweep = theorems.swept(results, setting)
        cells = [each for each in results.cells if setting in each.cell.world.swept]
        assert sweep.sizes.tolist() == sizes
        assert np.array_equal(sweep.regrets, [each.finals["gap_regret"] for each in cells])
        worlds = [drawn_worlds(results, each) for each in cells]
        hard = [[hardness(world) for world in row] for row in worlds]
        B = max(each.B_star for each in itertools.chain(*hard))
        c_min = min(each.c_min for each in itertools.chain(*hard))
        for place, row in enumerate(worlds):
            S, A = row[0].costs.shape
            assert sweep.bounds[place] == pytest.approx(theorem_1(S, A, 2048, B, c_min))

    @pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (0.8, FAILS)])
    def test_the_exponent_in_k_decides(self, theorem_runs: Path, power: float, verdict: Verdict) -> None:
        class Growing(SmallSource):
            """Has the worlds of the real runs, and regrets that grow like a power of K."""

            def results(self, name: str, *, runs: int, episodes: int) -> Any:
                real = super().results(name, runs=runs, episodes=episodes)
                return replace(real, cells=[with_power(each, power) for each in real.cells])

        in_K, _ = theorems.theorem_1_claims(Growing(theorem_runs, 2, 2048))
        assert in_K.verdict is verdict

    @pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (1.5, FAILS)])
    def test_sizes(self, power: float, verdict: Verdict) -> None:
        """A regret that grows like A^1.5 is too much for a bound whose terms grow like sqrt(A) and A."""
        sizes = np.array([2.0, 4.0, 8.0, 16.0])
        bounds = np.array([theorem_1(8, int(A), 10_000, 5.0, 0.2) for A in sizes])
        sweep = theorems.Sweep(sizes, np.outer(sizes**power, [1.0, 1.1, 0.9]), bounds)
        found = theorems.sizes({"A": sweep}, "")
        assert found.verdict is verdict
        assert f"regret {power:g}" in found.figure

    def test_fewer_states_near_the_goal_make_larger_values(self) -> None:
        far, near = (np.array([theorems.goal_run(states, 200, seed) for seed in range(5)]) for states in (1, 8))
        assert np.median(far[:, 1]) > 2 * np.median(near[:, 1])
        for runs in (far, near):
            assert (runs[:, 0] > 0.0).all()
            assert ((runs[:, 2] >= 0.2) & (runs[:, 2] < 1.0)).all()


def with_power(each: Any, power: float) -> Any:
    curves = np.outer(1.0 + 0.01 * np.arange(len(each.runs)), each.points.astype(float) ** power)
    return replace(each, curves={"gap_regret": curves}, values=dict.fromkeys(("regret", "gap_regret"), curves[:, -1]))


class TestTheorem2:
    def test_a_real_run(self) -> None:
        """Both regrets are in the true costs, and the bound is that of the world."""
        perturbed, plain, bound = theorems.perturbed_run(200, 0)
        assert 0.0 <= plain < bound
        assert 0.0 <= perturbed < bound
        again = theorems.perturbed_run(200, 0)
        assert again == (perturbed, plain, bound)
        assert theorems.perturbed_run(400, 0)[2] > bound
        assert bound > theorem_2(5, 2, 200, 1.0, 1.0)

    @pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (0.8, FAILS)])
    def test_the_exponent_decides(self, power: float, verdict: Verdict) -> None:
        class Growing(GivenSource):
            def map(self, function: Callable[..., Any], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Any]:
                assert function is theorems.perturbed_run
                return [(K**power * (1.0 + 0.01 * seed), 1.0, 1e6) for K, seed in tasks]

        (found,) = theorems.theorem_2_claim(Growing())
        assert found.verdict is verdict
        assert f"exponent in K {power:g} [" in found.figure
