"""A lexical index of few chunks for a FakeDatabase: they wait to be sealed."""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.plpy.lexical.records import term_ids

Answer = Callable[..., Sequence[dict[str, Any]]]
ENGLISH = "english"


@dataclass(frozen=True)
class Chunk:
    """A chunk's document, its place there, its words and its configuration."""

    document: int
    words: Sequence[str]
    index: int = 0
    config: str = ENGLISH


def lexical_answers(
    chunks: Mapping[int, Chunk], configs: Sequence[str] = (ENGLISH,)
) -> dict[str, Answer]:
    """Return the answers to what the lexical arm asks of an index of chunks by id.

    A query's words are its lexemes under each of the configurations.
    """
    rows = {chunk_id: pending_row(chunk_id, chunk) for chunk_id, chunk in chunks.items()}
    vocabulary = {
        config: sorted({word for one in chunks.values() if one.config == config
                        for word in one.words})
        for config in configs
    }  # fmt: skip
    state = {
        "segment_ids": [],
        "versions": [],
        "tombstones": None,
        "pending": b"".join(row["key"] for row in rows.values()) or None,
        "collection_ids": [1],
    }

    def known(_: object, of: Sequence[str], lexemes: Sequence[str]) -> list[dict[str, Any]]:
        pairs = zip(of, lexemes, strict=True)
        return [{"known": [lexeme in vocabulary[config] for config, lexeme in pairs]}]

    def begun(
        _: object, config: str, places: Sequence[int], starts: Sequence[str], __: object
    ) -> list[dict[str, Any]]:
        return [
            {"place": place, "lexeme": lexeme}
            for place, start in zip(places, starts, strict=True)
            for lexeme in vocabulary[config]
            if lexeme.startswith(start) and len(lexeme) <= 2 * len(start)
        ]

    def alike(_: object, config: str, asked: str) -> list[dict[str, Any]]:
        found = [(likeness(asked, lexeme), lexeme) for lexeme in vocabulary[config]]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return [{"lexeme": lexeme, "likeness": share} for share, lexeme in found if share > 0][:50]

    def words(
        _: str, __: object, ___: str | None, texts: Sequence[str], known: Sequence[str]
    ) -> list[dict[str, Any]]:
        return [
            row if row["config_name"] in known else {**row, "lexemes": None, "counts": None}
            for row in parsed(texts[0] if texts else "", configs)
        ]

    return {
        "SELECT m.config_name, w.word": lambda words, of, _: [
            {"config_name": config, "word": word, "lexemes": [word]}
            for word, config in zip(words, of, strict=True)
        ],
        "_query_lexemes(ARRAY[": lambda text, config, _: parsed(text, [config]),
        "_query_lexemes(": words,
        "unnest(u.configs)": words,
        "_query_operands(": lambda *_: [],
        "AS sequences": lambda _, texts: [{"sequences": ["\n".join(one.split()) for one in texts]}],
        "dead_digest": lambda _: [state],
        "FROM pgblend_data.segment AS s WHERE s.collection_id": lambda _: [],
        "SELECT EXISTS (": lambda _: [{"found": True}],
        "xidsend(c.xmin)": lambda ids: [rows[one] for one in ids],
        "v.lexeme BETWEEN": known,
        "_words_of_lexemes(": lambda _, __, lexemes: [{"words": lexemes}],
        "to_tsvector(pgblend._regconfig($1), t.text)": lambda _, texts: [
            {"place": place, "lexemes": text.replace(" ", "\n")} for place, text in enumerate(texts)
        ],
        "v.lexeme >= b.start": begun,
        "_alike_lexemes(": alike,
    }


def likeness(one: str, other: str) -> float:
    """Return the share of letters that two words have in common."""
    return len({*one} & {*other}) / len({*one} | {*other})


def parsed(query: str, configs: Sequence[str]) -> list[dict[str, Any]]:
    """Return what _query_lexemes does of plain words, under each configuration."""
    words = query.replace("_", " ").split()
    lexemes = sorted(set(words))
    meant = {"lexemes": lexemes, "counts": [words.count(lexeme) for lexeme in lexemes]}
    return [{"config_name": config, "version": "1", **meant} for config in configs]


def pending_row(chunk_id: int, chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as index.py reads it; its words are of the body."""
    lexemes, length = sorted(set(chunk.words)), len(chunk.words)
    records = [
        struct.pack(">q6B", term, 0, 0, chunk.words.count(lexeme), 0, 0, 0)
        for lexeme, term in zip(lexemes, term_ids(lexemes), strict=True)
    ]
    return {
        "chunk_id": chunk_id,
        "key": struct.pack(">qI", chunk_id, 700),
        "collection_id": 1,
        "text_search_config": chunk.config,
        "place": struct.pack(">qi", chunk.document, chunk.index),
        "lengths": struct.pack(">ii", length, length),
        "records": b"".join(records),
    }
