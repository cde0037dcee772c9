"""Files of others: tables, logs, UMB, DRN and solutions, read as data and never executed."""
