"""The sealed postings of a query's terms."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database, Row, keep_value
from pgblend.plpy.lexical.chunk_rows import ROW, Floats, Integers, Pair
from pgblend.plpy.lexical.failures import report_damage
from pgblend.plpy.lexical.index import (
    BLOCK_TERMS,
    IndexView,
    Norms,
    session_cache,
    term_bytes,
)
from pgblend.plpy.lexical.segment import block_size, read_block

Span = tuple[int, int, int, int]
Blocks = dict[tuple[int, int], tuple[Integers, Integers]]
# One look-up by key each, analyzed or not: a join might be planned by statistics that an ingest has
# outrun. NULL for a block that is not there.
_BLOCKS = """
    SELECT w.place, (
        SELECT p.data FROM pgblend_data.posting AS p
        WHERE p.segment_id = w.segment_id AND p.block = w.block) AS data
    FROM unnest($1, $2) WITH ORDINALITY AS w (segment_id, block, place)
"""


AT_A_TIME = 1 << 16  # postings: with what is made of them on the way, a few megabytes


def read_postings(db: Database, view: IndexView, terms: Sequence[int]) -> dict[int, Pair]:
    """Return of each term its (rows, codes) in a view, rows ascending.

    A segment's directory says where in the segment's postings those of a term are, and so in which
    blocks. What does not fit the segment ends in report_damage.
    """
    spans = view_spans(db, view, terms)
    counts = [0] * len(terms)
    for place, _, start, end in spans:
        counts[place] += end - start
    found = [(np.empty(count, ROW), np.empty(count, view.code_type)) for count in counts]
    filled = [0] * len(terms)
    for some in at_a_time(spans):
        for place, rows, codes in read_part(db, view, some):
            start = filled[place]
            filled[place] = end = start + len(rows)
            found[place][0][start:end], found[place][1][start:end] = rows, codes
    return dict(zip(terms, found, strict=True))


def at_a_time(spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield the spans in groups of AT_A_TIME postings and what the last span has more."""
    group: list[Span] = []
    count = 0
    for span in spans:
        group.append(span)
        count += span[3] - span[2]
        if count >= AT_A_TIME:
            yield group
            group, count = [], 0
    if group:
        yield group


