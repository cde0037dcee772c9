"""Tasks with continuous states: the task, its regression belief, its planner, its agents, and the built-in tasks."""
