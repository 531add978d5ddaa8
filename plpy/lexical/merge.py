"""Lists of several parts as one."""

from collections.abc import Sequence

from pgblend.plpy.lexical.score import Columns
from pgblend.plpy.ports import CandidateList


def merge_columns(lists: Sequence[Columns], depth: int, perfect: float | None) -> CandidateList:
    """Merge the lists of a request's parts: best first, ties by (document, chunk index)."""
    rows = [
        (*row, place) for place, columns in enumerate(lists) for row in zip(*columns, strict=True)
    ]
    rows.sort(key=lambda row: (-row[3], row[1], row[2]))
    rows = rows[:depth]
    return CandidateList(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
        [row[4] for row in rows],
        perfect,
    )
