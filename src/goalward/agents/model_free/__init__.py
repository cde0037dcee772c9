"""Agents that learn values from single steps, without a model."""
