"""Studies: a file that says what to run, the runs it defines, their workers, and the results folder."""
