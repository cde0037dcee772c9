import numpy as np
import pytest

import goalward as gw
from goalward import SSP, agents, learn, worlds
from goalward.agents import PSRL
from goalward.agents.agent_file import load, save
from goalward.errors import EndlessRunError, SettingError, UnreachableGoalError
from goalward.learning.regret import optimum


def pit(success: float = 0.9) -> SSP:
    """Return two ways over a pit, a short and dangerous one and a long and sure one."""
    return SSP.from_transitions(
        [
            ("edge", "leap", "far side", success, 1.0),
            ("edge", "leap", "pit", 1.0 - success, 1.0),
            ("edge", "walk", "bend", 1.0, 1.0),
            ("bend", "leap", "edge", 1.0, 1.0),
            ("bend", "walk", "far side", 1.0, 1.0),
            ("pit", "walk", "pit", 1.0, 1.0),
        ],
        goals=["far side"],
    )


def free_loop() -> SSP:
    """Return two states between which one can walk for nothing; every way out costs 1."""
    P = np.zeros((2, 2, 3))
    P[0, 0, 1] = P[1, 0, 0] = P[0, 1, 2] = P[1, 1, 2] = 1.0
    return SSP.from_dense(P, [[0.0, 1.0], [0.0, 1.0]])


def test_a_dead_end_that_can_be_reached_is_refused() -> None:
    with pytest.raises(EndlessRunError, match=r"the agent can get to state pit, .* --give-up-cost 20, or .*max_steps"):
        learn(PSRL(), pit(), 10)
    assert learn(agents.make("uniform"), pit(), 10, max_steps=1000).truncated


def test_only_advice_that_helps_is_given() -> None:
    """From a dead end without actions no step can be made, so a limit of steps is no remedy there."""
    world = worlds.make("grid-map", text="S.G\n.O.", success=1.0)
    with pytest.raises(EndlessRunError, match=r"--give-up-cost 20$"):
        learn(PSRL(), world, 10)
    assert not learn(PSRL(), world.with_give_up(20.0), 10).truncated


@pytest.mark.parametrize("agent", ["psrl", "kl-index"])
def test_a_sample_without_a_sure_way_is_not_the_world(agent: str) -> None:
    """The world has a sure way; a prior that lets every action lead to the pit draws models without one."""
    world = worlds.make("grid-map", text="S.G\n.O.", success=1.0)
    dense = agents.make(agent, prior=gw.Dirichlet(0.1))
    with pytest.raises(UnreachableGoalError, match=r"the agent plans with.*give_up_cost=.*support=world"):
        learn(dense, world, 10, max_steps=1000)
    assert learn(dense, world.with_give_up(20.0), 10).reached.all()


def test_a_prior_that_knows_the_possible_transitions_draws_sure_ways() -> None:
    world = worlds.make("grid-map", text="S.G\n.O.", success=1.0)
    assert learn(PSRL(gw.Dirichlet(0.1, support=world)), world, 10, max_steps=1000).reached.all()


def test_dead_ends_of_a_map_are_named_by_their_places() -> None:
    world = worlds.make("grid-map", text="S.G\n.O.", success=1.0)
    with pytest.raises(EndlessRunError, match="the agent can get to row 1, column 1, from which"):
        learn(PSRL(), world, 10)


def test_a_dead_end_out_of_reach_is_none() -> None:
    world = SSP.from_transitions(
        [("start", "go", "goal", 1.0, 1.0), ("elsewhere", "go", "elsewhere", 1.0, 1.0)], goals=["goal"]
    )
    assert not learn(PSRL(), world, 10).truncated


def test_a_free_loop_is_refused_to_agents_that_may_stay() -> None:
    with pytest.raises(EndlessRunError, match=r"psrl may stay in states 0, 1 forever at no cost"):
        learn(PSRL(), free_loop(), 10)
    with pytest.raises(EndlessRunError, match="q-learning may stay"):
        learn(agents.make("q-learning"), free_loop(), 10)


