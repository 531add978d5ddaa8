"""Links, names and the walk along edges."""
