"""What a study says and which runs it means."""
