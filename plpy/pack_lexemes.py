"""Pack a tsvector's lexemes into fixed-size records that numpy can read."""

import hashlib
from collections.abc import MutableMapping

TITLE, HEADING = 3, 2  # setweight's A and B in a tsvector's binary form; D is 0
IDENTIFIER = b"="
IDENTIFIER_COUNTS = bytes((0, 0, 255, 0, 0, 0))
# Counts of a lexeme that stands once, the most frequent case: by its weight, repeated and own.
ONCE = [
    [bytes(place == field + 3 * (not own) for place in range(6)) for own in (False, True)]
    for field in (2, 2, 1, 0)
]


def pack_lexemes(vector: bytes, own_position: int, term_ids: MutableMapping[bytes, bytes]) -> bytes:
    """Return one record of 14 bytes for each lexeme of `vector`, the output of tsvectorsend().

    A record is the term id (8 bytes: BLAKE2b of the lexeme) and how often the lexeme stands in the
    title, heading and body (a byte each; a tsvector keeps at most 255 positions): first at
    positions after `own_position`, which are the chunk's own, then at those up to it, which repeat
    the chunk before.
    An identifier, which begins with "=", counts as if it stood 255 times in the body, so that
    neither its repetition nor the passage's length matters. `term_ids` remembers ids between calls.
    """
    records = []
    start = 4
    for _ in range(int.from_bytes(vector[:4], "big")):
        end = vector.index(0, start)
        lexeme = vector[start:end]
        term_id = term_ids.get(lexeme)
        if term_id is None:
            term_id = term_ids[lexeme] = hashlib.blake2b(lexeme, digest_size=8).digest()
        first, start = end + 3, end + 3 + 2 * int.from_bytes(vector[end + 1 : end + 3], "big")
        if lexeme.startswith(IDENTIFIER):
            counts = IDENTIFIER_COUNTS
        elif start - first == 2:
            high, low = vector[first], vector[first + 1]
            counts = ONCE[high >> 6][((high & 63) << 8 | low) > own_position]
        else:
            weights = [high_byte >> 6 for high_byte in vector[first:start:2]]
            repeated = repetitions(vector, first, start, own_position) if own_position else 0
            counts = count_fields(weights[repeated:]) + count_fields(weights[:repeated])
        records.append(term_id + counts)
    return b"".join(records)


def repetitions(vector: bytes, first: int, end: int, own_position: int) -> int:
    """Return how many of a lexeme's positions, which ascend, are not after `own_position`."""
    count = 0
    for place in range(first, end, 2):
        if (vector[place] & 63) << 8 | vector[place + 1] > own_position:
            break
        count += 1
    return count


def count_fields(weights: list[int]) -> bytes:
    """Return how many of the weights are those of title, heading and body."""
    title, heading = weights.count(TITLE), weights.count(HEADING)
    return bytes((title, heading, len(weights) - title - heading))
