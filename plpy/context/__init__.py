"""Contexts and answers, with citations."""
