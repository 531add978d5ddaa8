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
        key
        for of_list in lists
        for key in zip(
            of_list["document_ids"], of_list["chunk_indexes"], of_list["chunk_ids"], strict=True
        )
    }
    ordered = sorted(keys)
    chunk_ids = [chunk_id for _, _, chunk_id in ordered]

    def column(of_list: Mapping[str, Any], name: str) -> list[Any]:
        value_of = dict(zip(of_list["chunk_ids"], of_list[name], strict=True))
        return list(map(value_of.get, chunk_ids))

    return {
        "chunk_ids": chunk_ids,
        "document_ids": [document_id for document_id, _, _ in ordered],
        "chunk_indexes": [chunk_index for _, chunk_index, _ in ordered],
        "ranks": [column(of_list, "ranks") for of_list in lists],
        "scores": [column(of_list, "scores") for of_list in lists],
    }
