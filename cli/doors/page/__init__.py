"""The page: what it asks, and the files that it is."""
