"""Guardrails of expansions: what survives, what is dropped, limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.models import expansion_calls as guard


@pytest.mark.parametrize(
    ("text", "quoted", "negated", "identifiers"),
    [
        ("how do I deploy", (), (), ()),
        ('error "out of memory" -windows', ('"out of memory"',), ("-windows",), ()),
        ('-"not this" well-known', ('-"not this"',), (), ()),
        ("ERR-1042 in Foo.barBaz()", (), (), ("ERR-1042", "Foo.barBaz")),
        ("STRASSE straße_id -ERR-7", (), ("-ERR-7",), ("strasse_id",)),
        ('an open " quotation', (), (), ()),
    ],
)
def test_what_must_survive(
    text: str, quoted: tuple[str, ...], negated: tuple[str, ...], identifiers: tuple[str, ...]
) -> None:
    query = guard.read_query(text)
    assert (query.quoted, query.negated) == (quoted, negated)
    assert set(query.identifiers) == set(identifiers)


def lexical(query: str, *variants: str) -> list[str]:
    return guard.lexical_variants(guard.read_query(query), list(variants))


def test_lexical_variants() -> None:
    assert lexical("red wine", "Rotwein") == ["Rotwein"]
    assert lexical("red wine", "RED  wine", "", "  ", "claret", "Claret") == ["claret"]
    assert lexical("red wine", "a", "b", "c", "d", "e") == ["a", "b", "c", "d"]
    # Operators are the user's alone.
    assert lexical("red wine", '"red" -wine +x OR y') == ["red wine x y"]
    assert lexical("wine -white", "white claret") == ["claret -white"]
    assert lexical("wine -white", "white") == []
    assert lexical('fix "x y" ERR-1', "mend err-1") == ['mend err-1 "x y"']
    assert lexical("fix ERR-1", "mend") == ["mend ERR-1"]
    long = " ".join(["word"] * 100)
    assert lexical("q", long) == [" ".join(["word"] * 40)]


def test_sub_questions() -> None:
    plain = guard.read_query("who made it and who paid?")
    questions = [
        'Who made "Alien"?',
        "WHO made it and  who paid?",
        " ",
        "-Who OR +paid",
        "who paid",
    ]
    assert guard.sub_questions(plain, questions, 4) == ["Who made Alien ?", "Who paid"]
    query = guard.read_query("who made it -Alien")
    assert guard.sub_questions(query, ["who made Alien"], 4) == ["who made -Alien"]
    assert guard.sub_questions(query, ["a", "b", "c", "d", "e"], 2) == ["a -Alien", "b -Alien"]


def test_vector_variants() -> None:
    query = guard.read_query("red wine")
    variants = ["what is\nred wine?", "Red Wine", "what is red wine?", "x" * 300]
    assert guard.vector_variants(query, variants) == ["what is red wine?", "x" * 200]


@pytest.mark.parametrize(
    ("query", "text", "kept"),
    [
        ("how to deploy", "The deployment runs at night.", True),
        ("how to deploy", "Wine is made of grapes.", False),
        ("how to deploy", "How to make wine.", False),  # "how" and "to" are in every text
        ("go api", "The API of Go.", True),
        ("fix ERR-1042", "Fix it by a restart.", False),  # it has lost the identifier
        ("fix ERR-1042", "To fix err-1042, restart.", True),
        ("wine -white", "White paint.", False),
        ("東京の天気", "東京は晴れです。", True),
        ("東京の天気", "大阪は雨。", False),
        ("how to deploy", "", False),
        ("how to deploy", None, False),
    ],
)
def test_passages(query: str, text: str | None, kept: bool) -> None:
    passage = guard.passage(guard.read_query(query), text)
    assert passage == (text if kept else None)


def test_a_passage_is_cut_between_words() -> None:
    passage = guard.passage(guard.read_query("wine"), "wine " * 1000)
    assert passage == ("wine " * 300).strip()


def test_notes() -> None:
    assert guard.notes(" a\n b ") == "a b"
    assert guard.notes("") is None
    assert guard.notes(None) is None


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=8))
def test_any_query_and_any_answer(text: str, variants: list[str]) -> None:
    query = guard.read_query(text)
    kept = guard.lexical_variants(query, variants)
    assert len(kept) <= guard.MAX_VARIANTS
    assert len({" ".join(v.casefold().split()) for v in (*kept, text)}) == len(kept) + 1
    for variant in kept:
        for term in (*query.quoted, *query.negated):
            assert term in variant
        for name in query.identifiers:
            assert name.casefold() in variant.casefold()
    for variant in guard.vector_variants(query, variants):
        assert len(variant) <= guard.MAX_VARIANT_CHARACTERS
    for variant in variants:
        guard.passage(query, variant)
