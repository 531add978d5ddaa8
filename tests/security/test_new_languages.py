"""An open transaction with a language's first document stops nobody else's documents."""

from pgblend.cli.base.database import connect
from support.database import Database

INGEST = "SELECT ingest_document('c', %s, %s, language => %s)"


def test_a_language_s_first_document_stops_no_other_session(
    committed: Database, database_url: str
) -> None:
    committed.rows("SELECT add_collection('c')")
    committed.rows("SET lock_timeout = '20s'")
    with connect(database_url) as opened, opened.transaction():
        held = Database(opened)
        held.rows(INGEST, "a", "ein Walross", "german")
        held.rows(INGEST, "b", "one walrus", "english")
        committed.rows(INGEST, "c", "zwei Walrosse", "german")
        committed.rows(INGEST, "d", "two walruses", "english")
    languages = "SELECT text_search_config FROM pgblend_data.collection_language ORDER BY 1"
    assert set(committed.column(languages)) == {"english", "german"}
    noted = len(committed.column(languages))
    committed.rows(INGEST, "e", "drei Walrosse", "german")
    assert len(committed.column(languages)) == noted  # what is there is not noted again
    for index in ("SELECT lexical_seal('c')", "SELECT lexical_rebuild('c')"):
        committed.rows(index)
        found = "SELECT source_key FROM lexical_search(%s) ORDER BY 1"
        assert committed.column(found, "Walross") == ["a", "c", "e"]
        assert committed.column(found, "walrus") == ["b", "d"]
    assert committed.value("SELECT count(*) FROM pgblend_data.segment") == 2
    assert committed.value("SELECT remove_collection('c')") is True
