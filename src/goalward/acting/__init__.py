"""How agents act in worlds: tasks, plans, stopping conditions, steps and rollouts."""
