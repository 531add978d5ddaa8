"""BM25 over segments and pending chunks."""
