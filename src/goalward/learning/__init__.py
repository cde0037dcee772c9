"""The learning loop and its results: runs, regret, checkpoints, replays and policies to deploy."""
