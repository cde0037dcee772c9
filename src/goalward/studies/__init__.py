"""Studies: a file that says what to run, the runs it means, the workers that carry them out, and the results folder."""
