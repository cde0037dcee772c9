"""Studies: from a study file to stored runs, on this machine or a cluster."""
