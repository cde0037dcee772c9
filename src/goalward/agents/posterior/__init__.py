"""Agents with a posterior over models, such as PSRL-SSP."""
