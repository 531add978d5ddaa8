"""The sealed postings of a query's terms."""

from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database, keep_value
from pgblend.plpy.lexical.chunk_rows import ROW, Floats, Integers, Pair
from pgblend.plpy.lexical.failures import report_damage
from pgblend.plpy.lexical.index import (
    BLOCK_TERMS,
    IndexView,
    Norms,
    may_have,
    session_cache,
    term_bytes,
)
from pgblend.plpy.lexical.segment import block_size

# A span is (place of the term, place of the segment, first posting, after the last); spans are rows
# of an array, in this order.
PLACE, SEGMENT, START, END = range(4)
# One look-up by key each, analyzed or not: a join might be planned by statistics that an ingest has
# outrun. NULL for a block that is not there. substring() reads no more of a block than it returns.
_BLOCKS = """
    SELECT w.place, octet_length(b.data) AS size,
        substring(b.data FROM 2 * w.start + 1 FOR 2 * w.count) AS ordinals,
        substring(b.data FROM w.codes + 1 FOR w.code_bytes * w.count) AS codes
    FROM unnest($1, $2, $3, $4, $5, $6)
        WITH ORDINALITY AS w (segment_id, block, start, count, codes, code_bytes, place)
    LEFT JOIN LATERAL (
        SELECT p.data FROM pgblend_data.posting AS p
        WHERE p.segment_id = w.segment_id AND p.block = w.block OFFSET 0
    ) AS b ON true
"""
_BLOCK_TYPES = ["bigint[]", *["integer[]"] * 5]


AT_A_TIME = 1 << 16  # postings: with what is made of them on the way, a few megabytes


def read_postings(db: Database, view: IndexView, terms: Sequence[int]) -> dict[int, Pair]:
    """Return of each term its (rows, codes) in a view, rows ascending.

    A segment's directory says where in the segment's postings those of a term are, and so in which
    blocks. What does not fit the segment ends in report_damage.
    """
    spans = view_spans(db, view, terms)
    counts = np.bincount(spans[:, PLACE], spans[:, END] - spans[:, START], len(terms))
    found = [
        (np.empty(count, ROW), np.empty(count, view.codes.dtype))
        for count in counts.astype(np.intp).tolist()
    ]
    filled = [0] * len(terms)
    for some in at_a_time(spans):
        rows, codes = read_part(db, view, some)
        ends = np.cumsum(some[:, END] - some[:, START])
        lasts = np.flatnonzero(np.diff(some[:, PLACE], append=len(terms)))
        first = 0
        for place, last in zip(some[lasts, PLACE].tolist(), ends[lasts].tolist(), strict=True):
            start = filled[place]
            filled[place] = end = start + last - first
            found[place][0][start:end], found[place][1][start:end] = (
                rows[first:last],
                codes[first:last],
            )
            first = last
    return dict(zip(terms, found, strict=True))


