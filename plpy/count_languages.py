"""How many chunks, or documents, of a term's own language there are, and have it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.count_documents import count_documents
from pgblend.plpy.joined_rows import joined_rows


def count_languages(
    opened: Mapping[str, Any],
    configs: Sequence[str],
    terms: Sequence[int],
    by_document: bool,
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> tuple[list[int], list[int]]:
    """Return for each term (live chunks of its text search configuration, those that have it).

    `configs` has the configuration of each term; documents are counted instead where `by_document`.
    `opened` is what open_index returns, `run` executes (statement, types, *values).
    """
    totals, with_term = [0] * len(terms), [0] * len(terms)
    for config in dict.fromkeys(configs):
        places = [place for place, one in enumerate(configs) if one == config]
        rows = joined_rows(opened, config, [terms[place] for place in places], run)
        postings, alive = rows["postings"], rows["alive"]
        if by_document:
            n, _, df = count_documents(postings, rows["documents"], alive, rows["own_lengths"])
        else:
            n, df = int(alive.sum()), [int(alive[found].sum()) for found, _ in postings]
        for place, count in zip(places, df, strict=True):
            totals[place], with_term[place] = n, count
    return totals, with_term
