"""New chunks as the index has them: packed as pending, their words in the vocabulary."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, MutableMapping

from pgblend.plpy.lexical.records import Packed, pack_lexemes, read_lexemes
from pgblend.plpy.session import Database, Rows

MOST_TERMS = 100_000
NAME = b"=="  # before a document's name, to which nothing is similar

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
# Each word is looked up by the index whatever the statistics say, which call the table empty where
# ANALYZE saw none of what this transaction wrote: as a scalar subquery, of which no join is made.
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
    for rows in parts:
        words: Words = defaultdict(set)
        packed = [*pack_chunks(db, rows, words)]
        columns = [[row[name] for row in rows] for name in _COLUMNS]
        lengths = [[one.length for one in packed], [one.own_length for one in packed]]
        db.run(_PENDING, _PENDING_TYPES, *columns, *lengths, [one.records for one in packed])
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
    somebody else's. While the vocabulary is made anew (its row is locked), or where the transaction
    does not see what others commit, all are added, since those that are seen may be going.
    """
    collections = list({collection_id for collection_id, _ in words})
    settled = {row["collection_id"] for row in db.run(_SETTLED, ["bigint[]"], collections)}
    for (collection_id, config), lexemes in words.items():
        texts = [lexeme.decode() for lexeme in sorted(lexemes) if not lexeme.startswith(NAME)]
        types = ["bigint", "text", "text[]", "boolean"]
        db.run(_WORDS, types, collection_id, config, texts, collection_id in settled)
