"""Reproduce the figures of the PSRL-SSP paper, test its claims, and compare all agents in the arena."""
