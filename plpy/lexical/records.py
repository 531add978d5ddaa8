"""Lexemes as term ids and fixed-size records, arrays as PostgreSQL writes them."""

import hashlib
import re
import struct
from collections.abc import Collection, MutableMapping
from hashlib import blake2b


def term_ids(lexemes: Collection[str]) -> list[int]:
    """Return for each lexeme its 64-bit id, as pack_lexemes writes it (BLAKE2b, signed)."""
    digests = term_digests([lexeme.encode() for lexeme in lexemes])
    return list(struct.unpack(f">{len(lexemes)}q", digests))


def term_digests(lexemes: Collection[bytes]) -> bytes:
    """Return the lexemes' ids as they are stored, of eight bytes each."""
    return b"".join([blake2b(lexeme, digest_size=8).digest() for lexeme in lexemes])


TITLE, HEADING = 3, 2  # setweight's A and B in a tsvector's binary form; D is 0
IDENTIFIER = ord("=")
IDENTIFIER_COUNTS = bytes((0, 0, 255, 0, 0, 0))
# A lexeme in the binary form, and after a byte of 0 how many positions it has (two bytes), and
# these: most often one, at most 256. A compiled pattern takes half the time of a loop in Python.
POSITIONS = b"|".join(
    rb"\x%02x\x%02x.{%d}" % (*divmod(count, 256), 2 * count) for count in (*range(1, 257), 0)
)
LEXEME = b"(?s)([^\0]+)\0(" + POSITIONS + b")"  # compiled by whom it serves: 3 ms
MOST_KEPT = 4_000


def pack_lexemes(
    vector: bytes,
    own_position: int,
    term_ids: MutableMapping[bytes, bytes],
    counts: MutableMapping[bytes, bytes],
) -> bytes:
    """Return one record of 14 bytes for each lexeme of `vector`, the output of tsvectorsend().

    A record is the term id (8 bytes: BLAKE2b of the lexeme) and how often the lexeme stands in the
    title, heading and body (a byte each; a tsvector keeps at most 255 positions): first at
    positions after `own_position`, which are the chunk's own, then at those up to it, which repeat
    the chunk before. An identifier or a name, which begins with "=", counts as if it stood 255
    times in the body: neither its repetition nor the passage's length matters. `term_ids` remembers
    ids between calls, `counts`, of calls with the same own_position, the counts by positions.
    """
    if len(counts) > MOST_KEPT:
        counts.clear()
    records = []
    for lexeme, positions in re.findall(LEXEME, vector[4:]):
        term_id = term_ids.get(lexeme)
        if term_id is None:
            term_id = term_ids[lexeme] = hashlib.blake2b(lexeme, digest_size=8).digest()
        count = IDENTIFIER_COUNTS if lexeme[0] == IDENTIFIER else counts.get(positions)
        if count is None:
            count = counts[positions] = count_positions(positions, own_position)
        records.append(term_id + count)
    return b"".join(records)


def count_positions(positions: bytes, own_position: int) -> bytes:
    """Return the six counts of a lexeme's positions, which ascend after their number."""
    highs, lows = positions[2::2], positions[3::2]
    weights = [high >> 6 for high in highs]
    places = ((high & 63) << 8 | low for high, low in zip(highs, lows, strict=True))
    repeated = sum(place <= own_position for place in places) if own_position else 0
    return count_fields(weights[repeated:]) + count_fields(weights[:repeated])


def count_fields(weights: list[int]) -> bytes:
    """Return how many of the weights are those of title, heading and body."""
    title, heading = weights.count(TITLE), weights.count(HEADING)
    return bytes((title, heading, len(weights) - title - heading))
