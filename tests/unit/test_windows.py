"""Long texts, which are split window by window, have the chunks of short ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.cli.documents import chunking
from pgblend.cli.documents.chunking import split_document, split_windows
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_settings import ChunkSettings

SIZES = ChunkSettings(60, 12, 6)


def prose(paragraphs):
    return "\n\n".join(
        " ".join(f"Sentence {n} of paragraph {p}." for n in range(p % 9 + 1))
        for p in range(paragraphs)
    )


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(chunking, "WINDOW_CHARACTERS", 3000)
    monkeypatch.setattr(chunking, "_CONTEXT_CHARACTERS", 500)


def test_windows_change_no_chunk_of_prose(narrow, monkeypatch):
    text = prose(300)
    windowed = [chunk for chunk, _ in split_windows(text, SIZES)]
    monkeypatch.setattr(chunking, "WINDOW_CHARACTERS", 10**9)
    assert len(windowed) > 100
    assert windowed == [chunk for chunk, _ in split_windows(text, SIZES)]


def test_a_first_window_with_little_before_what_is_split_again(narrow, monkeypatch):
    monkeypatch.setattr(chunking, "_CONTEXT_CHARACTERS", 2900)
    text = prose(100)
    chunks = [chunk for chunk, _ in split_windows(text, SIZES)]
    assert_all_of(text, chunks)


def test_windows_keep_lines_of_code_whole(narrow):
    source = "\n".join(f"    call_{n}(with_some, arguments_{n})" for n in range(2000))
    chunks = split_document(Document(text=source, kind="code", whole_lines=True), SIZES)
    lines = source.splitlines()
    for chunk in chunks:
        assert chunk["content"].splitlines()[0] == lines[chunk["start_line"] - 1]
        assert chunk["content"].splitlines()[-1] == lines[chunk["end_line"] - 1]
        assert chunk["token_count"] <= 60


@given(
    st.lists(st.text("ab. \n\né", max_size=60), max_size=60).map("".join),
    st.integers(20, 400),
    st.integers(1, 200),
)
@settings(max_examples=80)
def test_any_windows_keep_every_word_once_and_in_order(text, window, context):
    before = chunking.WINDOW_CHARACTERS, chunking._CONTEXT_CHARACTERS
    chunking.WINDOW_CHARACTERS = window + context
    chunking._CONTEXT_CHARACTERS = context
    try:
        chunks = [chunk for chunk, _ in split_windows(text, ChunkSettings(8, 2, 1))]
    finally:
        chunking.WINDOW_CHARACTERS, chunking._CONTEXT_CHARACTERS = before
    assert_all_of(text, chunks)
    assert all(chunk["token_count"] <= 8 for chunk in chunks)


def assert_all_of(text, chunks):
    """Every word is there once and in order, and places and lines are those of the text."""
    own = "".join(chunk["content"][chunk["own_start"] :] for chunk in chunks)
    assert "".join(own.split()) == "".join(text.split())
    for chunk in chunks:
        assert text[chunk["start_offset"] : chunk["end_offset"]] == chunk["content"]
        assert chunk["start_line"] == text.count("\n", 0, chunk["start_offset"]) + 1
        assert chunk["end_line"] == text.count("\n", 0, chunk["end_offset"]) + 1
