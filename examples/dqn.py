"""Trains Stable-Baselines3's DQN in a goalward world. The library needs PyTorch; without it, the tests skip this file.

pip install stable-baselines3
python examples/dqn.py --steps 20000
"""

import argparse

import gymnasium
import numpy as np
from stable_baselines3 import DQN

import goalward as gw


def train(steps: int, seed: int = 0) -> np.ndarray:
    """Return the policy that DQN learns, with one action for each state."""
    env = gymnasium.make("goalward.environments:goalward/GridWorld-v0", max_episode_steps=200)
    settings = {"learning_rate": 2e-3, "learning_starts": 500, "target_update_interval": 200}
    agent = DQN("MlpPolicy", env, seed=seed, exploration_fraction=0.5, exploration_final_eps=0.1, **settings)
    agent.learn(steps)
    return np.array([int(agent.predict(np.array(state), deterministic=True)[0]) for state in range(11)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000)
    given = parser.parse_args()
    world = gw.worlds.grid_world()
    found = gw.evaluate(world, train(given.steps))
    best = gw.solve(world).values[0]
    print(f"expected cost of the policy of DQN: {found.costs[0]:.3f}; of an optimal policy: {best:.3f}")
