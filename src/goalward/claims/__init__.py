"""The claims of the paper, each tested by runs."""
