"""Lists of passages as lists of documents."""

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.search.candidates import ArmList
from pgblend.plpy.search.fusion import documents_once


def a_list(arm, weight, passages, **more):
    """A list of (document, chunk id), best first; a chunk's index is its id's last digit."""
    columns = CandidateList(
        chunk_ids=[chunk for _, chunk in passages],
        document_ids=[document for document, _ in passages],
        chunk_indexes=[chunk % 10 for _, chunk in passages],
        scores=[1 / place for place in range(1, len(passages) + 1)],
    )
    return ArmList(arm, arm, weight, columns, **more)


def test_each_document_once_by_one_passage():
    words, vectors = documents_once(
        [
            a_list("lexical", 1, [(1, 11), (2, 20)]),
            a_list("vector", 1, [(2, 21), (2, 20), (3, 30), (1, 12)]),
        ]
    )
    assert (words.found.document_ids, words.found.chunk_ids) == ([1, 2], [11, 20])
    assert vectors.found.document_ids == [2, 3, 1]
    assert vectors.found.chunk_ids == [20, 30, 11]
    assert vectors.found.chunk_indexes == [0, 0, 1]
    assert vectors.found.scores == [1, 1 / 3, 1 / 4]


def test_the_heaviest_list_chooses_the_passage_and_notes_follow():
    notes = {1: {"a": 1}, 2: {"a": 2}, 3: {"a": 3}}
    words, fuzzy = documents_once(
        [
            a_list("lexical", 1 / 8, [(1, 11)]),
            a_list("fuzzy", 1, [(1, 12), (1, 11), (2, 20)], notes=notes),
        ]
    )
    assert words.found.chunk_ids == [12]
    assert fuzzy.found.chunk_ids == [12, 20]
    assert fuzzy.notes == {1: {"a": 1}, 2: {"a": 3}}


def test_empty_lists_stay():
    empty, found = documents_once([a_list("lexical", 1, []), a_list("vector", 1, [(1, 10)])])
    assert empty.found.scores == empty.found.chunk_ids == []
    assert (found.found.document_ids, found.found.scores) == ([1], [1])
    assert documents_once([]) == []
