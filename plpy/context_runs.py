"""Stitch what is taken of a document's chunks into contiguous texts."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.chunk_join import chunk_join

Range = tuple[int, int]  # pieces [first, last) of a chunk


def context_runs(
    chunks: Mapping[int, Mapping[str, Any]],
    taken: Mapping[int, Sequence[Range]],
    most_tokens: int | None,
) -> list[dict[str, Any]]:
    """Return the runs of text that the taken pieces of one document make, in its order.

    `chunks` are measured_chunk's by chunk_index, `taken` the disjoint, sorted ranges of pieces of
    some of them. Where one goes on from another they are one run, without what the later repeats; a
    run ends where it would have more than `most_tokens`. Each has `tokens` and `fragments`: (what
    goes before, chunk, first character, character after the last, tokens).
    """
    runs: list[dict[str, Any]] = []
    previous: tuple[Mapping[str, Any], int] | None = None
    for index in sorted(taken):
        chunk = chunks[index]
        for first, last in taken[index]:
            start, gap = chunk["starts"][first], ""
            joins = False
            if previous is not None and previous[1] == len(previous[0]["starts"]) - 1:
                join = chunk_join(previous[0], chunk)
                if join is not None and start <= join[0]:
                    start, gap = join[0], _one_token(join[1])
                    joins = True
            end = chunk["starts"][last]
            if start < end:
                tokens = _tokens(chunk, start, last)
                if joins and (
                    most_tokens is None or runs[-1]["tokens"] + bool(gap) + tokens <= most_tokens
                ):
                    runs[-1]["tokens"] += bool(gap) + tokens
                    runs[-1]["fragments"].append((gap, chunk, start, end, tokens))
                else:
                    runs.append({"tokens": tokens, "fragments": [("", chunk, start, end, tokens)]})
            if not (joins and end < start):  # one that lies within the one before changes nothing
                previous = chunk, last
    return runs


def _one_token(gap: str) -> str:
    """Write white space so that it takes one token."""
    return "\n" * min(gap.count("\n"), 2) or gap[:1]


def _tokens(chunk: Mapping[str, Any], start: int, last: int) -> int:
    """Return the tokens from a character on to the end of piece last - 1; a piece counts whole."""
    starts, sums = chunk["starts"], chunk["sums"]
    if start == 0 and last == len(starts) - 1:
        return int(chunk["whole"])
    first = bisect_left(starts, start)
    if starts[first] != start:
        first -= 1
    return int(sums[last] - sums[first])