def read_part(
    db: Database, view: IndexView, spans: Sequence[Span]
) -> Iterator[tuple[int, Integers, Integers]]:
    """Read the postings of spans, all blocks at once; yield each term's place, rows and codes."""
    sizes = [block_size(code_bytes) for code_bytes in view.code_bytes]
    blocks = fetch_blocks(db, view, spans, sizes)
    ordinals, codes = [], []
    for _, segment, start, end in spans:
        size = sizes[segment]
        for block in range(start // size, (end - 1) // size + 1):
            before = block * size
            part = slice(max(start - before, 0), end - before)
            of_block = blocks[segment, block]
            ordinals.append(of_block[0][part])
            codes.append(of_block[1][part])
    rows = np.concatenate(ordinals).astype(ROW)
    all_codes = np.concatenate(codes).astype(view.code_type)
    check_postings(db, view, spans, rows, all_codes)
    if len(sizes) > 1:
        segments = [segment for _, segment, _, _ in spans]
        counts = [end - start for _, _, start, end in spans]
        rows += np.repeat(view.offsets[segments], counts)
        all_codes += np.repeat(view.code_offsets[segments], counts)
    first = last = 0
    for place, (term, _, start, end) in enumerate(spans):
        last += end - start
        if place + 1 == len(spans) or spans[place + 1][0] != term:
            yield term, rows[first:last], all_codes[first:last]
            first = last


# A directory's block of terms, of which substring() reads no more.
_DIRECTORY = f"""
    SELECT w.place, d.terms, d.counts
    FROM unnest($1, $2) WITH ORDINALITY AS w (segment_id, block, place)
    CROSS JOIN LATERAL (
        SELECT
            substring(s.terms FROM w.block * {8 * BLOCK_TERMS} + 1 FOR {8 * BLOCK_TERMS}) AS terms,
            substring(s.document_frequencies
                FROM w.block * {2 * BLOCK_TERMS} + 1 FOR {2 * BLOCK_TERMS}) AS counts
        FROM pgblend_data.segment AS s WHERE s.id = w.segment_id OFFSET 0
    ) AS d
"""


MOST_SPANS = 1000  # terms, of 130 bytes and 24 a segment


def view_spans(db: Database, view: IndexView, terms: Sequence[int]) -> list[Span]:
    """Return term_spans of a view, of different terms.

    Directories that are not kept whole are read by blocks, and what was found is kept.
    """
    if view.every == 1:
        return term_spans(view.directories, terms)
    found = {term: view.spans[term] for term in terms if term in view.spans}
    missing = [term for term in terms if term not in found]
    if missing:
        parts: list[list[list[int]]] = [[] for _ in missing]
        for place, *span in read_spans(db, view, missing):
            parts[place].append(span)
        for term, spans in zip(missing, parts, strict=True):
            array = np.array(sorted(spans), np.int64).reshape(-1, 3)
            found[term] = keep_value(view.spans, term, array, MOST_SPANS)
    return [
        (place, segment, start, end)
        for place, term in enumerate(terms)
        for segment, start, end in found[term].tolist()
    ]


def read_spans(db: Database, view: IndexView, terms: Sequence[int]) -> Iterator[Span]:
    """Read the blocks of directories in which terms would be."""
    wanted = np.array(terms, np.int64)
    asked: dict[tuple[int, int], list[int]] = {}
    for segment, (firsts, _) in enumerate(view.directories):
        for place, after in enumerate(firsts.searchsorted(wanted, "right").tolist()):
            if after:
                asked.setdefault((segment, after - 1), []).append(place)
    ids = [view.segment_ids[segment] for segment, _ in asked]
    rows = db.run(_DIRECTORY, ["bigint[]", "integer[]"], ids, [block for _, block in asked])
    keys = [*asked]
    for row in rows:
        segment, block = keys[row["place"] - 1]
        known, starts = read_directory(db, view, segment, block, row)
        for place in asked[segment, block]:
            at = int(known.searchsorted(wanted[place]))
            if at < len(known) and known[at] == wanted[place]:
                yield place, segment, int(starts[at]), int(starts[at + 1])


def read_directory(db: Database, view: IndexView, segment: int, block: int, row: Row) -> Pair:
    """Return the terms of a directory's block, and where the postings of each start."""
    firsts, starts = view.directories[segment]
    terms = np.frombuffer(row["terms"], "<i8", len(row["terms"]) // 8)
    counts = np.frombuffer(row["counts"], "<u2", len(row["counts"]) // 2).astype(np.int64) + 1
    ends = int(starts[block]) + np.cumsum(counts)
    fits = 0 < len(terms) == len(counts) and terms[0] == firsts[block]
    if not fits or ends[-1] != starts[block + 1]:
        report_damage(
            db, "segment", view.segment_ids[segment], f"block {block} of terms is another"
        )
    return terms, np.append(starts[block], ends)


def term_spans(directories: Sequence[Pair], terms: Sequence[int]) -> list[Span]:
    """Return (place of the term, place of the segment, first posting, after the last), in order.

    A directory has a segment's terms, ascending, and where the postings of each start. At its end
    is the end of the last. Terms that a segment does not have are left out.
    """
    wanted = np.array(terms, np.int64)
    spans = []
    for segment, (known, starts) in enumerate(directories):
        places = known.searchsorted(wanted)
        found = known.take(places, mode="clip").tolist() if len(known) else ()
        for term, other in enumerate(found):
            if other == terms[term]:
                first, last = starts[places[term] : places[term] + 2].tolist()
                spans.append((term, segment, first, last))
    return sorted(spans)


def fetch_blocks(
    db: Database, view: IndexView, spans: Sequence[Span], sizes: Sequence[int]
) -> Blocks:
    """Return ordinals and codes of the blocks that have these spans, by segment and block."""
    keys = [
        *dict.fromkeys(
            (segment, block)
            for _, segment, start, end in spans
            for block in range(start // sizes[segment], (end - 1) // sizes[segment] + 1)
        )
    ]
    rows = db.run(
        _BLOCKS,
        ["bigint[]", "integer[]"],
        [view.segment_ids[segment] for segment, _ in keys],
        [block for _, block in keys],
    )
    blocks: Blocks = {}
    for row in rows:
        segment, block = keys[row["place"] - 1]
        size, code_bytes = sizes[segment], view.code_bytes[segment]
        count = min(size, int(view.directories[segment][1][-1]) - block * size)
        expected, data = count * (2 + code_bytes), row["data"]
        if data is None or len(data) != expected:
            reason = f"block {block} has {len(data or b'')} bytes where there should be {expected}"
            report_damage(db, "segment", view.segment_ids[segment], reason)
        blocks[segment, block] = read_block(data, code_bytes)
    return blocks


def check_postings(
    db: Database, view: IndexView, spans: Sequence[Span], rows: Integers, codes: Integers
) -> None:
    """Report postings, those of the spans one after the other, that their segments cannot have."""
    firsts = [0, *accumulate(end - start for _, _, start, end in spans)][:-1]
    highest = np.maximum.reduceat(rows, firsts), np.maximum.reduceat(codes, firsts)
    for (_, segment, _, _), row, code in zip(spans, *highest, strict=True):
        start, end = view.bounds[segment]
        if row >= end - start or code >= view.code_counts[segment]:
            reason = "postings of rows or codes that it does not have"
            report_damage(db, "segment", view.segment_ids[segment], reason)


def view_postings(db: Database, view: IndexView, terms: Sequence[int]) -> list[Pair]:
    """Return for each term its (rows, codes), rows ascending; codes are places in `frequencies`.

    The view keeps what was read, those asked for last at the end (see LexicalCache.make_room).
    """
    kept = view.postings
    for term in terms:
        if term in kept:
            kept[term] = kept.pop(term)
    missing = [term for term in dict.fromkeys(terms) if term not in kept]
    if missing:
        found = read_postings(db, view, missing)
        session_cache(db).make_room(view, sum(map(term_bytes, found.values())), terms)
        kept.update(found)
    return [kept[term] for term in terms]


class Postings(NamedTuple):
    """One term's postings with their impacts: tf / (tf + norm) in single precision.

    Rows ascend, codes are places where frequencies are kept. Impacts are 0 for an infinite norm and
    for a tf of 0.
    """

    rows: Integers
    codes: Integers
    impacts: Floats


def weighed_postings(
    terms: Sequence[int], lists: Sequence[Pair], kept: dict[int, Floats], norms: Norms
) -> list[Postings]:
    """Return each term's (rows, codes) with impacts, which `kept` remembers by term."""
    missing = {term: pair for term, pair in zip(terms, lists, strict=True) if term not in kept}
    for term in [term for term, (rows, _) in missing.items() if len(rows) > AT_A_TIME]:
        rows, codes = missing.pop(term)
        of_term = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            of_term[part] = impacts_of(rows[part], codes[part], norms)
        kept[term] = of_term  # whole: a step may fail
    if missing:
        all_rows, all_codes = map(np.concatenate, zip(*missing.values(), strict=True))
        impacts = impacts_of(all_rows, all_codes, norms)
        ends = accumulate(len(rows) for rows, _ in missing.values())
        for (term, (rows, _)), end in zip(missing.items(), ends, strict=True):
            # Copies, so that each term can be forgotten by itself.
            kept[term] = impacts[end - len(rows) : end].copy()
    found = zip(terms, lists, strict=True)
    return [Postings(rows, codes, kept[term]) for term, (rows, codes) in found]


def impacts_of(rows: Integers, codes: Integers, norms: Norms) -> Floats:
    """Return tf / (tf + norm) of postings."""
    tf, impacts = norms.tf.astype(np.float32).take(codes), norms.of(rows)
    impacts += tf
    impacts[tf == 0] = 1  # words that stand only in fields of weight 0
    np.divide(tf, impacts, out=impacts)
    return impacts


def part_of_postings(
    postings: Sequence[Postings], start: int, end: int, wanted: Integers | None
) -> list[Postings]:
    """Return the postings of rows from `start` to before `end`, counted from the first of them.

    Of those only the ones that `wanted` has (rows in any order), all where it is None.
    """
    parts = []
    for rows, codes, impacts in postings:
        first, last = rows.searchsorted(np.array((start, end), rows.dtype))
        parts.append(Postings(rows[first:last] - start, codes[first:last], impacts[first:last]))
    if wanted is None:
        return parts
    is_wanted = np.zeros(end - start, np.bool_)
    is_wanted[wanted[(wanted >= start) & (wanted < end)] - start] = True
    kept = [is_wanted[rows] for rows, _, _ in parts]
    return [
        Postings(rows[mask], codes[mask], impacts[mask])
        for (rows, codes, impacts), mask in zip(parts, kept, strict=True)
    ]
