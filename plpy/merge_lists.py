"""Ranked lists joined into one pool of candidates."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pgblend.plpy.list_column import list_column


def merge_lists(lists: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the passages of all lists, each once, as columns.

    A list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`, best first. The pool has
    the first three for all items, by (document id, chunk index), so that a stable sort by score
    leaves ties in that order; and `ranks[list][item]`, from 1, None where the list lacks the item.
    """
    found = (
        zip(one["document_ids"], one["chunk_indexes"], one["chunk_ids"], strict=True)
        for one in lists
    )
    ordered = sorted(set().union(*found))
    columns = map(list, zip(*ordered, strict=True)) if ordered else ([], [], [])
    document_ids, chunk_indexes, chunk_ids = columns
    return {
        "chunk_ids": chunk_ids,
        "document_ids": document_ids,
        "chunk_indexes": chunk_indexes,
        "ranks": [list_column(of_list, count(1), chunk_ids, None) for of_list in lists],
    }
