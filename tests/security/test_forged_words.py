"""A passage is found by the words of its text, whatever its writer says that these are."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from pgblend.cli.operate import lexical_file
from support.database import Database, add_documents
from support.locks import waits
from support.waiting import wait_until

pytestmark = pytest.mark.extended

FORGED = "'deploy':1A,2A,3A 'wine':4A 'zebra':5A '=err-1042':1C '==keys.txt':1C"
INSERT = (
    "INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content,"
    " kind, own_start, token_count, metadata, text_search_config, lexemes, own_position)"
    " SELECT d.id, n, d.collection_id, d.bucket, 'a quiet walrus ' || n, 'doc', 0, 3, '{}',"
    " d.text_search_config, %s::tsvector, n FROM pgblend_data.document AS d,"
    " generate_series(5, 6) AS n WHERE d.source_key = 'a.md' RETURNING id"
)
FOUND = "SELECT chunk_id FROM lexical_search(%s, 20)"


@pytest.fixture
def writer(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Database:
    """A writer of a collection with one document."""
    committed.rows("SELECT add_collection('a')")
    add_documents(committed, "a", [("a.md", "Animals", "a seal")])
    writer = Database(connect_as("pgblend_writer"))
    committed.rows("SELECT grant_collection('a', %s, 'write')", writer.connection.info.user)
    return writer


@pytest.mark.parametrize("sealed", [False, True])
def test_lexemes_that_are_given_are_not_taken(
    committed: Database, writer: Database, sealed: bool
) -> None:
    ids = writer.column(INSERT, FORGED)
    if sealed:
        committed.rows("SELECT lexical_rebuild('a')")
    for word in ("deploy", "zebra", "ERR-1042", "keys.txt"):
        assert committed.rows(FOUND, word) == [], word
    assert sorted(committed.column(FOUND, "walrus")) == ids
    assert committed.column(FOUND, "animals") == [min(committed.column(FOUND, "seal")), *ids]
    lengths = "SELECT DISTINCT length(lexemes), own_position FROM pgblend_data.chunk WHERE id = %s"
    assert committed.rows(lengths, ids[0]) == [(4, 1)]


@pytest.mark.parametrize("own", ["# deploy", "# walrus\n" * 50, "# 6\n# walrus"])
def test_headings_that_do_not_stand_in_the_text_count_nothing(
    committed: Database, writer: Database, own: str
) -> None:
    """Nor do they count twice, or before one that stands above them."""
    insert = INSERT.replace("own_position)", "own_position, own_headings)")
    (_, last) = writer.column(insert.replace(", n FROM", ", n, %s FROM"), None, own)
    assert committed.rows(FOUND, "deploy") == []
    weights = "SELECT count(*) FROM pgblend_data.chunk AS c, unnest(c.lexemes) AS l,"
    weights += " unnest(l.positions) AS p WHERE c.id = %s AND l.lexeme = 'walrus'"
    assert committed.value(weights, last) == (5 if own.count("walrus") > 1 else 1)


@pytest.mark.parametrize("claimed", [3, 14, 16])
def test_text_is_repeated_where_the_passage_before_ends_with_it(
    committed: Database, writer: Database, claimed: int
) -> None:
    """Else a passage whose text were all repeated would add nothing to its document's length."""
    insert = INSERT.replace("'doc', 0", "'doc', CASE n WHEN 6 THEN %s ELSE 0 END")
    (_, forged) = writer.column(insert, claimed, FORGED)
    (_, honest) = writer.column(INSERT.replace("(5, 6)", "(15, 16)"), FORGED)
    facts = "SELECT own_start, own_position, length(lexemes) FROM pgblend_data.chunk WHERE id = %s"
    assert committed.rows(facts, forged) == committed.rows(facts, honest) == [(0, 1, 4)]
    scores = "SELECT score FROM lexical_search('quiet', 20) WHERE chunk_id = %s"
    assert committed.value(scores, forged) == committed.value(scores, honest)