@pytest.mark.parametrize("name", ["uc-ssp", "bernstein-ssp", "eb-ssp", "ulcvi", "optimal", "uniform"])
def test_agents_that_leave_free_loops_learn(name: str) -> None:
    world = free_loop()
    agent = agents.find(name).from_world(world, episodes=20)
    assert not learn(agent, world, 20, watch=lambda episodes, steps: steps < 1_000_000).truncated
    assert not learn(PSRL(perturb_costs=True), world, 20).truncated


def test_a_start_without_a_sure_way_says_what_helps() -> None:
    world = pit().with_initial_state(2)
    with pytest.raises(UnreachableGoalError, match="no path leads from the start, state pit, to the goal"):
        learn(PSRL(), world, 10)
    only = SSP.from_dense([[[0.5, 0.0, 0.5]], [[0.0, 1.0, 0.0]]], np.ones((2, 1)))
    leap = SSP.from_dense([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]]], np.ones((2, 1)))
    assert not learn(PSRL(), only, 10).truncated
    with pytest.raises(UnreachableGoalError, match="surely from the start, state 0; let the agent give up"):
        learn(PSRL(), leap, 10, max_steps=10)


def test_giving_up_is_the_same_as_learning_in_the_model_with_it() -> None:
    world = pit()
    run = learn(PSRL(), world.with_give_up(20.0), 200, seed=3)
    other = learn(PSRL(), world.with_give_up(20.0), 200, seed=3)
    np.testing.assert_array_equal(run.costs, other.costs)
    assert run.optimal_value == optimum(world.with_give_up(20.0)).value == pytest.approx(2.0)
    assert not run.truncated
    assert run.agent.task.give_up == 2


def test_the_best_policy_depends_on_what_giving_up_costs() -> None:
    """Leaping costs (1 + 0.1 J) / 0.9, walking 2: they are even at J = 8."""
    for cost, value, action in ((7.0, 1.7 / 0.9, "leap"), (9.0, 2.0, "walk")):
        solution = gw.solve(pit().with_give_up(cost))
        assert solution.values[0] == pytest.approx(value)
        assert solution.ssp.action_name(solution.policy[0]) == action


def test_where_giving_up_leads_is_known_to_the_belief() -> None:
    world = pit().with_give_up(5.0)
    for prior in (gw.Dirichlet(), gw.Dirichlet(1.0, support=world), gw.Dirichlet(1.0, support=pit())):
        run = learn(PSRL(prior), world, 5)
        mean = run.agent.belief.mean()  # type: ignore[attr-defined]
        for state in (1, 2):
            successors, chances = mean.row(state, 2)
            assert (successors.tolist(), chances.tolist()) == ([0], [1.0])


def test_every_agent_of_the_registry_learns_with_it() -> None:
    world = pit(0.5).with_costs(np.full((3, 2), 0.1))
    for name, kind in agents.registry:
        if kind.continuous:
            continue
        if name == "psrl-episode":  # it never ends where its policy does not reach the goal, as its docstring says
            continue
        agent = kind.from_world(world.with_give_up(1.0), episodes=30)
        run = learn(agent, world.with_give_up(1.0), 30, max_steps=200_000)
        assert not run.truncated, name
        assert np.isfinite(run.regret[-1]), name


def test_a_saved_agent_goes_on(tmp_path) -> None:
    run = learn(PSRL(), pit().with_give_up(5.0), 20)
    save(run.agent, tmp_path / "agent.npz")
    again = load(tmp_path / "agent.npz")
    assert again.task.give_up == 2
    assert not learn(again, pit().with_give_up(5.0), 20, resume=True).truncated
    with pytest.raises(SettingError, match="has learnt in another world"):
        learn(again, pit().with_give_up(6.0), 20, resume=True)


def test_arguments_that_changed_places_and_names_of_worlds() -> None:
    world = pit()
    with pytest.raises(SettingError, match="are swapped"):
        learn(world, PSRL(), 10)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="world is the name 'grid-world'; load it with"):
        learn(PSRL(), "grid-world", 10)  # type: ignore[arg-type]
