"""The part of a passage that is shown holds the most of what was looked for."""

from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.snippets import best_span, cut_window

MOST = 40
PASSAGE = "One is short. Two has red wine in it. Three ends it, and more. Four is the last of all."

gaps_and_words = st.lists(
    st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=12
)
PIECES = ["red ", "wine. ", "Ärger ", "a", "漢字", "。", "\n\n", "internationalization "]
texts = st.lists(st.sampled_from(PIECES), min_size=30, max_size=60).map("".join)


def hits_of(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return hits: where each begins and ends, and the number of its word."""
    hits, place = [], 0
    for gap, length, word in found:
        place += gap
        hits.append((place, place + length, word))
        place += length
    return hits


def words_within(hits: list[tuple[int, int, int]], start: int, stop: int) -> int:
    """Count the different words of the hits that lie between two places."""
    return len({word for begin, end, word in hits if start <= begin and end <= stop})


@given(gaps_and_words)
def test_no_other_span_has_more_words(found: list[tuple[int, int, int]]) -> None:
    hits = hits_of(found)
    start, stop = best_span(hits, [], MOST)
    assert 0 < stop - start <= MOST
    most = max(words_within(hits, begin, begin + MOST) for begin, _, _ in hits)
    assert words_within(hits, start, stop) == most


def test_a_whole_phrase_decides_among_equals() -> None:
    hits = [(0, 3, 0), (10, 14, 1), (100, 103, 0), (104, 108, 1)]
    assert best_span(hits, [], MOST) == (0, 14)
    assert best_span(hits, [(100, 108, 0)], MOST) == (100, 108)
    again = [*hits, (200, 203, 0), (204, 208, 1)]
    assert best_span(again, [(100, 108, 0), (200, 208, 0)], MOST) == (100, 108)


@given(texts, st.data())
def test_a_window_holds_what_it_is_for(text: str, data: st.DataObject) -> None:
    most = data.draw(st.integers(8, len(text) - 1))
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, min(first + most, len(text))))
    begin, end = cut_window(text, first, last, most)
    assert 0 <= begin <= first
    assert last <= end <= len(text)
    assert end - begin <= most


def test_a_window_begins_and_ends_with_sentences() -> None:
    first = PASSAGE.index("red")
    begin, end = cut_window(PASSAGE, first, first + len("red wine"), 28)
    assert PASSAGE[begin:end] == "Two has red wine in it."


def test_a_window_at_the_end_shows_all_the_rest() -> None:
    first = PASSAGE.index("last")
    begin, end = cut_window(PASSAGE, first, first + len("last"), 31)
    assert PASSAGE[begin:end] == "more. Four is the last of all."
    rest = len(PASSAGE) - first
    assert cut_window(PASSAGE, first, first + len("last"), rest) == (first, len(PASSAGE))


def test_a_text_without_a_stop_is_cut_between_words() -> None:
    numbers = "ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN"
    first = numbers.index("FIVE")
    begin, end = cut_window(numbers, first, first + len("FIVE"), 14)
    assert numbers[begin:end] == "FOUR FIVE SIX"
