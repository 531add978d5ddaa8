import pytest

from support.database import Database


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("a fox runs", "foxes", "a <mark>fox</mark> runs"),
        ("a fox runs", "the", "a fox runs"),
        ("a fox runs", "cat", "a fox runs"),
        ("a fox runs", None, "a fox runs"),
        ("", "fox", ""),
        (
            '<script>alert("fox & dog")</script>',
            "fox",
            "&lt;script&gt;alert(&quot;<mark>fox</mark> &amp; dog&quot;)&lt;/script&gt;",
        ),
        ("a <mark>cat</mark>", "fox", "a &lt;mark&gt;cat&lt;/mark&gt;"),
        ("a <b>fox</b>", "fox", "a &lt;b&gt;<mark>fox</mark>&lt;/b&gt;"),
        ("no \ue000mark\ue001 for a fox", "fox", "no mark for a <mark>fox</mark>"),
        ("fox -brown", '"fox" -brown', "<mark>fox</mark> -brown"),
        ("&lt;fox&gt;", "fox", "&amp;lt;<mark>fox</mark>&amp;gt;"),
    ],
)
def test_marked_and_escaped(db: Database, content: str, query: str | None, expected: str) -> None:
    assert db.value("SELECT pgblend._snippet(%s, %s, 'english')", content, query) == expected


def test_a_long_text_is_cut_around_the_words(db: Database) -> None:
    content = "before " * 300 + "fox " + "after " * 300
    snippet = db.value("SELECT pgblend._snippet(%s, 'fox', 'english')", content)
    assert "<mark>fox</mark>" in snippet
    assert len(snippet.split()) <= 40
    beginning = db.value("SELECT pgblend._snippet(%s, 'the', 'english')", content)
    assert beginning == " ".join(["before"] * 40)


def test_no_notices(db: Database) -> None:
    db.rows("SELECT pgblend._snippet(%s, %s, 'english')", "x" * 3000, "the " + "y" * 3000)
    assert db.notices == []
