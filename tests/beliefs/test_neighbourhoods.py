"""The prior of neighbourhoods against enumeration of all subsets on tiny worlds, and on worlds with many states."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2

import goalward as gw
from goalward import SSP, Neighbourhoods, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents import PSRL
from goalward.agents.agent_file import decode, encode
from goalward.beliefs import neighbourhoods
from goalward.beliefs.neighbourhoods import LARGEST, NeighbourhoodsBelief, law_weights, laws, mean_size
from goalward.errors import UnreachableGoalError
from goalward.ssp.graph import structure
from goalward.theory.posterior_lemma import agreement, quantities, sample_pair

Support = tuple[frozenset[int], ...]


def made(dense: np.ndarray, costs: np.ndarray | None = None) -> NeighbourhoodsBelief:
    """A belief that has seen ``dense[s, a, s']`` steps, in mixed order."""
    S, A, _ = dense.shape
    belief = Neighbourhoods().belief(Task(np.ones((S, A)) if costs is None else costs, 0, 1))
    rows = np.repeat(np.argwhere(dense >= 0), dense.ravel(), axis=0)
    rows = np.random.default_rng(0).permutation(rows)
    belief.update(
        Steps.in_table(*(np.ascontiguousarray(rows[:, i]) for i in (0, 1)), np.ones(len(rows)), rows[:, 2].copy(), -1)
    )
    return belief


def subsets(members: frozenset[int]) -> list[frozenset[int]]:
    """All subsets that are not empty."""
    return [frozenset(c) for size in range(1, len(members) + 1) for c in itertools.combinations(members, size)]


def probability(row: frozenset[int], seen: np.ndarray) -> float:
    """The probability of what was seen in a row on a given support."""
    if any(seen[j] and j not in row for j in range(len(seen))):
        return 0.0
    return math.exp(gammaln(len(row)) - gammaln(len(row) + seen.sum()) + gammaln(seen + 1).sum())


def enumerate_state(seen: np.ndarray, ratio: float, row_ratio: float) -> dict[Support, float]:
    """The probability of each support of a state's rows and of what was seen, by summing over all neighbourhoods."""
    n = seen.shape[1]
    found: Counter[Support] = Counter()
    for B in subsets(frozenset(range(n))):
        k = len(B)
        weight = law_weights(ratio, n)[k - 1] / math.comb(n, k)
        sizes = law_weights(row_ratio, k)
        rows = [
            [(R, sizes[len(R) - 1] / math.comb(k, len(R)) * probability(R, row)) for R in subsets(B)] for row in seen
        ]
        for choice in itertools.product(*rows):
            if weight:
                found[tuple(R for R, _ in choice)] += weight * math.prod(p for _, p in choice)
    return found


def expected_row(R: frozenset[int], seen: np.ndarray) -> np.ndarray:
    inside = np.array([j in R for j in range(len(seen))])
    return np.where(inside, (1.0 + seen) / (len(R) + seen.sum()), 0.0)


def reaches_goal(supports: tuple[Support, ...]) -> bool:
    S = len(supports)
    known, before = {S}, 0
    while len(known) > before:
        before = len(known)
        known |= {s for s in range(S) if any(R & known for R in supports[s])}
    return len(known) == S + 1


def random_counts(seed: int, S: int = 3, A: int = 2) -> np.ndarray:
    """Counts of a world in which every state shows few successors."""
    rng = np.random.default_rng(seed)
    likely = rng.random((S, 1, S + 1)) < 0.6
    return np.asarray(rng.poisson(rng.choice([0.0, 0.5, 3.0], (S, A, S + 1))) * likely)


@pytest.mark.parametrize("seed", range(4))
def test_laws_against_enumeration(seed: int) -> None:
    """With the last seed, one state has shown every successor."""
    seen = random_counts(seed)
    if seed == 3:
        seen[1] = [[1, 0, 2, 1], [3, 1, 0, 2]]
    belief = made(seen)
    log_weights = []
    for ratio, row_ratio in zip(*belief.laws[:2], strict=True):
        tables = [enumerate_state(rows, ratio, row_ratio) for rows in seen]
        log_weights.append(sum(math.log(sum(table.values())) for table in tables))
    weights = np.exp(np.array(log_weights) - logsumexp(log_weights))
    np.testing.assert_allclose(belief.posterior(), weights, rtol=1e-11, atol=1e-16)


def log_evidence(seen: np.ndarray, ratio: float, row_ratio: float) -> float:
    """The logarithm of the probability of what was seen from a state, by the sums over k and l in full."""
    n = seen.shape[1]
    k, K0 = np.arange(1, n + 1), int(seen.any(axis=0).sum())
    with np.errstate(divide="ignore"):
        total = np.log(law_weights(ratio, n)) + gammaln(n - K0 + 1) - gammaln(n + 1)
        total = total + np.where(k >= K0, gammaln(k + 1) - gammaln(np.maximum(k - K0, 0) + 1), -np.inf)
        for row in seen[seen.any(axis=1)]:
            N, k0 = row.sum(), np.count_nonzero(row)
            inside = (k >= k0) & (k >= K0)
            if row_ratio == math.inf:
                total = total + np.where(inside, gammaln(k) - gammaln(k + N), -np.inf)
            else:
                log_h = (k - 1) * math.log(row_ratio)
                terms = log_h + gammaln(k + 1) - gammaln(np.maximum(k - k0, 0) + 1) + gammaln(k) - gammaln(k + N)
                sums = np.logaddexp.accumulate(np.where(k >= k0, terms, -np.inf))
                sums = sums - np.logaddexp.accumulate(log_h)
                total = total + np.where(inside, sums + gammaln(np.maximum(k - k0, 0) + 1) - gammaln(k + 1), -np.inf)
            total = total + gammaln(row + 1).sum()
    return float(logsumexp(total))


@pytest.mark.parametrize(
    ("n", "shown", "visits"), [(40, 3, 2), (40, 30, 300), (400, 5, 40), (1500, 1200, 1300), (1500, 1, 10_000)]
)
def test_sums_that_stop_early_against_full_sums(n: int, shown: int, visits: int) -> None:
    """One state has shown up to 1,200 successors, where the terms span more than the range of doubles."""
    rng = np.random.default_rng(n + shown)
    seen = np.zeros((n - 1, 2, n), dtype=np.int64)
    for row in seen[0]:
        row[:shown] = 1 + rng.multinomial(visits, np.ones(shown) / shown)
        row[: shown // 3] = 0 if row is seen[0, 1] else row[: shown // 3]
    belief = made(seen)
    log_weights = [log_evidence(seen[0], *pair) for pair in zip(*belief.laws[:2], strict=True)]
    found = belief.posterior()
    expected = np.exp(np.array(log_weights) - logsumexp(log_weights))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-15)


def test_drawn_supports_and_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 draws of all rows, the goal being reachable from everywhere: a correct sampler fails once in 10,000.

    Their mean lies within five standard errors.
    """
    seen = random_counts(3, A=1)
    belief = made(seen)
    cells: Counter[tuple[Support, ...]] = Counter()
    weight = 1.0 / len(belief.laws.ratio)
    for ratio, row_ratio in zip(*belief.laws[:2], strict=True):
        tables = [enumerate_state(rows, ratio, row_ratio) for rows in seen]
        for supports in itertools.product(*tables):
            p = weight * math.prod(table[support] for table, support in zip(tables, supports, strict=True))
            if p and reaches_goal(supports):
                cells[supports] += p
    count, total = 10_000, sum(cells.values())
    drawn: Counter[tuple[Support, ...]] = Counter()
    rng = np.random.default_rng(1)
    for _ in range(count):
        indptr, successors, _ = belief.draw_support(rng)
        drawn[tuple((frozenset(row.tolist()),) for row in np.split(successors, indptr[1:-1]))] += 1
    assert set(drawn) <= set(cells)
    large = [cell for cell, p in cells.items() if p / total * count >= 10.0]
    expected = np.array([cells[cell] / total * count for cell in large])
    observed = np.array([drawn[cell] for cell in large], dtype=np.float64)
    if len(large) < len(cells):
        expected, observed = np.append(expected, count - expected.sum()), np.append(observed, count - observed.sum())
    assert len(expected) > 30
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-4, len(expected) - 1)
    means = np.array([[[expected_row(R, seen[s, 0])] for s, (R,) in enumerate(supports)] for supports in cells])
    weights = np.array([p / total for p in cells.values()])
    exact = np.tensordot(weights, means, 1)
    errors = np.sqrt(np.tensordot(weights, (means - exact) ** 2, 1) / 2000)
    monkeypatch.setattr(neighbourhoods, "MEAN_DRAWS", 2000)
    assert (np.abs(belief.mean().to_dense() - exact) <= 5.0 * errors + 1e-12).all()
    monkeypatch.setattr(neighbourhoods, "MEAN_DRAWS", 2)
    assert belief.mean() == belief.mean()


def test_rows_are_dirichlet_on_their_support() -> None:
    """Given its size l, the row has the mean (1 + c)/(l + N): six figures within five standard errors."""
    seen = np.zeros((3, 1, 4), dtype=np.int64)
    seen[0, 0] = [0, 3, 1, 0]
    belief, rng = made(seen), np.random.default_rng(2)
    rows = np.array([belief.sample(rng).to_dense()[0, 0] for _ in range(10_000)])
    for size in (2, 3, 4):
        chosen = rows[(rows > 0.0).sum(axis=1) == size]
        mean, alpha = np.array([4.0, 2.0]) / (size + 4), size + 4.0
        error = np.sqrt(mean * (1.0 - mean) / (alpha + 1.0) / len(chosen))
        assert len(chosen) > 500
        assert (np.abs(chosen[:, 1:3].mean(axis=0) - mean) < 5 * error).all()


def test_sampled_and_true_worlds_can_be_exchanged() -> None:
    """Seven quantities, two tests each, at 0.001 / 14: together wrong with probability 0.001."""
    costs = np.linspace(0.2, 1.0, 8).reshape(4, 2)
    wanted = quantities(Task(costs, 0, 1))
    pairs = [sample_pair(PSRL(Neighbourhoods()), Neighbourhoods(), costs, 12, 40, seed, wanted) for seed in range(150)]
    sampled, true = (np.array([pair[side] for pair in pairs if pair is not None]) for side in (0, 1))
    assert len(sampled) >= 120
    found = agreement(sampled, true, [str(each) for each in wanted])
    assert min(min(each.p_mean, each.p_shape) for each in found) > 0.001 / 14


def test_states_can_be_relabelled() -> None:
    seen = random_counts(11, S=7)
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    moved = seen[order][:, :, np.append(order, 7)]
    one, other = made(seen), made(moved)
    np.testing.assert_allclose(other.posterior(), one.posterior(), rtol=1e-11)


def test_what_is_kept_is_what_counts_say() -> None:
    """Draws between the steps leave the posterior of the laws as if all steps had come at once."""
    world, rng = worlds.grid_world(5, 6), np.random.default_rng(3)
    run = gw.learn(PSRL(), world, 60, keep_steps=True)
    steps = run.trajectory
    assert steps is not None
    patient, busy = (Neighbourhoods().belief(Task.of(world, 1)) for _ in range(2))
    for begin in range(0, len(steps.states), 25):
        busy.update(steps.part(begin, begin + 25))
        patient.update(steps.part(begin, begin + 25))
        busy.posterior()
        if rng.random() < 0.1:
            fresh = copy.deepcopy(patient)
            np.testing.assert_allclose(busy.posterior(), fresh.posterior(), rtol=1e-8, atol=1e-14)
            assert fresh.evidence.changed is not patient.evidence.changed


def test_state() -> None:
    world = worlds.grid_world()
    prior = Neighbourhoods()
    belief = prior.belief(Task.of(world, 1))
    steps = gw.learn(PSRL(), world, 20, keep_steps=True).trajectory
    assert steps is not None
    belief.update(steps)
    again = decode(encode("prior", prior)).belief(Task.of(world, 1))
    again.restore(belief.to_state())
    assert again.sample(np.random.default_rng(1)) == belief.sample(np.random.default_rng(1))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("successors", lambda array: array + 12),
        ("successors", lambda array: array - 1),
        ("successors", lambda array: array[:, ::-1]),
        ("counts", lambda array: -array),
        ("counts", lambda array: array * 2),
        ("size", lambda array: array + 100),
        ("size", lambda array: array - 1),
        ("visits", lambda array: array + 1),
        ("visits", lambda array: array.astype(np.float64)),
    ],
)
def test_states_that_do_not_fit_are_refused(name: str, change) -> None:
    belief = made(random_counts(5))
    state = {key: value.copy() for key, value in belief.counts.to_state().items()}
    state[name] = np.ascontiguousarray(change(state[name]))
    with pytest.raises(ValueError, match=r"must|room"):
        made(np.zeros((3, 2, 4), dtype=np.int64)).restore({"counts": state})


def test_actions_that_are_not_available() -> None:
    costs = np.ones((3, 2))
    costs[1, 0] = np.inf
    seen = random_counts(6)
    seen[1, 0] = 0
    belief = made(seen, costs)
    model = belief.sample(np.random.default_rng(0))
    assert model.row(1, 0)[0].size == 0
    assert belief.mean().row(1, 0)[0].size == 0
    assert SSP.from_rows(model.indptr, model.successors, model.probabilities, np.ones((3, 2))).digest
    seen[1, 0, 0] = 1
    with pytest.raises(ValueError, match=r"\(state 1, action 0\) has visits, but the action is unavailable"):
        made(np.zeros_like(seen), costs).restore(made(seen).to_state())


def abyss() -> SSP:
    """A leap that may end in an abyss, from which one can only give up."""
    rows = [("edge", "go", "far side", 0.5, 1.0), ("edge", "go", "abyss", 0.5, 1.0), ("abyss", "go", "abyss", 1.0, 1.0)]
    return SSP.from_transitions(rows, goals=["far side"]).with_give_up(10.0)


def test_giving_up_is_known() -> None:
    world = abyss()
    belief = Neighbourhoods().belief(Task.of(world, 1))
    for model in (belief.mean(), *(belief.sample(np.random.default_rng(seed)) for seed in range(20))):
        np.testing.assert_array_equal(model.to_dense()[:, 1], world.to_dense()[:, 1])
        assert SSP.from_rows(*model.arrays, give_up=1).give_up == 1
    assert not gw.learn(PSRL(Neighbourhoods()), world, 20, seed=1, max_steps=20_000).truncated


def test_giving_up_says_nothing_about_other_actions() -> None:
    task = Task.of(abyss(), 1)
    steps = Steps.in_table(
        *(np.array(column) for column in ([0, 1, 1, 1], [0, 0, 1, 1], [1.0, 1.0, 10.0, 10.0], [1, 1, 0, 0])), -1
    )
    one, other = Neighbourhoods().belief(task), Neighbourhoods().belief(task)
    one.update(steps)
    other.update(steps.part(0, 2))
    assert one.sample(np.random.default_rng(3)) == other.sample(np.random.default_rng(3))
    again = Neighbourhoods().belief(task)
    again.restore(one.to_state())
    assert again.sample(np.random.default_rng(4)) == one.sample(np.random.default_rng(4))


def test_states_in_which_one_can_only_give_up() -> None:
    """However often the abyss was seen to lead to itself, the goal is reached from the start."""
    task = Task.of(abyss(), 1)
    belief = Neighbourhoods().belief(task)
    many = np.ones(10**6, dtype=np.int64)
    belief.update(Steps.in_table(many, many - 1, np.ones(10**6), many, -1))
    assert len(structure(belief.sample(np.random.default_rng(0))).dead_ends) == 0
    costs = task.costs.copy()
    costs[1, 0] = np.inf
    model = Neighbourhoods().belief(Task(costs, 0, 1, 1)).sample(np.random.default_rng(0))
    assert model.available.tolist() == [[True, False], [False, True]]


def test_states_without_a_way_to_the_goal_are_named() -> None:
    costs = np.ones((3, 2))
    costs[2] = np.inf
    with pytest.raises(UnreachableGoalError, match="no action is available in state 2"):
        Neighbourhoods().belief(Task(costs, 0, 1))
    seen = np.zeros((3, 2, 4), dtype=np.int64)
    seen[1, :, 1] = 10**6
    with pytest.raises(UnreachableGoalError, match=r"in 10000 consecutive posterior .* most often from state 1;"):
        made(seen).sample(np.random.default_rng(0))


def test_laws() -> None:
    for n in (2, 3, 50):
        found = laws(n, n)
        assert len(found.ratio) == 35
        assert len(found.row_ratios) == 5
        for ratio in (0.2, 0.75, 1.0, math.inf):
            means = [law_weights(ratio, m) @ np.arange(1, m + 1) for m in range(1, n + 1)]
            np.testing.assert_allclose(mean_size(ratio, np.arange(1, n + 1)), means, rtol=1e-12)


@pytest.mark.parametrize("side", [33, 100])
def test_large_worlds(side: int) -> None:
    """A thousand and ten thousand states of which nobody says the successors."""
    world = worlds.grid_world(side, side)
    run = gw.learn(PSRL(Neighbourhoods()), world, 1000, seed=1, max_steps=15, keep_plans=True)
    assert run.plans is not None
    for plan in run.plans:
        assert plan.model is not None
        assert len(plan.model.successors) < 2 * LARGEST
        assert len(structure(plan.model).dead_ends) == 0
    model = run.plans[-1].model
    assert model is not None
    assert SSP.from_rows(model.indptr, model.successors, model.probabilities, model.costs) == model


def test_an_agent_with_this_prior_is_saved_and_goes_on(tmp_path) -> None:
    world = worlds.grid_world()
    run = gw.learn(PSRL(Neighbourhoods()), world, 30, seed=4)
    gw.agents.save(run.agent, tmp_path / "agent.npz")
    loaded = gw.agents.load(tmp_path / "agent.npz")
    one, other = (gw.learn(agent, world, 30, seed=5, resume=True) for agent in (run.agent, loaded))
    np.testing.assert_array_equal(one.costs, other.costs)
