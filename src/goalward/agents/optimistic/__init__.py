"""Optimistic agents. They plan in the best model of a confidence set, or with bonuses for rarely played pairs."""
