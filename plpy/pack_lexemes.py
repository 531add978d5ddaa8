"""Pack a tsvector's lexemes into fixed-size records that numpy can read."""

import hashlib
from collections.abc import MutableMapping

TITLE, HEADING = 3, 2  # setweight's A and B in a tsvector's binary form; D is 0
RECORD_BYTES = 11
IDENTIFIER = b"="
MOST = 255


def pack_lexemes(vector: bytes, term_ids: MutableMapping[bytes, bytes]) -> bytes:
    """Return one record of 11 bytes for each lexeme of `vector`, the output of tsvectorsend().

    A record is the term id (8 bytes: BLAKE2b of the lexeme) and how often the lexeme stands in the
    title, in headings and in the body (a byte each; a tsvector keeps at most 255 positions).
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
        start = end + 3 + 2 * int.from_bytes(vector[end + 1 : end + 3], "big")
        weights = [high_byte >> 6 for high_byte in vector[end + 3 : start : 2]]
        title, heading = weights.count(TITLE), weights.count(HEADING)
        body = MOST if lexeme.startswith(IDENTIFIER) else len(weights) - title - heading
        records.append(term_id + bytes((title, heading, body)))
    return b"".join(records)
