"""Search by words: the index, BM25, spelling, and what text is made of."""
