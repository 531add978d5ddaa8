"""Texts: words, queries, chunks, snippets."""
