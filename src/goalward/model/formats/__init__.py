"""Model files of others: UMB, DRN and tables, read as data and never executed."""