def test_text_that_is_repeated_counts_as_such(committed: Database, writer: Database) -> None:
    chunks = [
        {"content": "one seal\nand two  walruses\n", "own_start": 0},
        {"content": "two  walruses\n\nthen wine", "own_start": 15},
        {"content": "walruses then wine", "own_start": 8},
        {"content": "then wine", "own_start": 9},
    ]
    key = "SELECT ingest_document('a', 'own.md', 'x', chunks => %s)"
    writer.rows(key, Jsonb(chunks))
    starts = "SELECT own_start FROM chunks WHERE content <> 'a seal' ORDER BY chunk_index"
    assert committed.column(starts) == [0, 15, 0, 9]


def test_who_renames_a_document_waits_for_its_new_passages(
    committed: Database, writer: Database, database_url: str
) -> None:
    """So does who adds passages wait for a new name: one that a second session is about to give."""
    with connect(database_url) as second, ThreadPoolExecutor() as threads:
        other = Database(second)
        committed.rows("SELECT add_collection('b')")
        add_documents(committed, "b", [("b.md", "Birds", "")])
        insert = INSERT.replace("'a.md'", "'b.md'").replace("(5, 6)", "(0, 1)")
        rename = "UPDATE pgblend_data.document SET title = 'Fish' WHERE source_key = 'b.md'"
        committed.connection.autocommit = False
        committed.rows(insert, None)
        waiting = threads.submit(other.error, rename)
        wait_until(lambda: waits(committed.connection, second))
        committed.connection.commit()
        assert waiting.result().sqlstate == "0A000"
        committed.rows("DELETE FROM pgblend_data.chunk WHERE collection_id = 2")
        committed.connection.commit()
        committed.rows(rename)
        waiting = threads.submit(other.rows, insert, None)
        wait_until(lambda: waits(committed.connection, second))
        committed.connection.commit()
        waiting.result()
        committed.connection.autocommit = True
    assert len(committed.rows(FOUND, "fish")) == 2
    assert committed.rows(FOUND, "birds") == []


def test_a_snapshot_hides_neither_passages_nor_names(
    committed: Database, writer: Database, database_url: str
) -> None:
    """Under REPEATABLE READ, what was committed meanwhile is not seen, and yet in the way."""
    committed.rows("SELECT add_collection('b')")
    add_documents(committed, "b", [("b.md", "Birds", "")])
    insert = INSERT.replace("'a.md'", "'b.md'")
    rename = "UPDATE pgblend_data.document SET title = 'Fish' WHERE source_key = 'b.md'"
    with connect(database_url) as second:
        other = Database(second)
        for begun, meanwhile in ((rename, insert), (insert, rename)):
            arguments = {insert: (None,), rename: ()}
            other.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
            other.rows("SELECT FROM pgblend_data.document")
            committed.rows(meanwhile, *arguments[meanwhile])
            assert other.error(begun, *arguments[begun]).sqlstate == "40001"
            other.rows("ROLLBACK")
            committed.rows("DELETE FROM pgblend_data.chunk WHERE collection_id = 2")
        # Who is alone may do all of it, also behind a savepoint.
        other.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.rows(rename)
        other.rows("SAVEPOINT s")
        other.rows(insert, None)
        other.rows("SELECT ingest_document('b', 'b.md', 'a heron', title => 'Herons')")
        other.rows("COMMIT")
    assert len(committed.rows(FOUND, "herons")) == 1
    assert committed.rows(FOUND, "fish") == committed.rows(FOUND, "birds") == []


def test_a_document_that_is_forgotten_keeps_no_new_passages(
    committed: Database, writer: Database, database_url: str
) -> None:
    a = committed.value("SELECT id FROM pgblend_data.document")
    with connect(database_url) as second, ThreadPoolExecutor() as threads:
        writer.connection.autocommit = False
        writer.rows(INSERT, None)
        waiting = threads.submit(Database(second).rows, "SELECT * FROM forget_document(%s)", a)
        wait_until(lambda: waits(committed.connection, second))
        writer.connection.commit()
        waiting.result()
    for table in ("document", "chunk", "pending", "vocabulary"):
        assert committed.rows(f"TABLE pgblend_data.{table}") == [], table
    assert committed.rows(FOUND, "walrus") == []


