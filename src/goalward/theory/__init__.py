"""The paper's analysis in statements that can be computed: lemmas and theorems on recorded runs, claims as a table.

Everything here looks at runs that are over; a plain `learn` pays nothing for it. Runs that a lemma about sampled models
is to be held against are recorded with ``learn(..., keep_plans=True, keep_steps=True)``.
"""
