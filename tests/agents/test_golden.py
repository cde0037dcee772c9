"""Runs whose every step is fixed: a moved number is a bug, or a line under "Results" in CHANGELOG.md."""

from __future__ import annotations

import hashlib

import pytest

from goalward import agents, learn, worlds

GOLDEN = {
    ("optimal", "random-mdp-v0"): (1056, 1, "b77361720094"),
    ("posterior-mean", "random-mdp-v0"): (979, 36, "f2252c1beb8d"),
    ("psrl", "grid-world-v0"): (828, 115, "7ef6a96b6f68"),
    ("psrl", "random-mdp-v0"): (1136, 53, "2fa2e2e77f48"),
    ("psrl-episode", "grid-world-v0"): (4097, 100, "11c1c27f683b"),
    ("psrl-episode", "random-mdp-v0"): (1144, 100, "1e7a546066e8"),
    ("psrl-step", "grid-world-v0"): (770, 770, "440a396a856c"),
    ("psrl-step", "random-mdp-v0"): (1042, 1042, "adff4e327e1e"),
    ("tsde", "grid-world-v0"): (826, 145, "b6c1323a3f72"),
    ("tsde", "random-mdp-v0"): (860, 87, "90f509df24f2"),
    ("uniform", "grid-world-v0"): (4469, 1, "84189c94de16"),
    ("uniform", "random-mdp-v0"): (943, 1, "4e1b7b31befa"),
}


@pytest.mark.parametrize(("name", "world"), GOLDEN)
def test_golden(name: str, world: str) -> None:
    ssp = worlds.make(world)
    run = learn(agents.find(name).from_world(ssp, episodes=100), ssp, 100, seed=0, max_steps=20_000, keep_steps=True)
    assert run.trajectory is not None
    digest = hashlib.sha256()
    for column in (run.trajectory.states, run.trajectory.actions, run.trajectory.next_states):
        digest.update(column.astype("<i8").tobytes())
    assert (run.total_steps, len(run.epochs), digest.hexdigest()[:12]) == GOLDEN[name, world]
