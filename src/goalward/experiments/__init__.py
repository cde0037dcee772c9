"""Experiments: a study in TOML, runs on any number of cores, one file for each run, statistics."""
