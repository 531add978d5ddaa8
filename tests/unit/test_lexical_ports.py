"""The lexical arm by its port: two nodes answer as one does that has all of their chunks."""

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.base.ports import Sample
from pgblend.plpy.lexical.arm import LexicalArm, ListScope
from pgblend.plpy.lexical.chunk_rows import merged_samples, sampled
from pgblend.plpy.lexical.own_index import Node
from pgblend.plpy.lexical.vocabulary import MOST_WORDS
from support.fake_database import FakeDatabase
from support.fake_index import Chunk, lexical_answers
from support.two_nodes import Nodes

WORDS = ("wine", "winter", "window", "france", "francs", "sea", "seas", "harbour", "κρασί", "酒")
MISSPELT = ("wien", "frnace", "harb", "κρασι", "酒神", "nowhere", "==name")
CONFIGS = ("english", "german")
CHUNKS = st.lists(
    st.builds(
        Chunk,
        document=st.integers(1, 12),
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
        index=st.integers(0, 3),
        config=st.sampled_from(CONFIGS),
    ),
    max_size=30,
    unique_by=lambda chunk: (chunk.document, chunk.index),
)
SYNONYMS = [{"words": ["wine", "sea", "red harbour"]}, {"words": ["wien"], "to": ["wine"]}]
QUERIES = st.lists(st.sampled_from(WORDS + MISSPELT), max_size=5).map(" ".join)


def arm(port: Any, configs: tuple[str, ...], **options: Any) -> LexicalArm:
    scope = ListScope(
        collection_ids=[1], filter=None, language=None, by_document=False, k1=1.2, b=0.75,
        field_weights=(1.0, 1.0, 1.0), timeout_ms=60_000, deadline=inf, checks_index=False,
        strict=False, corrects_all=False,
    )  # fmt: skip
    fields = scope._asdict() | options
    return LexicalArm(FakeDatabase(lexical_answers({}, configs)), port, ListScope(**fields))


def node(chunks: dict[int, Chunk], configs: tuple[str, ...]) -> Node:
    return Node(FakeDatabase(lexical_answers(chunks, configs)))


@pytest.mark.parametrize("configs", [CONFIGS[:1], CONFIGS])
@given(chunks=CHUNKS, query=QUERIES, depth=st.sampled_from([1, 2, 5, 100]))
@settings(max_examples=60)
def test_two_nodes_are_one(
    configs: tuple[str, ...], chunks: list[Chunk], query: str, depth: int
) -> None:
    every = {place: chunk for place, chunk in enumerate(chunks, 10) if chunk.config in configs}
    shards: list[dict[int, Chunk]] = [
        {place: chunk for place, chunk in every.items() if chunk.document % 2 == number}
        for number in (0, 1)
    ]
    one, two = node(every, configs), Nodes([node(shard, configs) for shard in shards])
    for options in ({}, {"by_document": True}, {"corrects_all": True}, {"synonyms": SYNONYMS}):
        whole, parted = (arm(port, configs, **options) for port in (one, two))
        assert parted.words(query, depth) == whole.words(query, depth)
        assert parted.corrected(query, depth) == whole.corrected(query, depth)


def test_misspelt_words_are_put_right_across_nodes() -> None:
    left = {1: Chunk(1, ["wine", "france"]), 2: Chunk(1, ["wine"], 1)}
    right = {3: Chunk(2, ["winter", "sea"])}
    port = Nodes([node(left, CONFIGS[:1]), node(right, CONFIGS[:1])])
    found = arm(port, CONFIGS[:1]).corrected("wnie frnace", 10)
    assert found.found.chunk_ids == [1, 2]
    assert found.corrections[0] == '{"wnie": ["wine"], "frnace": ["france"]}'
    assert not arm(port, CONFIGS[:1]).corrected("wine sea", 10).found.chunk_ids  # all are known


@pytest.mark.parametrize(("query", "known"), [("wine", 1), ("wine zzz", 0.231), ("zzz", 0)])
def test_words_say_how_many_of_them_passages_have(query: str, known: float) -> None:
    """By idf, of words that half of four passages have, and that none has: ln 2, ln 10."""
    chunks = {n: Chunk(1, ["wine"] if n < 3 else ["sea"]) for n in range(1, 5)}
    assert arm(node(chunks, CONFIGS[:1]), CONFIGS[:1]).words(query, 10).known == pytest.approx(
        known, abs=0.0005
    )


