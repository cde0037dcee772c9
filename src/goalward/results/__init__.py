"""What stored runs say: measures, curves, summaries and exports."""
