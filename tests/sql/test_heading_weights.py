"""A word weighs by the level of its heading, in a text of a line and in a long one."""

import json
from collections.abc import Callable

import pytest

from support.database import Database
from support.heading_texts import LENGTHS, OTHERS, PLACES, Text, markdown, parts, underlined


def by_content(db: Database, texts: dict[str, Text]) -> None:
    for key, text in texts.items():
        db.rows("SELECT ingest_document('c', %s, %s)", key, markdown(text))


def by_underlines(db: Database, texts: dict[str, Text]) -> None:
    for key, text in texts.items():
        db.rows("SELECT ingest_document('c', %s, %s)", key, underlined(text))


def by_chunks(db: Database, texts: dict[str, Text]) -> None:
    for key, text in texts.items():
        chunks = json.dumps([{"content": markdown(text)}])
        db.rows("SELECT ingest_document('c', %s, '', chunks => %s)", key, chunks)


def by_a_table(db: Database, texts: dict[str, Text]) -> None:
    db.rows("CREATE TABLE public.article (id text PRIMARY KEY, body text)")
    for key, text in texts.items():
        db.rows("INSERT INTO article VALUES (%s, %s)", key, markdown(text))
    db.rows("SELECT attach_table('public.article', text_columns => '{body}', collection => 'c')")


def ranked(db: Database, collection: str, function: str = "lexical_search") -> list[str]:
    """Return the places of the word in the order of their first passages."""
    found = db.column(f"SELECT source_key FROM {function}('turbine', 50, ARRAY[%s])", collection)
    return list(dict.fromkeys(key.partition(".")[0] for key in found))


@pytest.mark.extended
@pytest.mark.parametrize("bring", [by_content, by_underlines, by_chunks, by_a_table])
@pytest.mark.parametrize("length", LENGTHS)
def test_texts_by_sql(
    db: Database, bring: Callable[[Database, dict[str, Text]], None], length: int
) -> None:
    db.rows("SELECT add_collection('c')")
    bring(db, {place: parts(place, length) for place in (*PLACES, *OTHERS)})
    for sealed in (False, True):
        if sealed:
            db.rows("SELECT lexical_seal('c')")
        assert ranked(db, "c") == ["h1", "h2", "h3", "body"]
        assert ranked(db, "c", "hybrid_search") == ["h1", "h2", "h3", "body"]


def test_a_heading_whose_word_is_repeated_more_often_than_can_be_counted(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    chunks = json.dumps([{"content": "# Ozone\n\n" + "ozone " * 300}])
    db.rows("SELECT ingest_document('c', 'k', '', chunks => %s)", chunks)
    for sealed in (False, True):
        if sealed:
            db.rows("SELECT lexical_seal('c')")
        assert db.column("SELECT source_key FROM lexical_search('ozone', 10, '{c}')") == ["k"]


def test_headings_that_are_given_and_words_made_anew(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    chunks = json.dumps([{"content": "Pumps\n\nOil daily.", "own_headings": "## Pumps"}])
    db.rows("SELECT ingest_document('c', 'k', '', chunks => %s)", chunks)
    words = "SELECT lexemes::text FROM pgblend_data.chunk"
    assert "'pump':1,5C,6C" in db.value(words)
    strictly = "SELECT source_key FROM lexical_search(%s, options => '{\"strict\": true}')"
    assert db.column(strictly, '"daily pumps"') == []
    before = db.value(words)
    db.rows("UPDATE pgblend_data.chunk SET lexemes = ''")
    assert db.value(words) == before


def test_a_chunk_of_code_has_no_headings(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    chunk = json.dumps([{"content": "x = 1\n\n## turbine\n\ny = 2\n", "kind": "code"}])
    db.rows("SELECT ingest_document('c', 'k', '', chunks => %s)", chunk)
    assert "'turbin':3 " in db.value("SELECT lexemes::text FROM pgblend_data.chunk")
