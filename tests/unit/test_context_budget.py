"""Contexts keep their budgets, counted by the real tokenizer, and say what they cost."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.cli.base.token_count import count_tokens, piece_tokens
from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.plpy.answers.render import context_document
from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.lexical.split_text import text_pieces

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
WORDS = st.sampled_from(
    ["deploy", "naïve", "Zusammenhang", "1234567", "x = {'a': 1};", "});", "…", "漢字とかな、",
     "。", "ที่เคยเข้าร่วม", "🦊🦊", "e\u0301", "\u3000", "\x1c", "\u2028", "\u00a0"]
)  # fmt: skip
GAPS = st.sampled_from(
    [" ", " ", " ", " ", "  ", "\n", "\n    ", "\n\n", "\n \n\n", "\r\n", "\t", ""]
)
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=120).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
QUICK = settings(max_examples=80)
BUDGET: dict[str, Any] = {
    "max_tokens": 4000,
    "max_file_tokens": None,
    "max_part_tokens": None,
    "reserve_tokens": {},
    "context_chars": {"before": 0, "after": 0},
    "context_order": "score",
}


def document_chunks(
    texts: list[str], sizes: tuple[int, int, int], kinds: list[str] | None = None
) -> list[dict[str, Any]]:
    """Split texts as ingest does, and number the chunks as the database would."""
    chunks = []
    for document, text in enumerate(texts):
        rows = split_document(Document(text=text), ChunkSettings(*sizes))
        for index, row in enumerate(rows):
            number = len(chunks)
            kind = kinds[number % len(kinds)] if kinds else "doc"
            chunks.append(
                {"pages": None, "kind": kind}
                | row
                | {"chunk_id": number, "document_id": document, "chunk_index": index}
            )
    return chunks


def ask(
    chunks: list[dict[str, Any]], order: list[int], shape: str = "json", **budget: Any
) -> dict[str, Any]:
    """Assemble the context of hits in this order."""
    document_of = {chunk["chunk_id"]: chunk["document_id"] for chunk in chunks}
    return context_document(
        {
            "query": "how do I deploy?",
            "format": shape,
            "hits": [
                {
                    "chunk_id": number,
                    "score": 1 / (place + 1),
                    "relevance": None,
                    "arms": {"lexical": {"rank": place + 1, "score": 1.0}},
                    "document_id": (document := document_of[number]),
                    "collection": "docs",
                    "uri": f"https://example.org/guide/v1.2/deploy-to_production/{document}.html?x=1a9f",
                    "title": "How to deploy: a guide",
                    "source_key": str(document),
                }
                for place, number in enumerate(order)
            ],
            "chunks": chunks,
            "settings": BUDGET | budget,
        }
    )


@QUICK
@given(st.one_of(TEXTS, ANY_TEXT), st.data())
def test_tokens_of_pieces_add_up(text: str, data: st.DataObject) -> None:
    own_start = data.draw(st.integers(0, len(text)))
    starts = [*text_pieces(text, own_start), len(text)]
    tokens = piece_tokens(text, own_start)
    assert len(tokens) == len(starts) - 1
    assert starts == sorted(set(starts))
    first = data.draw(st.integers(0, max(len(tokens) - 1, 0)))
    last = data.draw(st.integers(first, len(tokens)))
    true = count_tokens(text[starts[first] : starts[last]])
    more = 12 if own_start else 0  # it may tear a word apart
    assert true <= sum(tokens[first:last]) <= true + more


@pytest.mark.parametrize("shape", ["json", "markdown", "messages"])
def test_a_budget_that_nothing_fits_into_is_an_error(shape: str) -> None:
    text = "Deploy on Monday.\nNever on Friday, for nobody is there on Saturday to mend it."
    chunks = document_chunks([text], (400, 80, 40))
    with pytest.raises(ProgramError) as problem:
        ask(chunks, [0], shape, max_tokens=1)
    assert str(problem.value).startswith("max_tokens is 1: ")
    assert str(problem.value).endswith(" tokens")
    # What the hint asks for is the least that holds something.
    (least,) = map(int, re.findall(r"Say at least (\d+)", str(problem.value.hint)))
    assert ask(chunks, [0], shape, max_tokens=least)["parts"]
    assert ask(chunks, [0], shape, max_tokens=least - 1)["parts"] == []
    assert ask([], [], "json", max_tokens=1)["parts"] == []
    if shape == "messages":
        with pytest.raises(ProgramError) as problem:
            ask([], [], shape, max_tokens=1)
        (least,) = map(int, re.findall(r"Say at least (\d+)", str(problem.value.hint)))
        assert ask([], [], shape, max_tokens=least)["parts"] == []


def test_pieces_are_lines_and_parts_of_long_ones() -> None:
    assert text_pieces("") == []
    assert text_pieces("one\n\n\ntwo\nthree") == [0, 6, 10]
    assert text_pieces("one two", 4) == [0, 4]
    assert text_pieces("word " * 40) == [0, 64, 129, 194]
    assert text_pieces("漢" * 70 + "。" + "字" * 10) == [0, 70]
    assert text_pieces("x" * 20000) == [0, 8000, 16000]


@QUICK
@given(
    st.lists(st.one_of(TEXTS, ANY_TEXT), min_size=1, max_size=3),
    st.sampled_from([(400, 80, 40), (60, 15, 10), (24, 0, 4)]),
    st.data(),
)
def test_no_budget_is_exceeded(
    texts: list[str], sizes: tuple[int, int, int], data: st.DataObject
) -> None:
    chunks = document_chunks(texts, sizes, ["code", "doc", "signature"])
    order = data.draw(st.permutations(range(len(chunks))))
    shape = data.draw(st.sampled_from(["json", "markdown", "messages"]))
    least = {"json": 2, "markdown": 120, "messages": 400}[shape]  # what stands around takes some
    most = data.draw(st.integers(least, 900))
    of_file = data.draw(st.none() | st.integers(1, 400))
    of_part = data.draw(st.none() | st.integers(1, 200))
    around = data.draw(st.sampled_from([0, 40, 500]))
    reserve = data.draw(st.sampled_from([{}, {"code": most // 2}]))
    found = ask(
        chunks, order, shape, max_tokens=most, max_file_tokens=of_file, max_part_tokens=of_part,
        context_chars={"before": around, "after": around}, reserve_tokens=reserve,
    )  # fmt: skip
    parts, stats = found["parts"], found["stats"]
    if shape == "json":
        told = "\n\n".join(part["text"] for part in parts)
    elif shape == "markdown":
        told = found["markdown"]
    else:
        told = "\n".join(message["content"] for message in found["messages"])
    if parts:
        assert count_tokens(told) <= stats["tokens"] <= most
    for part in parts:
        assert part["text"].strip()
        assert count_tokens(part["text"]) <= part["tokens"]
        assert of_part is None or part["tokens"] - 1 <= of_part
    for document in {part["document_id"] for part in parts}:
        spent = sum(part["tokens"] for part in parts if part["document_id"] == document)
        assert of_file is None or spent <= of_file
    assert stats["estimated_tokens"] == 0
    assert stats["passages"] + stats["left_out"] + stats["duplicates"] == len(order)
    assert found == ask(
        chunks[::-1], order, shape, max_tokens=most, max_file_tokens=of_file,
        max_part_tokens=of_part, context_chars={"before": around, "after": around},
        reserve_tokens=reserve,
    )  # fmt: skip


PROSE = "\n\n".join(
    f"Paragraph {number} tells how to deploy version {number} to production; it takes "
    f"{number * 7} minutes, and nobody should (ever) be in a hurry: run `make deploy`."
    for number in range(60)
)


@pytest.mark.parametrize("sizes", [(400, 80, 40), (120, 30, 20)])
@pytest.mark.parametrize("most", [500, 1500, 4000])
def test_reported_tokens_are_within_two_percent(sizes: tuple[int, int, int], most: int) -> None:
    chunks = document_chunks([PROSE, PROSE.replace("deploy", "wine")], sizes)
    found = ask(chunks, list(range(len(chunks)))[::2], max_tokens=most)
    true = count_tokens("\n\n".join(part["text"] for part in found["parts"]))
    assert true <= found["stats"]["tokens"] <= min(most, true * 1.02)
    assert found["stats"]["tokens"] >= most * 0.9 or found["stats"]["left_out"] == 0


def test_a_stitched_document_is_the_document() -> None:
    chunks = document_chunks([PROSE], (100, 25, 10))
    found = ask(chunks, list(range(len(chunks)))[::-1])
    (part,) = found["parts"]
    assert part["text"] == PROSE
    assert part["spans"] == [[1, PROSE.count("\n") + 1]]
    assert part["chunk_ids"] == list(range(len(chunks)))
    assert found["stats"]["duplication_ratio"] == pytest.approx(0.2, abs=0.05)
