"""Ranked lists joined into one pool of candidates."""

from collections.abc import Mapping, Sequence
from typing import Any


def merge_lists(lists: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the passages of all lists, each once, as columns.

    A list has `chunk_ids`, `document_ids`, `chunk_indexes`, `ranks` (from 1) and `scores`. The pool
    has the first three for all items, by (document id, chunk index), so that a stable sort by score
    leaves ties in that order; and `ranks[list][item]` and `scores[list][item]`, None where the list
    lacks the item.
    """
    keys = {
        chunk_id: (document_id, chunk_index)
        for of_list in lists
        for chunk_id, document_id, chunk_index in zip(
            of_list["chunk_ids"], of_list["document_ids"], of_list["chunk_indexes"], strict=True
        )
    }
    chunk_ids = sorted(keys, key=keys.__getitem__)
    ranks, scores = [], []
    for of_list in lists:
        rank_of = dict(zip(of_list["chunk_ids"], of_list["ranks"], strict=True))
        score_of = dict(zip(of_list["chunk_ids"], of_list["scores"], strict=True))
        ranks.append([rank_of.get(chunk_id) for chunk_id in chunk_ids])
        scores.append([score_of.get(chunk_id) for chunk_id in chunk_ids])
    return {
        "chunk_ids": chunk_ids,
        "document_ids": [keys[chunk_id][0] for chunk_id in chunk_ids],
        "chunk_indexes": [keys[chunk_id][1] for chunk_id in chunk_ids],
        "ranks": ranks,
        "scores": scores,
    }
