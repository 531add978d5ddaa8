"""How chunks go on from one another, and the text around one."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.answers.assemble import chunk_join, text_around


def chunk(index: int, content: str, own_start: int = 0, **more: int | None) -> dict[str, Any]:
    places = dict.fromkeys(("start_offset", "end_offset", "start_line", "end_line"))
    return {"chunk_index": index, "content": content, "own_start": own_start, **places, **more}


def span(index: int, text: str, start: int, end: int, own_start: int = 0) -> dict[str, Any]:
    return chunk(index, text[start:end], own_start, start_offset=start, end_offset=end)


TEXT = "one two three four five"


@pytest.mark.parametrize(
    ("earlier", "later", "join"),
    [
        (span(0, TEXT, 0, 7), span(1, TEXT, 7, 13), (0, "")),
        (span(0, TEXT, 0, 13), span(1, TEXT, 4, 18, 10), (10, " ")),
        (span(0, TEXT, 0, 14), span(1, TEXT, 4, 18, 10), (10, "")),  # the blank is there
        (span(0, TEXT, 0, 13), span(1, TEXT, 4, 18, 5), (9, "")),  # more is the same
        (span(0, TEXT, 0, 13), span(2, TEXT, 8, 18), (5, "")),
        (span(0, TEXT, 0, 18), span(2, TEXT, 4, 7), (3, "")),  # it lies within
        (span(0, TEXT, 0, 3), span(2, TEXT, 8, 13), None),  # text is missing between
        (chunk(0, "a"), chunk(2, "b"), None),
        (chunk(0, "a"), chunk(1, "b"), (0, "\n\n")),
        (chunk(0, "a b"), chunk(1, "b\n c", 3), (3, "\n ")),
        (chunk(0, "a", end_line=3), chunk(1, "b", start_line=3), (0, " ")),
        (chunk(0, "a", end_line=3), chunk(1, "b", start_line=4), (0, "\n")),
        (chunk(0, "a", end_line=3), chunk(1, "b", start_line=9), (0, "\n\n")),
        (chunk(0, "a", end_line=3), chunk(1, "b"), (0, "\n\n")),
        # Offsets that are not those of the content say nothing.
        (chunk(0, "a", start_offset=0, end_offset=9), span(1, TEXT, 4, 7), (0, "\n\n")),
    ],
)
def test_how_a_chunk_goes_on(earlier: Any, later: Any, join: Any) -> None:
    assert chunk_join(earlier, later) == join


LETTERS = st.text(st.sampled_from("ab \n"), min_size=12, max_size=40)
SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6)), min_size=4, max_size=4)


def cut(text: str, sizes: list[tuple[int, int]], strips: bool) -> list[dict[str, Any]]:
    """Return chunks that cover a text, each with an overlap on what was before."""
    chunks: list[dict[str, Any]] = []
    done = 0
    for size, overlap in [*sizes, (len(text), 0)]:
        start = max(done - overlap, chunks[-1]["start_offset"] if chunks else 0)
        end = done + size
        end = start + len(text[start:end].rstrip()) if strips else min(end, len(text))
        if end > done:
            chunks.append(span(len(chunks), text, start, end, done - start))
            done = end
            while strips and text[done : done + 1].isspace():
                done += 1
    return chunks


def letters(text: str) -> str:
    return "".join(text.split())


@given(text=LETTERS, sizes=SIZES, strips=st.booleans())
def test_joined_chunks_are_the_text(text: str, sizes: Any, strips: bool) -> None:
    chunks = cut(text, sizes, strips)
    joined = chunks[0]["content"] if chunks else ""
    for earlier, later in pairwise(chunks):
        skip, gap = chunk_join(earlier, later) or (0, "missing")
        joined += gap + later["content"][skip:]
    assert letters(joined) == letters(text)
    assert strips or joined == text


@given(
    text=LETTERS, sizes=SIZES, strips=st.booleans(),
    limits=st.tuples(st.integers(0, 50), st.integers(0, 50)),
)  # fmt: skip
@settings(max_examples=50)
def test_what_stands_around_a_chunk(
    text: str, sizes: Any, strips: bool, limits: tuple[int, int]
) -> None:
    chunks = cut(text, sizes, strips)
    for index, own in enumerate(chunks):
        before, after = text_around(chunks, index, 99, 99)
        assert letters(before) == letters(text[: own["start_offset"]])
        assert letters(after) == letters(text[own["end_offset"] :])
        short = text_around(chunks, index, *limits)
        assert len(short[0]) <= limits[0]
        assert len(short[1]) <= limits[1]
        assert before.endswith(short[0])
        assert after.startswith(short[1])


def test_it_is_cut_between_words() -> None:
    chunks = [span(0, TEXT, 0, 8), span(1, TEXT, 8, 13), span(2, TEXT, 13, 23)]
    assert text_around(chunks, 1, 5, 6) == ("two", "four")
    assert text_around(chunks, 1, 7, 5) == ("one two", "four")
    assert text_around(chunks, 1, 0, 0) == ("", "")
    long = [chunk(0, "x" * 100), chunk(1, "y", start_line=1), chunk(2, "z" * 100)]
    assert text_around(long, 1, 60, 60) == ("x" * 60, "z" * 60)  # no word's end is near


def test_nothing_is_told_of_what_lies_behind_a_gap() -> None:
    chunks = [chunk(0, "a"), chunk(2, "b"), chunk(3, "own"), chunk(4, "c"), chunk(6, "d")]
    assert text_around(chunks, 3, 99, 99) == ("b", "c")
    assert text_around([chunk(3, "own")], 3, 9, 9) == ("", "")
