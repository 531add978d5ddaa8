"""Answers from passages, with citations."""
