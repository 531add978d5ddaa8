"""Lists joined into a pool, where a page begins in it, and whether the words alone suffice."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.search.candidates import ArmList, Fused, candidate_arms
from pgblend.plpy.search.fusion import merge_lists
from pgblend.plpy.search.lists import is_strong_signal
from pgblend.plpy.search.page import page_start
from pgblend.plpy.search.trace import ScoreHistory, trace_candidates
from support.arm_lists import settings_of

WORDS = CandidateList([30, 10], [1, 7], [2, 0], [9.5, 4.0])
VECTORS = CandidateList([20, 30], [1, 1], [0, 2], [0.8, 0.7])
EMPTY = CandidateList()


def merged(lists: list[CandidateList]) -> Fused:
    return merge_lists([ArmList("lexical", "lexical", 1, found) for found in lists])


def test_lists_become_one_pool_in_order_of_their_keys() -> None:
    ranks = [[None, 1, 2], [1, 2, None], [None, None, None]]
    expected = Fused([20, 30, 10], [1, 1, 7], [0, 2, 0], ranks)
    assert asdict(merged([WORDS, VECTORS, EMPTY])) == asdict(expected)


@pytest.mark.parametrize("lists", [[], [EMPTY], [EMPTY, EMPTY]])
def test_no_rows_make_an_empty_pool(lists: list[CandidateList]) -> None:
    pool = merged(lists)
    assert pool.chunk_ids == []
    assert pool.ranks == [[] for _ in lists]


@given(st.lists(st.permutations(range(12)).map(lambda ids: ids[:7]), max_size=4), st.randoms())
def test_the_order_of_the_lists_changes_no_item(
    lists: list[list[int]], chance: random.Random
) -> None:
    made = [
        CandidateList(
            ids,
            [number // 3 for number in ids],
            [number % 3 for number in ids],
            [1 / (place + 1) for place in range(len(ids))],
        )
        for ids in lists
    ]
    shuffled = made[:]
    chance.shuffle(shuffled)
    pool, other = merged(made), merged(shuffled)
    assert pool.chunk_ids == sorted({number for ids in lists for number in ids})
    assert other.chunk_ids == pool.chunk_ids
    assert sorted(map(str, other.ranks)) == sorted(map(str, pool.ranks))


ORDER = [(0.9, 5, 0), (0.5, 1, 0), (0.5, 1, 1), (0.5, 2, 0), (0.1, 9, 3)]


@pytest.mark.parametrize(
    ("after", "start"),
    [
        (None, 0),
        ({}, 0),
        *(({"score": s, "document_id": d, "chunk_index": i}, p + 1)
          for p, (s, d, i) in enumerate(ORDER)),
        ({"score": 0.3, "document_id": 1, "chunk_index": 1}, 3),  # it is there, at another score
        ({"score": 0.95, "document_id": 7, "chunk_index": 0}, 0),  # rows that are not there
        ({"score": 0.5, "document_id": 1, "chunk_index": 2}, 3),
        ({"score": 0.5, "document_id": 0, "chunk_index": 2}, 1),
        ({"score": 0, "document_id": 1, "chunk_index": 7}, 5),
    ],
)  # fmt: skip
def test_a_page_begins_after_the_row_named(after: dict[str, float] | None, start: int) -> None:
    assert page_start(ORDER, after) == start


def test_a_row_that_is_gone_has_no_place_among_rows_out_of_order() -> None:
    shuffled = [ORDER[2], *ORDER[:2], *ORDER[3:]]
    gone = {"score": 0.5, "document_id": 8, "chunk_index": 0}
    assert page_start(shuffled, gone) is None
    assert page_start(shuffled, {"score": 1, "document_id": 5, "chunk_index": 0}) == 2


class Words:
    """One list by words, of which a search sees as much as it asks for."""

    def __init__(self, scores: Sequence[float], documents: Sequence[int]) -> None:
        self.columns = [*range(len(scores))], documents, [0] * len(scores), scores

    def find(self, *_: object, depth: int | None = None) -> ArmList:
        found = CandidateList(*(column[:depth] for column in self.columns), perfect=10.0)
        return ArmList("lexical", "lexical", 1, found)

    def say_more(self, found: CandidateList, most: int) -> bool:
        return len(set(found.document_ids[:most])) > 1

    def vectors_of(self, *_: object) -> None:
        raise AssertionError


def strong_signal(
    scores: Sequence[float],
    documents: Sequence[int] | None = None,
    depth: int = 100,
    signal: Any = None,
) -> tuple[bool, list[float]]:
    words = Words(scores, range(len(scores)) if documents is None else documents)
    settings = settings_of({"strong_signal": signal or BALANCED})
    return is_strong_signal("wine", words.find(depth=depth).found, settings, words)


BALANCED = {"score": 0.5, "gap": 0.14, "center": 0, "scale": 0}
GNO = {"score": 0.84, "gap": 0.14, "center": 4.5, "scale": 2.8}


@pytest.mark.parametrize(
    ("scores", "signal", "strong"),
    [
        ([], BALANCED, False),
        ([5.0], BALANCED, True),
        ([5.0, 3.6], BALANCED, True),
        ([5.0, 3.7], BALANCED, False),
        ([4.9, 0.0], BALANCED, False),
        ([9.2, 6.9], GNO, True),  # .843 and .702
        ([9.1, 1.0], GNO, False),  # .838
        ([9.2, 7.0], GNO, False),  # .843 and .709
        ([1e9, 1.0], GNO, True),
    ],
)
def test_a_strong_signal_is_high_and_alone(
    scores: list[float], signal: dict[str, float], strong: bool
) -> None:
    found, top = strong_signal(scores, signal=signal)
    assert found is strong
    assert len(top) == len(scores)


def test_only_five_are_told() -> None:
    assert strong_signal([5.0, 4, 3, 2, 1, 0.5])[1] == [0.5, 0.4, 0.3, 0.2, 0.1]


@pytest.mark.parametrize(
    ("documents", "depth", "strong"),
    [
        ([1, 2, 3], 3, False),
        ([1, 1, 2], 3, True),  # another document's is far below
        ([1, 1, 1], 3, True),
        ([1, 1, 2], 2, True),  # so deep the list shows nothing of others
        ([1, 1, 1], 2, True),
        ([1, 2, 3], 1, False),
    ],
)
def test_a_passage_is_compared_with_another_documents(
    documents: list[int], depth: int, strong: bool
) -> None:
    assert strong_signal([8.0, 7.9, 2.0], documents, depth)[0] is strong


NOTES = {2: {"method": "vocabulary"}}
LISTS = [
    ArmList("lexical", "lexical", 1, CandidateList(scores=[9.5])),
    ArmList("fuzzy", "fuzzy", 1, CandidateList(scores=[5.0, 4.0]), NOTES),
]
RANKS = [[1, None], [2, 1]]
ARMS = [
    {
        "lexical": {"rank": 1, "score": 9.5},
        "fuzzy": {"rank": 2, "score": 4.0, "method": "vocabulary"},
    },
    {"fuzzy": {"rank": 1, "score": 5.0}},
]


def test_arms_of_a_candidate() -> None:
    assert [candidate_arms(item, LISTS, RANKS) for item in (0, 1)] == ARMS


def test_how_a_candidate_came_to_its_place() -> None:
    parts = {"lexical": [0.5, 0.0], "fuzzy": [0.25, 0.2], "bonus": [0.25, 0.0]}
    addends = {0: {"fused": 0.3, "rerank": 0.4, "position": 0.0}}
    rows = trace_candidates(
        [1, 0],
        [ARMS[1], {**ARMS[0], "rerank": {"rank": 1, "score": 0.8}}],
        {"lexical": 2, "fuzzy": 1},
        ScoreHistory(parts, addends, [0.5, 0.1], [0.7, 0.07], {"fuse": [0, 1], "page": [0]}),
    )
    assert rows == [
        {
            "arms": {"fuzzy": {"rank": 1, "score": 5.0, "weight": 1}},
            "parts": {"fuzzy": pytest.approx(0.07)},
            "scores": {"fuse": 0.1, "blend": 0.07},
            "places": {"fuse": 2},
        },
        {
            "arms": {
                "lexical": {"rank": 1, "score": 9.5, "weight": 2},
                "fuzzy": {**ARMS[0]["fuzzy"], "weight": 1},
                "rerank": {"rank": 1, "score": 0.8},
            },
            "parts": pytest.approx(
                {"lexical": 0.15, "fuzzy": 0.075, "bonus": 0.075, "rerank": 0.4}
            ),
            "scores": {"fuse": 0.5, "blend": 0.7},
            "places": {"fuse": 1, "page": 1},
        },
    ]
