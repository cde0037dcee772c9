"""How an agent and a world meet: tasks, steps, plans, the conditions that end them, and the rollout."""
