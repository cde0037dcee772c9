"""Model-free agents, which learn values from single steps."""