def test_requests_tell_time_as_what_is_left() -> None:
    asked: list[float] = []

    class Watched(Node):
        def count(self, request: Any) -> Any:
            asked.append(request.timeout_ms)
            return super().count(request)

    port = Watched(FakeDatabase(lexical_answers({1: Chunk(1, ["wine"])})))
    assert arm(port, CONFIGS[:1], timeout_ms=500).words("wine", 10).every_word
    assert 0 < asked[0] <= 500


def test_what_a_word_stands_for_is_looked_up_once_until_a_chunk_is_added() -> None:
    chunks = {place: Chunk(1, [word], place) for place, word in enumerate(WORDS)}
    database = FakeDatabase(lexical_answers(chunks))

    def corrections(query: str) -> tuple[list[Any], list[str]]:
        database.asked.clear()
        found = arm(Node(database), CONFIGS[:1]).corrected(query, 10)
        looked_up = {"_alike_lexemes(", "v.lexeme >= b.start"}
        return [*found.corrections], [one for one in database.asked if one in looked_up]

    first, looked_up = corrections("wien frnaces")
    assert first
    assert set(looked_up) == {"_alike_lexemes(", "v.lexeme >= b.start"}
    assert corrections("wien frnaces") == (first, [])
    assert corrections("frnaces wien") == (corrections("wien frnaces")[0], [])
    partly, looked_up = corrections("wien harb")
    assert partly
    assert looked_up == ["v.lexeme >= b.start"]
    for place in range(MOST_WORDS):  # more than are kept
        corrections(f"wien {'q' * (place % 50 + 3)}{'z' * (place // 50)}")
    assert corrections("wien frnaces")[0] == first
    database.answers = lexical_answers({**chunks, 99: Chunk(2, ["frnacest"])})
    changed, looked_up = corrections("wien frnaces")
    assert looked_up
    assert changed != first


@pytest.mark.parametrize("configs", [CONFIGS[:1], CONFIGS])
@given(chunks=CHUNKS, words=st.lists(st.sampled_from(WORDS), max_size=3), most=st.integers(1, 9))
@settings(max_examples=40)
def test_a_sample_is_of_what_has_any_of_the_words(
    configs: tuple[str, ...], chunks: list[Chunk], words: list[str], most: int
) -> None:
    every = {place: chunk for place, chunk in enumerate(chunks, 10) if chunk.config in configs}
    having = {place for place, chunk in every.items() if {*words} & {*chunk.words}}
    sample = arm(node(every, configs), configs).sample(" ".join(words), most)
    assert (sample.total, sample.looked_at) == (len(having), min(len(having), most))
    assert len(sample.chunk_ids) == sample.looked_at
    assert {*sample.chunk_ids} <= having


def test_a_sample_takes_none_before_others() -> None:
    ids = np.arange(1, 100_001)
    (taken,), last = sampled([ids], 1000)
    assert len(taken) == 1000
    counts, _ = np.histogram(taken, 10, (1, 100_001))
    assert counts.min() > 60  # 100 are expected, 10 the standard deviation
    assert counts.max() < 140
    halves, of_halves = sampled([ids[::2], ids[1::2]], 1000)
    assert sorted(np.concatenate(halves)) == sorted(taken)
    assert of_halves == last


def test_samples_of_parts_are_one_of_all() -> None:
    parts = [np.arange(1, 60_001), np.arange(60_001, 61_001), np.arange(61_001, 100_001)]
    samples = []
    for ids in parts:
        (taken,), last = sampled([ids], 1000)
        samples.append(Sample(len(ids), len(taken), taken.tolist(), last))
    merged = merged_samples(samples)
    assert merged.total == 100_000
    assert merged.last == samples[0].last
    (expected,), _ = sampled([np.arange(1, 100_001)], len(merged.chunk_ids))
    assert sorted(merged.chunk_ids) == sorted(expected)
    share = merged.looked_at / merged.total
    assert abs(len(merged.chunk_ids) / merged.looked_at - 1) < 0.1
    assert abs(share - 1000 / 60_000) < 0.001
    whole = merged_samples([samples[1]])
    assert (whole.total, whole.looked_at, len(whole.chunk_ids)) == (1000, 1000, 1000)
    assert merged_samples([]).total == 0
