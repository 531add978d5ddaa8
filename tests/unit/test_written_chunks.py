"""New chunks as the index has them: their columns, and the words that the vocabulary lacks."""

from struct import pack
from typing import Any

import pytest

from pgblend.plpy.lexical import records
from pgblend.plpy.lexical.records import NAME_MARK, add_chunks
from support.fake_database import FakeDatabase


def vector(**positions: list[int]) -> bytes:
    """Return a tsvector as tsvectorsend does, its lexemes in order."""
    words = {(NAME_MARK.decode() if w == "name" else "") + w: at for w, at in positions.items()}
    sent = pack("!i", len(words))
    for word, at in sorted(words.items()):
        sent += word.encode() + b"\0" + pack(f"!H{len(at)}H", len(at), *at)
    return sent


def chunk(id_: int, collection_id: int, sent: bytes) -> dict[str, Any]:
    return {"id": id_, "document_id": 70 + id_, "collection_id": collection_id, "bucket": 3,
            "chunk_index": 0, "text_search_config": "english", "own_position": 1,
            "vector": sent}  # fmt: skip


@pytest.mark.parametrize("most", [0, records.MOST_TERMS])
def test_parts_are_stored_and_their_words_together(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Also where the session knows more words than it keeps, or they are too many at once."""
    monkeypatch.setattr(records, "MOST_TERMS", most)
    monkeypatch.setattr(records, "MOST_WORDS", most)
    stored: list[tuple[Any, ...]] = []
    words: list[tuple[Any, ...]] = []
    db = FakeDatabase({
        "INTO pgblend_data.pending": lambda *values: stored.append(values) or [],
        "pgblend_data.vocabulary_lock": lambda ids: [{"collection_id": 1}],
        "INTO pgblend_data.vocabulary ": lambda *values: words.append(values) or [],
    })  # fmt: skip
    parts = [
        [chunk(1, 1, vector(wine=[1, 4], red=[2])), chunk(2, 2, vector(sea=[1], name=[2]))],
        [chunk(3, 1, vector(wine=[1]))],
    ]
    add_chunks(db, parts)
    assert [values[:6] for values in stored] == [
        ([1, 2], [71, 72], [1, 2], [3, 3], [0, 0], ["english"] * 2),
        ([3], [73], [1], [3], [0], ["english"]),
    ]
    assert stored[0][6][0] == 3  # words of the first chunk, each as often as it is there
    assert words[:2] == [
        (1, "english", ["red", "wine"], True),
        (2, "english", ["sea"], False),  # its vocabulary is made anew: all are added
    ]
    assert words[2:] == ([] if most else [(1, "english", ["wine"], True)])


def test_a_statement_without_chunks_asks_nothing() -> None:
    add_chunks(FakeDatabase({}), [])
