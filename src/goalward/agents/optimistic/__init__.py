"""Agents that plan in the best model of a confidence set, or with bonuses for what they have rarely seen."""
