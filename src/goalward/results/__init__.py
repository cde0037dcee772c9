"""Stored runs: how they are kept, read, averaged and summed up."""
