"""What a coordinator asks all its shards for, and how it makes one answer of theirs."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import comb
from operator import neg
from typing import Any

from pgblend.plpy.base.ports import CandidateList

# Types of their arguments.
ROUTINES: Mapping[str, Sequence[str]] = {
    "_any_passage": (),
    "_chunks_around": ("bigint[]", "jsonb"),
    "_collection_sizes": ("bigint[]",),
    "_document_count": ("bigint",),
    "_document_facts": ("bigint",),
    "_document_holds": ("bigint", "text", "bigint[]"),
    "_document_id": ("bigint[]", "text"),
    "_document_passes": ("bigint", "jsonb"),
    "_document_words": ("bigint", "text", "text", "text[]"),
    "_documents_called": ("text",),
    "_entity_passages": ("bigint[]",),
    "_facet_values": ("bigint[]", "text[]", "jsonb", "bigint[]"),
    "_filter_count": ("jsonb", "bigint[]"),
    "_has_edges": (),
    "_known_documents": ("bigint", "bigint[]", "text[]"),
    "_metadata_counts": ("bigint[]",),
    "_neighbours": ("bigint[]", "text", "text[]", "integer"),
    "_node_facts": ("bigint[]",),
    "_node_passages": ("bigint[]", "bigint[]", "jsonb", "text", "vector", "text"),
    "_passage_document": ("bigint",),
    "_passage_rows": ("bigint[]",),
    "_sampled_chunks": ("bigint", "integer"),
    "_sampled_vectors": ("bigint[]", "integer", "text"),
    "_summary_counts": ("text",),
    "_used_languages": ("bigint[]",),
    "_waiting_vectors": ("bigint", "text"),
    "chunk_embeddings": ("bigint[]", "text"),
    "count_vectors": ("text",),
    "lexical_status": ("text",),
}
# Which argument has the collections that they are asked about: an id, or a list of them.
COLLECTIONS_AT: Mapping[str, int] = {
    **dict.fromkeys(("_collection_sizes", "_document_count", "_document_id"), 0),
    "_known_documents": 0,
    **dict.fromkeys(("_metadata_counts", "_sampled_chunks", "_sampled_vectors"), 0),
    **{"_facet_values": 3, "_filter_count": 1, "_used_languages": 0},
}
# The column that their rows are merged by; none: every shard has rows of its own.
VIEWS: Mapping[str, str | None] = {
    "chunks": None,
    "collections": "name",
    "conversations": None,
    "document_metadata": None,
    "document_rights": None,
    "documents": None,
    "edges": None,
    "embedding_dead_letters": None,
    "embedding_progress": "space",
    "embedding_spaces": "name",
    "entities": None,
    "links": None,
}


ONE_OF = 10_000  # searches


@cache
def share_of(depth: int, shards: int) -> int:
    """Return how many of the best `depth` one shard holds at most, but in ONE_OF searches.

    Documents are spread over `shards` by a hash, so the number is binomial.
    """
    if shards == 1 or depth > 1000:
        return depth
    at_most = 0
    rare = ONE_OF * shards
    for count in range(depth + 1):
        at_most += comb(depth, count) * (shards - 1) ** (depth - count)
        if at_most * rare >= (rare - 1) * shards**depth:
            return count
    return depth


def last_key(found: CandidateList) -> tuple[float, int, int]:
    """Return by what the last candidate is ordered."""
    return -found.scores[-1], found.document_ids[-1], found.chunk_indexes[-1]


def merged_lists(lists: Mapping[int, CandidateList], depth: int) -> CandidateList:
    """Return the best of all shards."""
    has_parts = any(one.parts for one in lists.values())
    rows: list[tuple[Any, ...]] = []
    for one in lists.values():
        columns = map(neg, one.scores), one.document_ids, one.chunk_indexes, one.chunk_ids
        parts = [one.parts or [0] * len(one.scores)] if has_parts else []
        rows += zip(*columns, *parts, strict=True)
    rows.sort()  # no two have the same place
    best = zip(*rows[:depth], strict=True) if rows else [()] * 4
    negated, document_ids, chunk_indexes, chunk_ids, *of_parts = map(list, best)
    perfect = [one.perfect for one in lists.values() if one.perfect is not None]
    return CandidateList(
        chunk_ids,
        document_ids,
        chunk_indexes,
        list(map(neg, negated)),
        of_parts[0] if of_parts else [],
        max(perfect, default=None),
    )


def cut_short(
    lists: Mapping[int, CandidateList], merged: CandidateList, share: int, depth: int
) -> Sequence[int]:
    """Return the shards that may hold more of the best than the share that they were asked for."""
    last = last_key(merged) if len(merged.scores) == depth else None
    return [
        number
        for number, one in lists.items()
        if share < depth and len(one.scores) >= share and (last is None or last_key(one) <= last)
    ]
