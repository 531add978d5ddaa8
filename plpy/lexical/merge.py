"""Answers of several nodes, or lists of several parts, as one."""

from collections.abc import Sequence

from pgblend.plpy.ports import CandidateList, Counts

Columns = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[float]]


def sum_counts(answers: Sequence[Counts]) -> Counts:
    """Add up what several nodes counted: no chunk and no document is on two."""

    def summed(columns: Sequence[Sequence[int]]) -> list[int]:
        return [sum(values) for values in zip(*columns, strict=True)]

    return Counts(
        sum(answer.n for answer in answers),
        sum(answer.total_length for answer in answers),
        summed([answer.df for answer in answers]),
        summed([answer.language_n for answer in answers]),
        summed([answer.language_df for answer in answers]),
    )


def merge_columns(lists: Sequence[Columns], depth: int, perfect: float | None) -> CandidateList:
    """Merge the lists of a request's parts, in their order: best first, cut at a depth."""
    parts = [[place] * len(columns[0]) for place, columns in enumerate(lists)]
    return _merged(
        [(*columns, part) for columns, part in zip(lists, parts, strict=True)], depth, perfect
    )


def merge_lists(lists: Sequence[CandidateList], depth: int) -> CandidateList:
    """Merge the lists of several nodes: best first, cut at a depth."""
    columns = [
        (one.chunk_ids, one.document_ids, one.chunk_indexes, one.scores, one.parts) for one in lists
    ]
    reached = [one.perfect for one in lists if one.perfect is not None]
    return _merged(columns, depth, max(reached, default=None))


def _merged(
    lists: Sequence[
        tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[float], Sequence[int]]
    ],
    depth: int,
    perfect: float | None,
) -> CandidateList:
    """Put rows in order by (score, largest first, document id, chunk index)."""
    rows = [row for columns in lists for row in zip(*columns, strict=True)]
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
