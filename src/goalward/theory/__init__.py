"""The lemmas and theorems of the paper's analysis, as statements that can be computed for a run.

Everything here looks at finished runs; `learn` does not depend on it. The lemmas about sampled models need runs that
were recorded with ``learn(..., keep_plans=True, keep_steps=True)``.
"""