def at_a_time(spans: Integers) -> list[Integers]:
    """Return the spans in groups of AT_A_TIME postings and what the last span has more."""
    starts = np.cumsum(spans[:, END] - spans[:, START]) - (spans[:, END] - spans[:, START])
    groups = np.split(spans, np.flatnonzero(np.diff(starts // AT_A_TIME)) + 1)
    return [group for group in groups if len(group)]


def read_part(db: Database, view: IndexView, spans: Integers) -> Pair:
    """Return the rows and codes of spans, all read at once."""
    ordinals, own_codes = read_blocks(db, view, spans)
    check_postings(db, view, spans, ordinals, own_codes)
    segments, counts = spans[:, SEGMENT], spans[:, END] - spans[:, START]
    rows = ordinals.astype(ROW) + np.repeat(view.offsets[segments], counts)
    return rows, view.codes[np.repeat(view.code_offsets[segments], counts) + own_codes]


def read_blocks(db: Database, view: IndexView, spans: Integers) -> Pair:
    """Return the ordinals and codes of spans as they are stored: the part of each block."""
    code_bytes = np.array(view.code_bytes)[spans[:, SEGMENT]]
    sizes = np.where(code_bytes == 1, block_size(1), block_size(2))
    firsts, lasts = spans[:, START] // sizes, (spans[:, END] - 1) // sizes
    counts = lasts - firsts + 1
    of = np.repeat(np.arange(len(spans)), counts)
    blocks = firsts[of] + np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    segments, sizes, code_bytes = spans[of, SEGMENT], sizes[of], code_bytes[of]
    before = blocks * sizes
    starts = np.maximum(spans[of, START] - before, 0)
    ends = np.minimum(spans[of, END] - before, sizes)
    totals = np.array([starts[-1] for _, starts in view.directories], np.int64)[segments]
    filled = np.minimum(sizes, totals - before)
    asked = [
        [view.segment_ids[segment] for segment in segments.tolist()],
        *(blocks.tolist(), starts.tolist(), (ends - starts).tolist()),
        *((2 * filled + code_bytes * starts).tolist(), code_bytes.tolist()),
    ]
    read = sorted(db.run(_BLOCKS, _BLOCK_TYPES, *asked), key=itemgetter("place"))
    for place, expected in enumerate((filled * (2 + code_bytes)).tolist()):
        if read[place]["size"] != expected:
            size, block = read[place]["size"] or 0, blocks[place]
            reason = f"block {block} has {size} bytes where there should be {expected}"
            report_damage(db, "segment", view.segment_ids[segments[place]], reason)
    ordinals = np.frombuffer(b"".join([row["ordinals"] for row in read]), "<u2")
    codes = [
        np.frombuffer(row["codes"], f"<u{width}")
        for row, width in zip(read, code_bytes.tolist(), strict=True)
    ]
    return ordinals, np.concatenate(codes)


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


MOST_SPANS = 100_000  # of 24 bytes, one for each segment that has a term


def view_spans(db: Database, view: IndexView, terms: Sequence[int]) -> Integers:
    """Return the spans of different terms; segments that do not have one are left out.

    Directories that are not kept whole are read by blocks, and what was found is kept.
    """
    if view.every == 1:
        return term_spans(view.directories, terms)
    kept = {term: view.spans[term] for term in terms if term in view.spans}
    missing = [term for term in terms if term not in kept]
    if missing:
        read = read_spans(db, view, missing)
        firsts = read[:, PLACE].searchsorted(np.arange(1, len(missing)))
        for term, spans in zip(missing, np.split(read[:, SEGMENT:], firsts), strict=True):
            most = MOST_SPANS // len(view.directories)
            kept[term] = keep_value(view.spans, term, spans.copy(), most)
    places = np.repeat(np.arange(len(terms)), [len(kept[term]) for term in terms])
    return np.column_stack([places, np.concatenate([NO_SPANS, *(kept[term] for term in terms)])])


NO_SPANS = np.empty((0, END), np.int64)
AT_ONCE = 1000  # blocks of directories: with what is made of them on the way, a few megabytes


def read_spans(db: Database, view: IndexView, terms: Sequence[int]) -> Integers:
    """Return the spans of terms by the blocks of directories in which these would be."""
    wanted = np.array(terms, np.int64)
    asked = []
    for segment, place in np.argwhere(may_have(view, wanted)).tolist():
        firsts, starts = view.directories[segment]
        block = int(firsts.searchsorted(wanted[place], "right")) - 1
        if block >= 0:
            bounds = int(starts[block]), int(starts[block + 1])
            asked.append((place, segment, block, terms[place], int(firsts[block]), *bounds))
    found: list[Integers] = [np.empty((0, 4), np.int64)]
    for start in range(0, len(asked), AT_ONCE):
        found.append(read_directories(db, view, np.array(asked[start : start + AT_ONCE])))
    spans = np.concatenate(found)
    return spans[np.lexsort((spans[:, SEGMENT], spans[:, PLACE]))]


def read_directories(db: Database, view: IndexView, asked: Integers) -> Integers:
    """Return the spans of terms in one block of a directory each, where it has them.

    Asked are a term's place, a segment, a block, the term, the block's first term, and where the
    postings of this start and those of the last end.
    """
    places, segments, blocks, wanted, first_terms, starts, stops = asked.T
    ids = [view.segment_ids[segment] for segment in segments.tolist()]
    rows = db.run(_DIRECTORY, ["bigint[]", "integer[]"], ids, blocks.tolist())
    read = sorted(rows, key=itemgetter("place"))
    lengths = np.array([(len(row["terms"]), len(row["counts"])) for row in read])
    sizes = lengths[:, 1] // 2
    fits = (sizes > 0) & (lengths == sizes[:, None] * (8, 2)).all(axis=1)
    if fits.all():
        terms = np.frombuffer(b"".join([row["terms"] for row in read]), "<i8")
        counts = (
            np.frombuffer(b"".join([row["counts"] for row in read]), "<u2").astype(np.int64) + 1
        )
        ends, lasts = np.cumsum(counts), np.cumsum(sizes) - 1
        firsts = lasts - sizes + 1
        before = ends[firsts] - counts[firsts]
        fits = (terms[firsts] == first_terms) & (ends[lasts] - before == stops - starts)
    for place in np.flatnonzero(~fits).tolist():
        reason = f"block {blocks[place]} of terms is another"
        report_damage(db, "segment", ids[place], reason)
    entries = np.flatnonzero(terms == np.repeat(wanted, sizes))
    of = np.repeat(np.arange(len(read)), sizes)[entries]
    found = starts[of] + ends[entries] - counts[entries] - before[of]
    return np.column_stack([places[of], segments[of], found, found + counts[entries]])


def term_spans(directories: Sequence[Pair], terms: Sequence[int]) -> Integers:
    """Return the spans of terms by whole directories.

    A directory has a segment's terms, ascending, and where the postings of each start. At its end
    is the end of the last.
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
    return np.array(sorted(spans), np.int64).reshape(-1, 4)


def check_postings(
    db: Database, view: IndexView, spans: Integers, ordinals: Integers, codes: Integers
) -> None:
    """Report postings, those of the spans one after the other, that their segments cannot have."""
    segments, counts = spans[:, SEGMENT], spans[:, END] - spans[:, START]
    firsts = np.cumsum(counts) - counts
    rows = np.diff(view.offsets, append=len(view.rows))[segments]
    is_beyond = np.maximum.reduceat(ordinals, firsts) >= rows
    is_beyond |= np.maximum.reduceat(codes, firsts) >= view.code_counts[segments]
    for segment in segments[is_beyond].tolist():
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
    db: Database, view: IndexView, terms: Sequence[int], lists: Sequence[Pair], norms: Norms
) -> list[Postings]:
    """Return each term's (rows, codes) with impacts, which the view keeps (see make_room)."""
    kept, made = view.impacts, dict[int, Floats]()
    missing = {term: pair for term, pair in zip(terms, lists, strict=True) if term not in kept}
    for term in [term for term, (rows, _) in missing.items() if len(rows) > AT_A_TIME]:
        rows, codes = missing.pop(term)
        made[term] = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            made[term][part] = impacts_of(rows[part], codes[part], norms)
    if missing:
        all_rows, all_codes = map(np.concatenate, zip(*missing.values(), strict=True))
        impacts = impacts_of(all_rows, all_codes, norms)
        ends = accumulate(len(rows) for rows, _ in missing.values())
        for (term, (rows, _)), end in zip(missing.items(), ends, strict=True):
            # Copies, so that each term can be forgotten by itself.
            made[term] = impacts[end - len(rows) : end].copy()
    if made:
        session_cache(db).make_room(view, sum(one.nbytes for one in made.values()), terms)
        kept.update(made)
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
