"""Uses another learning library in a goalward world: NEAT evolves a neural network that finds its way in GridWorld.

NEAT only uses the Gymnasium environment ``goalward/GridWorld-v0``. At the end goalward computes the exact expected cost
of the policy that NEAT found. The example needs neat-python (``pip install neat-python``).

    python examples/evolve.py --generations 30
"""

import argparse
import random
from pathlib import Path

import gymnasium
import neat
import numpy as np

import goalward as gw

MOST_STEPS = 60


def policy_of(genome: neat.DefaultGenome, config: neat.Config, columns: int, states: int) -> np.ndarray:
    """Return the action that the network of a genome chooses in each state; its inputs are the row and the column."""
    network = neat.nn.FeedForwardNetwork.create(genome, config)
    return np.array([int(np.argmax(network.activate(divmod(state, columns)))) for state in range(states)])


def episode(env: gymnasium.Env, policy: np.ndarray, seed: int) -> float:
    """Return the sum of rewards of one episode of at most `MOST_STEPS` steps."""
    state, total = env.reset(seed=seed)[0], 0.0
    for _ in range(MOST_STEPS):
        state, reward, terminated, _, _ = env.step(policy[state])
        total += reward
        if terminated:
            break
    return total


def evolve(generations: int, seed: int = 0) -> np.ndarray:
    """Return the policy of the fittest network."""
    random.seed(seed)  # neat-python draws from the global generator
    file = Path(__file__).with_name("neat.ini")
    kinds = (neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation)
    config = neat.Config(*kinds, str(file))
    env = gymnasium.make("goalward.environments:goalward/GridWorld-v0")
    states = env.observation_space.n - 1

    def rate(genomes: list, config: neat.Config) -> None:
        for _, genome in genomes:
            policy = policy_of(genome, config, 4, states)
            genome.fitness = float(np.mean([episode(env, policy, seed) for seed in range(10)]))

    winner = neat.Population(config).run(rate, generations)
    return policy_of(winner, config, 4, states)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    world = gw.worlds.grid_world()
    found = gw.evaluate(world, evolve(given.generations, given.seed))
    best = gw.solve(world).values[0]
    print(f"expected cost of the evolved policy: {found.costs[0]:.3f}; of an optimal policy: {best:.3f}")
