"""Ranked lists of passages as ranked lists of documents."""

from collections.abc import Mapping, Sequence
from typing import Any


def documents_once(lists: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lists with each document once, where its first passage stood.

    All lists show a document by the same passage: the first that the list of the largest weight
    has, of equal ones the first list. Columns are those of merge_lists; `notes` follow their ranks.
    """
    shown: dict[int, tuple[int, int]] = {}
    for of_list in sorted(lists, key=lambda one: -one["weight"]):
        for document, passage in zip(
            of_list["document_ids"],
            zip(of_list["chunk_ids"], of_list["chunk_indexes"], strict=True),
            strict=True,
        ):
            shown.setdefault(document, passage)
    found = []
    for of_list in lists:
        first: dict[int, int] = {}
        for place, document in enumerate(of_list["document_ids"]):
            first.setdefault(document, place)
        notes = of_list.get("notes", {})
        ranks = [place + 1 for place in first.values()]
        found.append(
            {
                **of_list,
                "chunk_ids": [shown[document][0] for document in first],
                "document_ids": list(first),
                "chunk_indexes": [shown[document][1] for document in first],
                "scores": [of_list["scores"][place] for place in first.values()],
                "notes": {new: notes[old] for new, old in enumerate(ranks, 1) if old in notes},
            }
        )
    return found
