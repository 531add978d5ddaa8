"""Lists of shards are merged to what one node would have found."""

import json

from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.shards.merged_answers import cut_short, merged_lists
from pgblend.plpy.shards.wire import packed, packed_list, unpacked, unpacked_list

SHARDS = 3
scores = st.sampled_from([3.5, 1.0, 0.1 + 0.2, 0.3, 0.0, -0.25])
candidates = st.lists(scores, max_size=20)


def listed(rows: list[tuple[float, int]], parts: bool) -> CandidateList:
    """Return a list of candidates, each a score and the id of a document with one chunk."""
    best = sorted(rows, key=lambda row: (-row[0], row[1]))
    documents = [document for _, document in best]
    return CandidateList(
        [document + 1000 for document in documents],
        documents,
        [document % 3 for document in documents],
        [score for score, _ in best],
        [document % 2 for document in documents] if parts else [],
        9.5 if best and parts else None,
    )


@given(candidates, st.integers(1, 20), st.booleans())
def test_the_best_of_all_shards_are_those_of_one_node(
    found: list[float], depth: int, parts: bool
) -> None:
    rows = [(score, document) for document, score in enumerate(found)]
    shards = {number: listed(rows[number::SHARDS], parts) for number in range(SHARDS)}
    one = listed(rows, parts)
    assert merged_lists(shards, depth) == CandidateList(
        *(list(column)[:depth] for column in one[:5]), one.perfect
    )


@given(candidates, st.integers(1, 20), st.integers(1, 20))
def test_a_shard_is_asked_again_where_its_share_may_be_too_small(
    found: list[float], depth: int, share: int
) -> None:
    rows = [(score, document) for document, score in enumerate(found)]
    whole = {number: listed(rows[number::SHARDS], True) for number in range(SHARDS)}
    cut = {
        number: CandidateList(*(list(column)[:share] for column in one[:5]), one.perfect)
        for number, one in whole.items()
    }
    again = cut_short(cut, merged_lists(cut, depth), share, depth)
    answered = cut | {number: whole[number] for number in again}
    assert merged_lists(answered, depth) == merged_lists(whole, depth)


@given(candidates, st.booleans())
def test_a_list_arrives_as_it_was_sent(found: list[float], parts: bool) -> None:
    sent = listed([(score, document) for document, score in enumerate(found)], parts)
    read = unpacked_list(json.loads(json.dumps(packed_list(sent))))
    columns = [list(column) for column in read[:5]]
    assert CandidateList(*columns, read.perfect) == sent


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1))))
def test_packed_columns_keep_the_largest_numbers(rows: list[tuple[int, int]]) -> None:
    hashes, ids = [one for one, _ in rows], [one for _, one in rows]
    assert [list(one) for one in unpacked("Iq", packed("Iq", hashes, ids))] == [hashes, ids]
