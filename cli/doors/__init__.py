"""Searches over HTTP and for agents."""
