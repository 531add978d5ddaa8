"""How a search came to its results, as text and as a page for people."""
