"""What is told of an answer as it grows is the beginning of what the whole answer says."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.doors.answers import CheckedSentences
from pgblend.plpy.answers.answer import check_answer

PARTS = [
    {"citation": 1, "text": "The server listens on port 5432. It speaks TLS."},
    {"citation": 2, "text": "Backups are taken at night, by cron.\nThey are kept for 30 days."},
]
PIECES = [
    'The server listens on port 5432 [1: "listens on port 5432"].',
    'It speaks TLS. [1: "speaks TLS"]',
    "Nobody says this at all.",
    "Backups are taken at night by cron [2].",
    "\n",
    "\n- ",
    "1. ",
    'They are kept for 31 days [2: "kept for"].',
    'They are kept for 30 days [2: "kept for 30 days"; 1: "TLS"].',
    "See [the page] and [1",
    ": “speaks TLS”].",
    "Dr. ",
    "好的。",
    " ",
    "\n#1: ",
    "\n**#2**: NO ANSWER\n",
]


def tell(text: str, cuts: list[int], questions: int = 0) -> list[str]:
    """Return what is told of a text that comes in pieces."""
    checked = CheckedSentences(PARTS, questions)
    told = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        told += checked.add(text[start:end])
    return told + list(checked.end())


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.randoms(), st.sampled_from([0, 2]))
def test_the_pieces_joined_are_the_answer(
    pieces: list[str], chance: random.Random, questions: int
) -> None:
    text = " ".join(pieces)
    cuts = sorted(chance.choices(range(len(text) + 1), k=12))
    whole = check_answer(text, PARTS, questions)["answer"]
    assert "".join(tell(text, cuts, questions)) == (whole or "")


def test_a_sentence_is_told_when_the_next_begins() -> None:
    checked = CheckedSentences(PARTS)
    assert list(checked.add('The server listens on port 5432 [1: "listens on port 5432"].')) == []
    assert list(checked.add(" Then")) == ["The server listens on port 5432 [1]."]
    assert list(checked.add(" nothing that any passage says.")) == []
    assert list(checked.add(" It speaks TLS. ")) == []
    assert list(checked.add('[1: "speaks TLS"] Then')) == [" It speaks TLS [1]."]
    assert list(checked.end()) == []


@pytest.mark.parametrize("text", ["", "NO ANSWER", "no answer."])
def test_nothing_is_told_of_no_answer(text: str) -> None:
    assert tell(text, [len(text) // 2]) == []
