"""A lexical index of few chunks for a FakeDatabase: they wait to be sealed."""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.lexical.records import term_ids

Answer = Callable[..., Sequence[dict[str, Any]]]


def lexical_answers(
    chunks: Mapping[int, tuple[int, Sequence[str]]], config: str = "english"
) -> dict[str, Answer]:
    """Return the answers to what the lexical arm asks: (document, words) by chunk id.

    A query's words are its lexemes; chunks are the first of their documents.
    """
    rows = {one: pending_row(one, *of_chunk, config) for one, of_chunk in chunks.items()}
    vocabulary = {word for _, words in chunks.values() for word in words}
    state = {
        "segment_ids": [],
        "versions": [],
        "tombstones": None,
        "pending": b"".join(row["key"] for row in rows.values()) or None,
    }
    return {
        "_query_terms(": lambda query, *_: [parsed(query, config)],
        "_lexical_state(": lambda _: [state],
        "FROM pgblend_data.segment AS s WHERE s.collection_id": lambda _: [],
        "SELECT EXISTS (": lambda _: [{"found": True}],
        "_pending_chunks(": lambda ids: [rows[one] for one in ids],
        "v.lexeme BETWEEN": lambda _, __, lexemes: [
            {"known": [lexeme in vocabulary for lexeme in lexemes]}
        ],
        "_words_of_lexemes(": lambda _, __, lexemes: [{"words": lexemes}],
        "to_tsvector(pgblend._regconfig($1), t.text)": lambda _, texts: [
            {"place": place, "lexemes": text.replace(" ", "\n")} for place, text in enumerate(texts)
        ],
        "v.lexeme >= b.start": lambda *_: [],
        "_alike_lexemes(": lambda *_: [],
    }


def parsed(query: str, config: str) -> dict[str, Any]:
    """Return what _query_terms does, of plain words."""
    words = query.replace("_", " ").split()
    lexemes = sorted(set(words))
    boosts = [11 * words.count(lexeme) / (10 + words.count(lexeme)) for lexeme in lexemes]
    ends = [0, len(lexemes)]
    return {
        "configs": [config],
        "lexemes": lexemes,
        "boosts": boosts,
        "ends": ends,
        "conditions": [None],
    }


def pending_row(chunk_id: int, document: int, words: Sequence[str], config: str) -> dict[str, Any]:
    """Return a chunk as _pending_chunks does; its words are of the body."""
    lexemes = sorted(set(words))
    records = [
        struct.pack(">q6B", term, 0, 0, words.count(lexeme), 0, 0, 0)
        for lexeme, term in zip(lexemes, term_ids(lexemes), strict=True)
    ]
    return {
        "key": struct.pack(">qI", chunk_id, 700),
        "text_search_config": config,
        "head": struct.pack(">q4i", document, 0, len(words), len(words), len(records)),
        "records": b"".join(records),
    }
