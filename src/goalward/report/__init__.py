"""What people look at: tables, pictures and documents made from results. Nothing here computes a result."""
