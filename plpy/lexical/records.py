"""Lexemes as term ids and fixed-size records, arrays as PostgreSQL writes them."""

import re
import struct
from _blake2 import blake2b
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, MutableMapping
from typing import NamedTuple

from pgblend.plpy.base.session import Database, Rows

# as hashlib has it, which takes two milliseconds for OpenSSL's


def term_ids(lexemes: Collection[str]) -> list[int]:
    """Return for each lexeme its 64-bit id, as pack_lexemes writes it (BLAKE2b, signed)."""
    digests = term_digests([lexeme.encode() for lexeme in lexemes])
    return list(struct.unpack(f">{len(lexemes)}q", digests))


def term_digests(lexemes: Collection[bytes]) -> bytes:
    """Return the lexemes' ids as they are stored, of eight bytes each."""
    return b"".join([blake2b(lexeme, digest_size=8).digest() for lexeme in lexemes])


TITLE, HEADING, NAME = 3, 2, 1  # setweight's A, B and C in the binary form; D is 0
PLACE_BITS = 14  # a position is a weight, and below it a place
IDENTIFIER = ord("=")
IDENTIFIER_COUNTS = bytes((0, 0, 255, 0, 0, 0))
# A lexeme in the binary form, and after a byte of 0 how many positions it has (two bytes), and
# these. Most often it is one, at most 256. A compiled pattern takes half the time of a loop in
# Python.
POSITIONS = b"|".join(
    rb"\x%02x\x%02x.{%d}" % (*divmod(count, 256), 2 * count) for count in (*range(1, 257), 0)
)
LEXEME = b"(?s)([^\0]+)\0(" + POSITIONS + b")"  # compiled by whom it serves: 3 ms
# Most lexemes have one position, in the body. Its bytes are compared as they are.
ONE = b"\0\1"
ONE_IN_TITLES = ONE + (1 << PLACE_BITS).to_bytes(2, "big")
ONE_OWN = bytes((0, 0, 1, 0, 0, 0))
MOST = 255  # a byte's; of two joined tsvectors a lexeme may have one position more


class Packed(NamedTuple):
    """A chunk's lexemes as the index has them: `records` has 14 bytes for each.

    Lengths are in occurrences, without those of weight C: identifiers and a document's names.
    """

    records: bytes
    length: int
    own_length: int


def read_lexemes(vector: bytes) -> list[tuple[bytes, bytes]]:
    """Return the lexemes of a tsvector, the output of tsvectorsend(), each with its positions.

    Positions are two bytes that count them, and two for each.
    """
    found: list[tuple[bytes, bytes]] = re.findall(LEXEME, vector[4:])
    return found


def pack_lexemes(
    lexemes: Collection[tuple[bytes, bytes]],
    own_position: int,
    known: MutableMapping[bytes, bytes],
) -> Packed:
    """Return one record of 14 bytes for each lexeme (read_lexemes), and their chunk's lengths.

    A record is the term id (8 bytes: BLAKE2b of the lexeme) and how often the lexeme stands in the
    title, heading and body (a byte each; a tsvector keeps at most 255 positions). It says so first
    of the positions after `own_position`, which are the chunk's own. Then come those up to it,
    which repeat the chunk before. An identifier or a name, which begins with "=", counts as if it
    stood 255 times in the body. Neither its repetition nor the passage's length matters. `known`
    remembers term ids between calls.
    """
    last_repeated = ONE + own_position.to_bytes(2, "big")
    parts: list[bytes] = []
    own_length = repeated_length = 0
    for lexeme, positions in lexemes:
        term_id = known.get(lexeme)
        if term_id is None:
            term_id = known[lexeme] = blake2b(lexeme, digest_size=8).digest()
        if lexeme[0] == IDENTIFIER:
            parts += term_id, IDENTIFIER_COUNTS
        elif ONE_IN_TITLES > positions > last_repeated:
            own_length += 1
            parts += term_id, ONE_OWN
        else:
            counts, own, repeated = count_positions(positions, own_position)
            own_length += own
            repeated_length += repeated
            parts += term_id, counts
    return Packed(b"".join(parts), own_length + repeated_length, own_length)


