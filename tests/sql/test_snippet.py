import pytest

from support.database import Database


def snippet(db: Database, content: str, query: str | None) -> str:
    """The snippet of one passage in English."""
    call = "SELECT pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], '{english}')"
    return str(db.value(call, content, query)[0])


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
    assert (
        db.value(
            "SELECT (pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], '{english}'))[1]",
            content,
            query,
        )
        == expected
    )


def test_a_long_text_is_cut_around_the_words(db: Database) -> None:
    content = "before " * 300 + "fox " + "after " * 300
    text = snippet(db, content, "fox")
    assert "<mark>fox</mark>" in text
    assert len(text.split()) <= 40
    beginning = snippet(db, content, "the")
    assert beginning == " ".join(["before"] * 40)


def test_no_notices(db: Database) -> None:
    db.rows(
        "SELECT (pgblend._snippets(ARRAY[%s], ARRAY[%s]::text[], '{english}'))[1]",
        "x" * 3000,
        "the " + "y" * 3000,
    )
    assert db.notices == []


@pytest.mark.parametrize("length", [2000, 3000, 20_000])
def test_long_words_of_a_found_passage_raise_no_notice(db: Database, length: int) -> None:
    db.rows("SELECT add_collection('c')")
    text = f"a fox {'x' * length} runs"
    db.rows("SELECT ingest_document('c', 'k', %s)", text)
    db.notices.clear()
    found = db.value("SELECT snippet FROM hybrid_search(%s)", f"fox {'y' * length}")
    assert found.startswith("a <mark>fox</mark> xxx")
    assert len(found) < 600
    assert all("too long" not in str(notice) for notice in db.notices)
