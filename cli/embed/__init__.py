"""Vectors and summaries: spaces, the queue, the worker, what it will cost."""
