"""The paper: its figures reproduced, its claims tested, and the arena of all agents."""
