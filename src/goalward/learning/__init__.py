"""The learning loop, and what comes out of it: runs, regret, checkpoints, replays and policies to deploy."""
