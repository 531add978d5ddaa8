"""Texts that have the title or an alias of another document."""

from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.graph.names import (
    MOST_NAMESAKES,
    NameFinder,
    common_names,
    documents_named,
    mentions,
    most_documents,
)

words = st.lists(st.sampled_from(["red", "wine", "house", "sea"]), min_size=1, max_size=8)


def test_the_longest_name_counts() -> None:
    finder = NameFinder(["red wine", "red", "wine house"])
    assert finder.names_in("A Red wine house by the red sea") == {"red wine", "red"}


@given(words, st.sets(words.map(" ".join), max_size=6))
def test_a_name_that_is_found_stands_there(text: list[str], names: set[str]) -> None:
    found = NameFinder(names).names_in(" ".join(text))
    assert found <= names
    assert all(f" {name} " in f" {' '.join(text)} " for name in found)
    assert bool(found) == any(f" {name} " in f" {' '.join(text)} " for name in names)


def test_a_title_is_known_without_what_tells_it_apart() -> None:
    known = documents_named([(1, "Lloyd (film)"), (2, "Lloyd"), (3, "it")])
    assert known == {"lloyd film": {1}, "lloyd": {1, 2}}


def test_a_name_of_many_documents_tells_none() -> None:
    assert documents_named((number, "Report") for number in range(MOST_NAMESAKES + 1)) == {}


def test_what_many_documents_mention_is_a_word() -> None:
    assert [most_documents(count) for count in (0, 1000, 5000)] == [10, 10, 50]
    found = [(number, number, "wine") for number in range(4)] + [(1, 1, "sea"), (1, 2, "sea")]
    assert common_names(found, 3) == {"wine"}


def test_a_mention_is_told_once_a_chunk_and_never_of_itself() -> None:
    documents = {"wine": {1, 2}, "sea": {3}}
    texts = [{"id": 7, "document_id": 1, "text": "The sea, the wine, the sea"}]
    found = NameFinder(documents).found_in(texts)
    assert mentions(documents, found, set()) == [(1, 7, 3, "sea"), (1, 7, 2, "wine")]
    assert mentions(documents, found, {"sea"}) == [(1, 7, 2, "wine")]