def count_positions(positions: bytes, own_position: int) -> tuple[bytes, int, int]:
    """Return the six counts of a lexeme, and its own and repeated occurrences for the lengths.

    Positions ascend after their number.
    """
    found = struct.unpack_from(f">{len(positions) // 2 - 1}H", positions, 2)
    if not max(found, default=0) >> PLACE_BITS:
        repeated = bisect_right(found, own_position) if own_position else 0
        own = len(found) - repeated
        return bytes((0, 0, min(own, MOST), 0, 0, min(repeated, MOST))), own, repeated
    weights = [one >> PLACE_BITS for one in found]
    places = (one % (1 << PLACE_BITS) for one in found)
    repeated = sum(place <= own_position for place in places) if own_position else 0
    own_weights, repeated_weights = weights[repeated:], weights[:repeated]
    return (
        count_fields(own_weights) + count_fields(repeated_weights),
        len(own_weights) - own_weights.count(NAME),
        repeated - repeated_weights.count(NAME),
    )


def count_fields(weights: list[int]) -> bytes:
    """Return how many of the weights are those of title, heading and body."""
    title, heading = weights.count(TITLE), weights.count(HEADING)
    counts = title, heading, len(weights) - title - heading
    return bytes(min(count, MOST) for count in counts)


# New chunks as the index has them: packed as pending, their words in the vocabulary.

MOST_TERMS = 100_000
MOST_WORDS = 50_000  # are looked up together
NAME_MARK = b"=="  # before a document's name, to which nothing is similar

_COLUMNS = {
    "id": "bigint",
    "document_id": "bigint",
    "collection_id": "bigint",
    "bucket": "smallint",
    "chunk_index": "integer",
    "text_search_config": "text",
}
_PENDING = """
    INSERT INTO pgblend_data.pending (
        chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config,
        length, own_length, records)
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_PENDING_TYPES = [f"{one}[]" for one in (*_COLUMNS.values(), "integer", "integer", "bytea")]
_SETTLED = """
    SELECT k.collection_id
    FROM pgblend_data.vocabulary_lock AS k
    WHERE current_setting('transaction_isolation') = 'read committed'
        AND k.collection_id = ANY($1)
    FOR KEY SHARE SKIP LOCKED
"""
# Each word is looked up by the index whatever the statistics say. They call the table empty where
# ANALYZE saw none of what this transaction wrote. It is a scalar subquery, of which no join is
# made.
_WORDS = """
    INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
    SELECT $1, $2, w.lexeme
    FROM (SELECT u.lexeme COLLATE "C" AS lexeme FROM unnest($3) AS u (lexeme)) AS w
    WHERE NOT $4 OR (
        SELECT true FROM pgblend_data.vocabulary AS v
        WHERE v.collection_id = $1 AND v.text_search_config = $2 AND v.lexeme = w.lexeme
        LIMIT 1) IS NULL
"""
Words = dict[tuple[int, str], set[bytes]]  # by collection and text search configuration


def add_chunks(db: Database, parts: Iterable[Rows]) -> None:
    """Make chunks findable by their words, a part of them at a time.

    A row has a chunk's columns, and its tsvector as `vector` (tsvectorsend).
    """
    words: Words = defaultdict(set)
    for rows in parts:
        packed = [*pack_chunks(db, rows, words)]
        columns = [[row[name] for row in rows] for name in _COLUMNS]
        lengths = [[one.length for one in packed], [one.own_length for one in packed]]
        db.run(_PENDING, _PENDING_TYPES, *columns, *lengths, [one.records for one in packed])
        if sum(map(len, words.values())) > MOST_WORDS:
            add_words(db, words)
            words.clear()
    if words:
        add_words(db, words)


def pack_chunks(db: Database, rows: Rows, words: Words | None = None) -> Iterator[Packed]:
    """Yield the packed lexemes of each chunk, and add them to `words`."""
    known: MutableMapping[bytes, bytes] = db.kept("term_ids")
    for row in rows:
        if len(known) > MOST_TERMS:
            known.clear()
        lexemes = read_lexemes(row["vector"])
        if words is not None:
            words[row["collection_id"], row["text_search_config"]].update(dict(lexemes))
        yield pack_lexemes(lexemes, row["own_position"], known)


def add_words(db: Database, words: Words) -> None:
    """Put words into the vocabulary that it lacks.

    Two transactions may add the same one, which does no harm: without a unique key nobody waits for
    somebody else's. All are added while the vocabulary is made anew (its row is locked), or where
    the transaction does not see what others commit. Those that are seen may be going.
    """
    collections = list({collection_id for collection_id, _ in words})
    settled = {row["collection_id"] for row in db.run(_SETTLED, ["bigint[]"], collections)}
    for (collection_id, config), lexemes in words.items():
        texts = [lexeme.decode() for lexeme in sorted(lexemes) if not lexeme.startswith(NAME_MARK)]
        types = ["bigint", "text", "text[]", "boolean"]
        db.run(_WORDS, types, collection_id, config, texts, collection_id in settled)
