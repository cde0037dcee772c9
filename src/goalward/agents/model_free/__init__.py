"""Model-free agents. They learn values from single steps, without a model."""
