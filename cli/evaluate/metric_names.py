"""What an evaluation measures, by name."""

# In the order in which they are shown; a rank is cut at what the name says.
RELEVANCE = ("nDCG@5", "nDCG@10", "R@5", "R@10", "R@100", "RR@10", "AP")
PASSAGE = ("documents@10", "duplicates@10")
LATENCY = ("latency_p50_ms", "latency_p95_ms")
ALL = (*RELEVANCE, *PASSAGE, *LATENCY)


def measurable(limit: int) -> tuple[str, ...]:
    """Return the metrics of RELEVANCE that a search of that many passages can tell."""
    return tuple(name for name in RELEVANCE if int(name.partition("@")[2] or 0) <= limit)
