"""A warehouse as a Gymnasium environment: fetch two boxes and carry them to the door.

The robot slips sideways with probability 0.2. Stairs end the episode away from the goal. The reward of a step is minus
the energy that the step takes. The energy is random; it grows with the number of boxes and triples on rough floor.

    env = gw.Environment(Warehouse(), goal=lambda step: step.info["is_success"], give_up_cost=20.0)
    run = gw.learn(gw.agents.PSRL(), env, episodes=500)
"""

from itertools import product

import gymnasium
import numpy as np
from gymnasium import spaces

import goalward as gw

MAP = [  # S start, A and B boxes, D door, ~ rough floor, x stairs, # wall
    "S.....~.",
    ".##x.#~A",
    "..~..#..",
    ".#.x....",
    "B#..~x.#",
    ".......D",
]
ROWS, COLUMNS = len(MAP), len(MAP[0])
MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]  # up, right, down, left
CHANCES = [0.8, 0.1, 0.1]  # ahead, slipped to the left, slipped to the right


class Warehouse(gymnasium.Env):
    """A robot has to fetch both boxes, in any order, and carry them to the door."""

    observation_space = spaces.Dict({"position": spaces.MultiDiscrete([ROWS, COLUMNS]), "boxes": spaces.MultiBinary(2)})
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        """Start at S without boxes."""
        super().reset(seed=seed)
        self.place = (0, 0, False, False)
        return self.observe(), {}

    def step(self, action):
        """Move, and pick up the box in the new cell, if there is a box."""
        energy = mean_energy(self.place) * self.np_random.uniform(0.5, 1.5)
        outcomes = successors(self.place, action)
        self.place = outcomes[self.np_random.choice(3, p=CHANCES)]
        success, fell = is_delivered(self.place), tile(self.place) == "x"
        return self.observe(), -energy, success or fell, False, {"is_success": success}

    def observe(self):
        """Return the observation: the position, and which boxes the robot has."""
        row, column, *boxes = self.place
        return {"position": np.array([row, column]), "boxes": np.array(boxes, dtype=np.int8)}

    @staticmethod
    def model(give_up_cost):
        """Return the true model with its mean costs; no agent can learn a better policy than an optimal policy of it.

        States are numbered like the observations: first by boxes, then by position. The last state stands for the
        stairs.
        """
        flags, positions = product((False, True), repeat=2), product(range(ROWS), range(COLUMNS))
        number = {(*cell, *boxes): index for index, (boxes, cell) in enumerate(product(flags, positions))}
        stairs, delivered = len(number), len(number) + 1
        P, costs = np.zeros((stairs + 1, 4, delivered + 1)), np.zeros((stairs + 1, 4))
        for place, action in product(number, range(4)):
            costs[number[place], action] = mean_energy(place)
            for probability, after in zip(CHANCES, successors(place, action), strict=True):
                target = delivered if is_delivered(after) else stairs if tile(after) == "x" else number[after]
                P[number[place], action, target] += probability
        return gw.SSP.from_dense(P, costs).with_give_up(give_up_cost)


def successors(place, action):
    """Return the possible next states of a move: ahead, slipped to the left, slipped to the right."""
    return [moved(place, MOVES[(action + turn) % 4]) for turn in (0, -1, 1)]


def moved(place, move):
    row, column, has_a, has_b = place
    row, column = min(max(row + move[0], 0), ROWS - 1), min(max(column + move[1], 0), COLUMNS - 1)
    if MAP[row][column] == "#":
        return place
    return row, column, has_a or MAP[row][column] == "A", has_b or MAP[row][column] == "B"


def tile(place):
    return MAP[place[0]][place[1]]


def is_delivered(place):
    return tile(place) == "D" and place[2] and place[3]


def mean_energy(place):
    return (1.0 + place[2] + place[3]) * (3.0 if tile(place) == "~" else 1.0)
