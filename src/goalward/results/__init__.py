"""Results from stored runs: measures, curves, summaries and exports."""
