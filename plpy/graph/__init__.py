"""Links, names and walks."""
