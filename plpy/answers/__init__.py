"""Contexts for language models, and answers that are held to their passages."""
