"""`warm_up` makes short runs in toy worlds to compile kernels before they are needed.

A kernel is compiled or loaded from the cache when it is first called, so a short run of an agent compiles the kernels
for longer runs. Kernels that are used only for hard models or large files are not compiled by `warm_up`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Iterator

import numpy as np

from goalward.acting.contract import Step
from goalward.acting.model_world import ModelWorld
from goalward.agents.base import Learner, OnlineAgent, registry
from goalward.jit import compile_always
from goalward.learning.learn import run_agent
from goalward.planning.solve import DENSE_STATES, solve_all
from goalward.settings import settings_of
from goalward.ssp.model import SSP

EPISODES = 3
COARSE = {"nodes": 11, "features": 4, "cells": 2}  # settings of agents for continuous states


def warm_up(agents: Iterable[str] | None = None) -> None:
    """Compile the kernels that the registered `agents` use with their default settings.

    If `agents` is None, compile the kernels of all agents, of the planner and of the built-in worlds. Kernels that are
    already in the cache are only loaded, which takes a fraction of a second.
    """
    compile_always()
    if agents is None:
        plan_on_toys()
    for name in registry.known() if agents is None else dict.fromkeys(agents):
        agent = registry.find(name)
        (continuous_run if agent.continuous else toy_run)(agent)
    if agents is None:
        from goalward.beliefs.neighbourhoods import Neighbourhoods

        toy_run(registry.find("psrl"), prior=Neighbourhoods())
        run_agent(registry.find("psrl")(), ModelWorld(toy(), noise="uniform"), EPISODES, max_steps=100)
        continuous_run(registry.find("aggregated-psrl"), "mountain_car")


@functools.cache
def toy() -> SSP:
    """Return a model with two states and two actions in which every policy reaches the goal."""
    rows = [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    return SSP.from_dense([rows, rows], np.ones((2, 2)))


def toy_run(kind: type[Learner], **settings: object) -> None:
    """Run a tabular agent of the class `kind` for a few episodes; also call `act` and `learn` of online agents."""
    agent = run_agent(kind.from_world(toy(), episodes=EPISODES, **settings), toy(), EPISODES, max_steps=100).agent
    if isinstance(agent, OnlineAgent):
        agent.act(0, lambda: 0.5)
        agent.learn(Step(0, 0, 1.0, 1, False))


def continuous_run(kind: type[Learner], task: str = "navigation") -> None:
    """Run an agent of the class `kind` for a few steps in a built-in `task` with continuous states."""
    world = getattr(importlib.import_module("goalward.continuous.tasks"), task)()
    settings = {name: value for name, value in COARSE.items() if name in settings_of(kind)}
    run_agent(kind.from_settings(settings, world, 1), world, 1, max_steps=5)


def toy_models() -> Iterator[SSP]:
    """Yield models that use different kernels of the planner: small, large, cyclic, acyclic, and with zero costs."""
    yield SSP.from_dense(  # two states with a zero-cost cycle
        [[[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]], [[1.0, 0.0], [1.0, 0.0]]
    )
    S = DENSE_STATES + 10
    states, costs = np.arange(S), np.ones((S, 2))
    walk, ladder = np.zeros((2, S, 2, S + 1))
    walk[states, :, np.maximum(states - 1, 0)] = walk[states, :, states + 1] = 0.5
    yield SSP.from_dense(walk, costs)
    yield SSP.from_dense(np.random.default_rng(0).dirichlet(np.full(S + 1, 0.05), (S, 2)), costs)
    ladder[states, 0, states + 1] = 1.0
    ladder[states, 1, np.minimum(states + 3, S)] = 1.0
    ladder[5] = np.eye(S + 1)[5]  # a dead end that other states can avoid
    yield SSP.from_dense(ladder, costs)


def plan_on_toys() -> None:
    """Solve, evaluate and analyse the toy models, so that all kernels of the planner are compiled."""
    from goalward.planning.evaluate import evaluate
    from goalward.planning.hardness import hardness
    from goalward.ssp.graph import structure

    for model in toy_models():
        solve_all(model, 1e-3, start=solve_all(model))
        structure(model)
    for policy in (np.zeros(2, dtype=np.int64), np.full((2, 2), 0.5)):
        evaluate(toy(), policy).distribution()
    hardness(toy())
