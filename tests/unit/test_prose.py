"""Where the operators of a query count, and where it is prose."""

import pytest

from pgblend.plpy.lexical.query import query_groups, without_phrases

TEN = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("query", "has_operators"),
    [
        (f"{TEN} -eleven.", False),  # eleven words, and a sentence ends
        (f"{TEN[:-4]} -ten.", True),  # ten words
        (f"{TEN} -eleven", True),  # no sentence ends
        (f'{TEN} "eleven twelve." -nine', True),  # it ends within quotes
    ],
)
def test_sentences_of_more_than_ten_words_have_no_operators(
    query: str, has_operators: bool
) -> None:
    (group,) = query_groups(query)["groups"]
    assert bool(group["excluded"] or group["phrases"]) is has_operators


@pytest.mark.parametrize("sign", ["-", "\u2013", "\u2014"])
def test_a_dash_after_a_quotation_begins_a_word(sign: str) -> None:
    (group,) = query_groups(f"the „red fox“{sign}jumps -dog")["groups"]
    assert group == {"words": ["the", "jumps"], "phrases": ["red fox"], "excluded": ["dog"]}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("red fox", None),
        (f'{TEN} "red fox" eleven.', None),  # prose
        ('"red fox" -dog', "red fox -dog"),
        ('a „red fox“ -"lazy dog" or "cat"', 'a red fox -"lazy dog" or cat'),
        ('"this or -that --force -5" --x', "this that --force -5 --x"),
        ("-dog", None),
    ],
)
def test_words_of_phrases_stand_in_their_place(query: str, words: str | None) -> None:
    assert without_phrases(query) == words
