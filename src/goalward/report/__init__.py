"""Tables, figures and documents made from results. Nothing here computes a result."""