@pytest.mark.parametrize("change", ["title = 'Other'", "source_key = 'deploy.md'"])
def test_names_that_gave_words_stay(committed: Database, writer: Database, change: str) -> None:
    update = f"UPDATE pgblend_data.document SET {change}"
    error = writer.error(update)
    assert error.sqlstate == "0A000"
    assert "are words of its chunks" in str(error.message_primary)
    assert "ingest_document" in str(error.message_hint)
    writer.rows("UPDATE pgblend_data.document SET title = title, uri = 'x'")
    writer.rows("SELECT ingest_document('a', 'a.md', 'a seal', 'Whales')")
    assert committed.rows(FOUND, "animals") == []
    assert len(committed.rows(FOUND, "whales")) == 1
    writer.rows("DELETE FROM pgblend_data.chunk")
    writer.rows(update)


STAGED = ("segment", "posting", "chunk")
OWN = "SELECT id FROM pgblend_data.collection WHERE name = 'a'"


@pytest.fixture
def staged(committed: Database, writer: Database) -> Database:
    """A writer's transaction with the tables that a saved index of its collection is read from."""
    add_documents(committed, "a", [("b.md", "", "wine by the sea"), ("c.md", "", "ships")])
    committed.rows("SELECT lexical_rebuild('a')")
    writer.connection.autocommit = False
    writer.rows(lexical_file._STAGE)
    for part in STAGED:
        query = lexical_file._SAVE[part].partition("COPY (")[2].rpartition(") TO STDOUT")[0]
        query = query.replace("%(id)s", f"({OWN})")
        writer.rows(f"INSERT INTO pg_temp.lexical_{part}_stage {query}")
    return writer


def test_an_index_as_it_was_saved_is_loaded(committed: Database, staged: Database) -> None:
    assert staged.value("SELECT pgblend._load_segments('a')") == 3
    staged.connection.commit()
    assert len(committed.rows(FOUND, "wine")) == 1


@pytest.mark.parametrize(
    "forged",
    [
        # The postings of one word are another's; a word stands more often; a passage is shorter.
        "segment_stage SET terms = substr(terms, 9) || '\\x7fffffffffffff7f'",
        "segment_stage SET code_book = int8send(0) || code_book",
        "segment_stage SET own_lengths = decode(repeat('00', octet_length(own_lengths)), 'hex')",
        "posting_stage SET data = set_byte(data, 0, 3 - get_byte(data, 0))",
        "segment_stage SET text_search_config = 'simple'",
        "segment_stage SET signature = sha256('')",
        "segment_stage SET signature = NULL",
    ],
)
def test_an_index_that_was_changed_is_refused(
    committed: Database, staged: Database, forged: str
) -> None:
    before = committed.rows("SELECT * FROM pgblend_data.segment")
    staged.rows(f"UPDATE pg_temp.lexical_{forged}")
    error = staged.error("SELECT pgblend._load_segments('a')")
    assert error.sqlstate == "22023"
    assert "damaged or of another database" in str(error.message_primary)
    assert "lexical_rebuild" in str(error.message_hint)
    staged.connection.commit()
    assert committed.rows("SELECT * FROM pgblend_data.segment") == before


def test_no_passage_is_in_the_index_twice(committed: Database, staged: Database) -> None:
    number = staged.value(OWN)
    staged.rows("SELECT pgblend._claim_index(%s)", number)
    assert staged.value("SELECT pgblend._seal_missing(%s, 'english')", number) == 0
    load = (
        "SELECT pgblend._load_segment(%s, s, ARRAY(SELECT p.data FROM pgblend_data.posting AS p"
        " WHERE p.segment_id = s.id ORDER BY p.block), '{1,2,3,4,5,6}')"
        " FROM pgblend_data.segment AS s"
    )
    assert staged.value(load, number) == 0
    assert committed.value("SELECT count(*) FROM pgblend_data.segment") == 1


def test_nobody_reads_what_segments_are_signed_with(writer: Database) -> None:
    assert writer.error("TABLE pgblend_data.index_secret").sqlstate == "42501"
