"""The best chunks of those that pass a check."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

PLACES = {"chunk_ids": 0, "document_ids": 1}
FIRST_PART = 100  # so many tell 1 in 100 from 1 in 10
READ_IN_TURN = 5  # documents, while one is checked by its key


def passing_best(
    best: Callable[[int, tuple[str, Any] | None], Sequence[Sequence[Any]]],
    checked: Mapping[str, Any],
    depth: int,
    n: int,
) -> Sequence[Sequence[Any]]:
    """Return the first `depth` of `best` that pass, as its columns: chunk ids, document ids….

    `best` returns the columns of a number of chunks, in order, of those alone whose column of a
    name has one of some ids where it is given both. `checked` is what candidate_filter returns.

    Candidates are checked a part at a time: about as many as the share that passed calls for. To
    check all that are needed, depth / share, takes longer than to look up all that pass, share · n
    of n chunks, where few pass and an index finds them or not too many documents are read for it:
    then these are looked up, once, and scored alone.
    """
    column = PLACES[checked["column"]]
    kept: list[tuple[Any, ...]] = []
    allowed, looked_up = None, False
    done, part = 0, max(depth, FIRST_PART)
    wanted = 4 * part
    found = best(wanted, allowed)
    while True:
        rows = [values[done : done + part] for values in found]
        passed = set(checked["passing"](rows[column]).tolist())
        kept += [row for row in zip(*rows, strict=True) if row[column] in passed]
        done += len(rows[0])
        missing = depth - len(kept)
        complete = len(found[0]) < wanted
        if missing <= 0 or (complete and done == len(found[0])):
            return [[row[place] for row in kept[:depth]] for place in range(len(found))]
        share = max(len(kept), 0.5) / done
        part = int(1.25 * missing / share) + 1
        needed = min(part, len(found[0]) - done) if complete else part
        read = checked["documents_read"] / READ_IN_TURN
        if not looked_up and max(share * n, read) < needed:
            looked_up = True
            ids = checked["look_up"](int(2 * (depth * n) ** 0.5))
            if ids is not None:
                kept, done, part, wanted = [], 0, depth, depth
                allowed = checked["column"], ids
                found = best(wanted, allowed)
        elif done + part > len(found[0]) and not complete:
            wanted = max(4 * wanted, done + part)
            found = best(wanted, allowed)
