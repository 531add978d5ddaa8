"""Filters: parsed, compiled, applied."""
