"""Which names and words a source key gives."""

import pytest

from pgblend.plpy.lexical.forms import whole_name
from pgblend.plpy.lexical.terms import lexeme_idf
from pgblend.plpy.lexical.words import name_field


@pytest.mark.parametrize(
    ("key", "words", "names"),
    [
        ("fake-memo.pdf", "fake-memo.pdf fake memo", ["fake-memo.pdf", "fake-memo"]),
        (
            "docs/Fr_OLAP.pdf",
            "Fr_OLAP.pdf docs Fr OLAP",
            ["docs/fr_olap.pdf", "fr_olap.pdf", "fr_olap"],
        ),
        ("a\\b  c.md", "b  c.md a b c", ["a\\b c.md", "b c.md", "b c"]),
        ("Bu\u0308cher/Plan.txt", "Plan.txt Bücher Plan", ["bücher/plan.txt", "plan.txt", "plan"]),
        ("Makefile", "", ["makefile"]),
        (".env", "", [".env"]),
        ("C#.md", "C#.md C", ["c#.md", "c#"]),
        ("data.jsonl#3", "data.jsonl data", ["data.jsonl#3", "data.jsonl", "data"]),
        (
            "https://example.org/guide/install.html?v=2",
            "install.html example org guide install",
            ["https://example.org/guide/install.html?v=2", "install.html", "install"],
        ),
        ("2024/17.md", "", ["2024/17.md", "17.md"]),
        ("invoices/17", "", ["invoices/17"]),
        ("conv-26:D1:2", "", ["conv-26:d1:2"]),
        ("31715818", "", []),
        ("550e8400-e29b-41d4-a716-446655440000", "", []),
        ('["a", 1]', "", []),
        ("/", "", []),
        ("", "", []),
    ],
)
def test_words_and_names(key: str, words: str, names: list[str]) -> None:
    assert name_field(key) == [words, *names]


def test_a_name_is_compared_in_one_case_with_single_spaces() -> None:
    assert whole_name("  Bases\n Syntax.MD ") == "bases syntax.md"
    assert whole_name("x" * 256) == ""


def test_a_name_tells_as_much_as_the_rarest_word_or_nothing() -> None:
    assert lexeme_idf("==readme.md", 30, 100) == lexeme_idf("word", 1, 100)
    assert lexeme_idf("==readme.md", 0, 100) == 0.0
    assert lexeme_idf("word", 30, 100) < lexeme_idf("word", 1, 100)
