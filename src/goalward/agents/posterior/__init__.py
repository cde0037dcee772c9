"""Agents that plan in models drawn from a posterior: PSRL-SSP and its relatives."""
