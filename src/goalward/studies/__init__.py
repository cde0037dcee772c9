"""Read studies from files, carry out their runs with workers, and store the results."""
