"""Runs carried out: one, again, or all those of a study, here or on a cluster."""
