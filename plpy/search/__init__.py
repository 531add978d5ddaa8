"""The plot of a search and its parts."""
