"""BM25 by the textbook, over chunks as a session sees them: what every search is held against."""

import math
from collections import Counter

K1, B = 1.2, 0.75
CHUNKS = "SELECT id, document_id, chunk_index, content FROM pgblend_data.chunk"
FOUND = """
    SELECT chunk_id, (arms #>> '{lexical,score}')::double precision
    FROM lexical_search(%s, 10000, options => '{"candidate_depth": 10000, "dedup": "off"}')
"""


def bm25(chunks: list[tuple[int, int, int, str]], query: list[str]) -> list[tuple[int, float]]:
    """Score chunks by the textbook: (id, score), best first, ties by document and place."""
    counts = {chunk[0]: Counter(chunk[3].split()) for chunk in chunks}
    n = len(chunks)
    average = sum(sum(words.values()) for words in counts.values()) / max(n, 1)
    scores = Counter[int]()
    for word, repeats in Counter(query).items():
        boost = repeats * 11 / (repeats + 10)
        df = sum(word in words for words in counts.values())
        for chunk_id, words in counts.items():
            if word in words:
                norm = K1 * (1 - B + B * sum(words.values()) / average)
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                scores[chunk_id] += boost * idf * words[word] * (K1 + 1) / (words[word] + norm)
    place = {chunk[0]: chunk[1:3] for chunk in chunks}
    # Equal sums may differ in the last bit, so ties are found after rounding.
    return sorted(scores.items(), key=lambda item: (-round(item[1], 9), place[item[0]]))
