"""The passages that a reranker looks at."""

from collections.abc import Sequence


def rerank_targets(items: Sequence[int], document_ids: Sequence[int], depth: int) -> list[int]:
    """Return the best passage of each of the first `depth` documents; `items` are best first."""
    first: dict[int, int] = {}
    for item in items:
        first.setdefault(document_ids[item], item)
        if len(first) == depth:
            break
    return list(first.values())
