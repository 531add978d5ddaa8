"""Duplicates and diversity, against the plainest way to find them."""

import sys
from collections.abc import Iterator
from importlib import import_module, reload
from math import isclose, sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.search.choose import (
    Repeatable,
    drop_duplicates,
    mmr_select,
    near_duplicates,
)

EXAMPLES = settings(max_examples=100)
TEXTS = st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join)
COMPONENTS = st.integers(-3, 3).map(float)


def jaccard(one: str, two: str) -> float:
    runs = [
        {tuple(words[i : i + 3]) for i in range(max(1, len(words) - 2))} if words else set()
        for words in (one.split(), two.split())
    ]
    union = runs[0] | runs[1]
    return len(runs[0] & runs[1]) / len(union) if union else 0.0


def similar(contents: list[Any], similarity: float) -> list[Any]:
    near = near_duplicates(contents, similarity)
    return drop_duplicates(Repeatable(), near, 0.5, None, len(contents))


@given(contents=st.lists(TEXTS, max_size=12), similarity=st.sampled_from([0.2, 0.5, 0.75, 0.8, 1]))
@EXAMPLES
def test_near_duplicates_are_those_of_all_pairs(contents: list[str], similarity: float) -> None:
    expected: list[Any] = []
    for index, content in enumerate(contents):
        kept = [other for other in range(index) if expected[other] is None]
        likeness = {other: jaccard(content, contents[other]) for other in kept}
        expected.append(
            next(((o, "similar", likeness[o]) for o in kept if likeness[o] >= similarity), None)
        )
    assert similar(contents, similarity) == expected


@pytest.mark.parametrize(
    ("contents", "dropped"),
    [
        (["The quick brown fox.", "the QUICK, brown fox!"], True),
        (["one two", "one two"], True),
        (["one two", "two one"], False),
        (["...", "..."], False),  # no words: like no other text
        ([None, None], False),
        (["東京都の天気は晴れ", "東京都の天気は晴れ。"], True),  # no spaces between words
        (["東京都の天気は晴れ", "大阪府の歴史を学ぶ"], False),
        (["ไทยอากาศดี", "ไทยอากาศดี"], True),
        (["STRASSE eins zwei", "straße eins zwei"], True),
    ],
)
def test_texts_that_are_alike(contents: list[Any], dropped: bool) -> None:
    assert (similar(contents, 0.8)[1] is not None) is dropped


def plain_mmr(
    scores: list[float], vectors: list[Any], relevance: float, pool: int
) -> list[tuple[int, float]]:
    def cosine(one: Any, two: Any) -> float:
        if one is None or two is None or not any(one) or not any(two):
            return 0.0
        dot = sum(x * y for x, y in zip(one, two, strict=True))
        return dot / sqrt(sum(x * x for x in one)) / sqrt(sum(y * y for y in two))

    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    waiting, chosen = order[:pool], []
    while waiting:
        objective = {
            x: relevance * scores[x]
            - (1 - relevance)
            * max((cosine(vectors[x], vectors[y]) for y, _ in chosen), default=0.0)
            for x in waiting
        }
        best = min(waiting, key=lambda x: (round(-objective[x], 9), x))
        chosen.append((best, objective[best]))
        waiting.remove(best)
    return chosen + [(x, relevance * scores[x]) for x in order[pool:]]


CANDIDATES = st.lists(
    st.tuples(st.integers(0, 20), st.none() | st.lists(COMPONENTS, min_size=3, max_size=3)),
    max_size=10,
)


@pytest.fixture(params=["numpy", "plain"])
def select(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """mmr_select with numpy, and on a server without it."""
    module = import_module("pgblend.plpy.search.choose")
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "numpy", None)
        reload(module)
    yield module.mmr_select
    monkeypatch.undo()
    reload(module)


@given(
    candidates=CANDIDATES,
    relevance=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    pool=st.integers(1, 12),
    most=st.none() | st.integers(0, 12),
)
@settings(EXAMPLES)
def test_mmr_is_the_greedy_choice(
    candidates: Any, relevance: float, pool: int, most: int | None
) -> None:
    scores, vectors = [score / 20 for score, _ in candidates], [v for _, v in candidates]
    chosen = mmr_select(scores, vectors, relevance, pool, None)
    expected = plain_mmr(scores, vectors, relevance, pool)
    assert [index for index, *_ in chosen] == [index for index, _ in expected]
    assert all(isclose(c[1], e[1], abs_tol=1e-9) for c, e in zip(chosen, expected, strict=True))
    cut = mmr_select(scores, vectors, relevance, pool, most)
    assert cut == chosen[: len(chosen) if most is None else most]
    if relevance == 1:
        assert [scores[index] for index, *_ in chosen] == sorted(scores, reverse=True)


def test_mmr_with_and_without_numpy(select: Any) -> None:
    vectors = [[1.0, 2, 3], [1, 2, 2.9], None, [-3, 0, 1], [0, 0, 0], [1, 2, 3]]
    scores = [0.9, 0.89, 0.2, 0.5, 0.1, 0.9]
    chosen = select(scores, vectors, 0.7, 5, None)
    assert [index for index, *_ in chosen] == [0, 3, 5, 1, 2, 4]
    assert [round(cosine, 6) if cosine else cosine for *_, cosine in chosen] == [
        None, 0.0, 1.0, 0.999867, 0.0, None,
    ]  # fmt: skip
    assert select(scores, [None] * 6, 0.7, 50, 2) == [
        (0, 0.7 * 0.9, None), (5, 0.7 * 0.9, 0.0),
    ]  # fmt: skip


def test_mmr_reads_vectors_as_text() -> None:
    assert mmr_select([1, 1], ["[1,0]", "[0,1]"], 0.5, 2, None) == [(0, 0.5, None), (1, 0.5, 0.0)]


def test_mmr_ends_where_it_is_interrupted() -> None:
    """A step at a time: each vector that is read, each item that is chosen."""
    steps = 0

    def interrupt() -> None:
        nonlocal steps
        steps += 1
        if steps == 5:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        mmr_select([1.0, 0.9, 0.8], [[1, 0], [0, 1], [1, 1]], 0.7, 3, None, interrupt)
    assert steps == 5
