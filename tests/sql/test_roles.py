"""Who sees and may do what: `reader` reads the collection open, and secret exists beside it."""

import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, stage, vector_of
from support.word_lists import add_word_lists

VECTOR = vector_of("deploy to production")
BY_INDEX = '{{"vector_scan": "index"}}'
COLUMNS = (
    "rank, score, relevance, collection, source_key, snippet, content, arms, degraded, details"
)
SEARCHES = [
    "lexical_search('deploy wine production', 10{})",
    f"vector_search('deploy', 10{{}}, query_embedding => '{VECTOR}')",
    f"hybrid_search('deploy wine production', 10{{}}, query_embedding => '{VECTOR}')",
    "lexical_search('\"to production\" or wine -board', 10{})",
    f"vector_search('', 10{{}}, options => '{BY_INDEX}', query_embedding => '{VECTOR}')",
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("more", ["", ", collections => '{open}'", ", filter => '{}'"])
def test_a_reader_finds_what_a_database_without_the_rest_has(
    two_collections: Any, search: str, more: str
) -> None:
    query = f"SELECT {COLUMNS} FROM {search.format(more)}"
    seen = two_collections.reader.rows(query)
    assert seen == two_collections.only_open.rows(query)
    assert seen
    everything = two_collections.admin.rows(f"SELECT {COLUMNS} FROM {search.format('')}")
    assert len(everything) > len(seen)


@pytest.mark.parametrize("view", ["collections", "documents", "chunks", "embedding_spaces"])
def test_views(two_collections: Any, view: str) -> None:
    count = f"SELECT count(*) FROM blend.{view}"
    assert two_collections.reader.value(count) == two_collections.only_open.value(count)
    if view != "embedding_spaces":
        assert two_collections.admin.value(count) > two_collections.reader.value(count)


def readable_tables(db: Database) -> list[str]:
    return db.column(
        "SELECT c.oid::regclass::text FROM pg_class AS c WHERE relkind IN ('r', 'v', 'm')"
        " AND relnamespace::regnamespace::text IN ('blend', 'pgblend', 'pgblend_data')"
        " AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1"
    )


def test_no_table_shows_a_row_of_a_hidden_collection(two_collections: Any) -> None:
    hidden = two_collections.admin.value("SELECT id FROM collections WHERE name = 'secret'")
    tables = readable_tables(two_collections.reader)
    assert "pgblend_data.chunk" in tables
    for table in tables:
        rows = two_collections.reader.rows(f"SELECT to_jsonb(t) FROM {table} AS t")
        for (row,) in rows:
            assert hidden != row.get("collection_id"), table
            assert "secret" not in str(row), table


def test_statistics_are_of_visible_rows(two_collections: Any) -> None:
    ids = "(SELECT array_agg(id) FROM pgblend_data.collection)"
    for database in (two_collections.admin, two_collections.only_open):
        add_word_lists(database.connection)
    lexemes = "'{{english}}', '{{deploy,product,wine}}'"
    counts = f"SELECT c::text FROM lexical_counts({{}}, {lexemes}, false) AS c"
    query = counts.format(ids)
    assert two_collections.reader.row(query) == two_collections.only_open.row(query)
    everything = counts.format("'{1,2,3,4}'")
    assert two_collections.reader.row(everything) == two_collections.only_open.row(everything)


@pytest.mark.parametrize(
    "call",
    [
        "SELECT chunk_ids FROM word_list('lexical', 'deploy', '{1,2,3,4}', NULL,"
        " pgblend._search_settings('{}', NULL, NULL))",
        f"SELECT chunk_ids FROM vector_list('{VECTOR}', NULL,"
        " '{1,2,3,4}', NULL, NULL, pgblend._search_settings('{}', NULL, NULL))",
        "SELECT pgblend._filter_candidates('{1,2,3,4,5,6}', '{}')",
        "SELECT cardinality(pgblend._filtered_ids('{}', '{1,2,3,4}', NULL))",
    ],
)
def test_internal_functions_see_no_more(two_collections: Any, call: str) -> None:
    for database in (two_collections.admin, two_collections.only_open):
        add_word_lists(database.connection)
    assert two_collections.reader.value(call) == two_collections.only_open.value(call)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_hidden_collection_is_like_a_missing_one(two_collections: Any, search: str) -> None:
    reader = two_collections.reader
    hidden, missing = (
        reader.error("SELECT * FROM " + search.format(f", collections => '{{{name}}}'"))
        for name in ("secret", "nothing")
    )
    assert hidden.sqlstate == missing.sqlstate == "42704"
    assert str(hidden.message_primary).replace("secret", "nothing") == missing.message_primary
    assert hidden.message_hint == missing.message_hint


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT set_setting('k1', '2')",
        "SELECT reset_setting('k1')",
        "SELECT add_collection('mine')",
        "SELECT remove_collection('open')",
        "SELECT grant_collection('secret', current_user)",
        "SELECT revoke_collection('open', current_user)",
        "SELECT create_embedding_space('mine', 'm', 3, probe => false)",
        "SELECT drop_embedding_space('test_space')",
        "SELECT ingest_document('open', 'k', 'x')",
        "SELECT delete_document('open', 'wine')",
        "SELECT delete_document(1)",
        "SELECT set_metadata(1, '{}')",
        "SELECT pgblend._next_embeddings('test_space', 1)",
        "SELECT pgblend._store_embeddings('test_space')",
        "SELECT pgblend._post_to_gateway('{}')",
        "SELECT pgblend._create_embedding_table('x')",
        "SELECT * FROM setting_changes",
        "SELECT * FROM pgblend_data.setting_history",
        "INSERT INTO pgblend_data.setting VALUES ('gateway_url', '\"http://evil\"')",
        "UPDATE pgblend_data.setting SET value = '1'",
        "INSERT INTO pgblend_data.collection_grant VALUES (1, current_user, 'read')",
        "UPDATE pgblend_data.collection SET name = 'x'",
        "UPDATE pgblend_data.embedding_space SET model = 'x'",
        "DELETE FROM pgblend_data.document",
        "UPDATE pgblend_data.chunk SET metadata = '{}'",
        "DELETE FROM pgblend_data.embedding_test_space",
        "INSERT INTO pgblend_data.profile VALUES ('x', 'x', '{}')",
        "ALTER TABLE pgblend_data.chunk DISABLE ROW LEVEL SECURITY",
        "CREATE FUNCTION blend.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION pgblend.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE pgblend_data.mine ()",
        "SELECT pg_read_file('pgblend_gateway_token')",
        "SET ROLE pgblend_admin",
    ],
)
def test_a_reader_may_not(two_collections: Any, statement: str) -> None:
    assert two_collections.reader.error(statement).sqlstate == "42501"


def test_no_session_setting_opens_anything(two_collections: Any) -> None:
    reader = two_collections.reader
    with reader.connection.transaction(force_rollback=True):
        reader.rows("SET LOCAL row_security = off")
        assert reader.error("SELECT count(*) FROM blend.chunks").sqlstate == "42501"
    with reader.connection.transaction(force_rollback=True):
        reader.rows("SET LOCAL search_path = pg_temp")
        reader.rows("CREATE TEMP TABLE collection (id bigint, name text)")
        reader.rows("INSERT INTO collection VALUES (2, 'secret')")
        error = reader.error(
            "SELECT * FROM blend.lexical_search('wine', collections => '{secret}')"
        )
        assert error.sqlstate == "42704"


@pytest.fixture
def library(committed: Database) -> Database:
    """Two collections of one document each, in the test's own database."""
    for name in ("one", "two"):
        committed.rows("SELECT add_collection(%s)", name)
        add_documents(committed, name, [("k", "", f"word {name}")])
    add_space(committed)
    embed_waiting(committed)
    return committed


Connect = Callable[..., psycopg.Connection]


def test_without_a_role_nothing_is_there(library: Database, connect_as: Connect) -> None:
    nobody = Database(connect_as("pg_monitor"))
    for statement in (
        "SELECT * FROM blend.lexical_search('word')",
        "SELECT * FROM blend.collections",
        "SELECT blend.embed_text(ARRAY['x'])",
        "SELECT * FROM pgblend_data.chunk",
    ):
        assert nobody.error(statement).sqlstate == "42501"


def test_whoever_lacks_a_role_hears_which_grant(library: Database, connect_as: Connect) -> None:
    nobody = Database(connect_as("pg_monitor"))
    who = nobody.connection.info.user
    routines = library.rows(
        "SELECT p.proname::text, p.oid::regproc::text, ARRAY(SELECT 'NULL::' || t::regtype"
        " FROM unnest(p.proargtypes::oid[]) AS t) FROM pg_proc AS p"
        " WHERE p.pronamespace = 'blend'::regnamespace AND p.proname !~ '^_' AND p.prokind = 'f'"
        " AND p.prorettype <> 'trigger'::regtype AND NOT EXISTS (SELECT FROM pg_depend AS d"
        " WHERE d.objid = p.oid AND d.deptype = 'e')"
    )
    silent = set()
    assert len(routines) > 70
    for name, called, arguments in routines:
        error = nobody.error(f"SELECT {called}({', '.join(arguments)})")
        told = f"permission denied for function {name}"
        assert (error.sqlstate, error.message_primary) == ("42501", told)
        if not re.search(rf"GRANT pgblend_\w+ TO {who}", str(error.message_hint)):
            silent.add(name)
    assert silent == set()
    assert "GRANT pgblend_reader TO" in str(nobody.error("SELECT hybrid_search('x')").message_hint)
    reader = Database(connect_as("pgblend_reader"))
    assert "GRANT pgblend_writer TO" in str(reader.error("SELECT set_summary(1, 'x')").message_hint)


def test_without_a_grant_a_reader_finds_nothing(library: Database, connect_as: Connect) -> None:
    reader = Database(connect_as("pgblend_reader"))
    assert reader.rows("SELECT * FROM lexical_search('word')") == []
    assert reader.rows("SELECT * FROM collections") == []
    error = reader.error(f"SELECT * FROM vector_search(query_embedding => '{VECTOR}')")
    assert error.sqlstate == "PB001"


def test_grants_take_effect_at_once_and_so_do_revokes(
    library: Database, connect_as: Connect
) -> None:
    reader = Database(connect_as("pgblend_reader"))
    role = reader.connection.info.user
    found = "SELECT collection FROM lexical_search('word') ORDER BY 1"
    library.rows("SELECT grant_collection('one', %s)", role)
    assert reader.column(found) == ["one"]
    library.rows("SELECT grant_collection('two', %s, 'write')", role)  # write includes read
    assert reader.column(found) == ["one", "two"]
    library.rows("SELECT revoke_collection('one', %s), revoke_collection('two', %s)", role, role)
    assert reader.column(found) == []


def test_grants_reach_members_of_a_role(library: Database, connect_as: Connect) -> None:
    team = connect_as("pgblend_reader").info.user
    member = Database(connect_as(team))
    library.rows("SELECT grant_collection('one', %s)", team)
    assert member.column("SELECT collection FROM lexical_search('word')") == ["one"]
    library.rows("SELECT grant_collection('two', 'pgblend_reader')")  # all readers
    assert len(member.rows("SELECT * FROM lexical_search('word')")) == 2


def test_a_writer_writes_where_it_may(library: Database, connect_as: Connect) -> None:
    writer = Database(connect_as("pgblend_writer"))
    role = writer.connection.info.user
    ingest = "SELECT status FROM ingest_document('one', %s, 'new word')"
    assert writer.error(ingest, "n").sqlstate == "42704"  # not even visible
    library.rows("SELECT grant_collection('one', %s, 'read')", role)
    assert writer.error(ingest, "n").sqlstate == "42501"
    (number,) = writer.column("SELECT document_id FROM documents")
    assert writer.value("SELECT delete_document(%s)", number) is False
    assert writer.value("SELECT delete_document('one', 'k')") is False
    assert writer.error("SELECT set_metadata(%s, '{}')", number).sqlstate == "42704"
    assert writer.rows("UPDATE pgblend_data.chunk SET metadata = '{}' RETURNING 1") == []

    library.rows("SELECT grant_collection('one', %s, 'write')", role)
    assert writer.value(ingest, "n") == "added"
    assert writer.value(ingest, "k") == "replaced"
    assert writer.value("SELECT set_metadata(%s, '{\"a\": 1}')", number) == {"a": 1}
    assert writer.value("SELECT count(*) FROM pgblend._next_embeddings('test_space', NULL)") == 2
    assert embed_waiting(writer) == 2
    assert writer.value("SELECT delete_document('one', 'n')") is True
    assert writer.error("SELECT ingest_document('two', 'k', 'x')").sqlstate == "42704"


def test_a_writer_cannot_reach_into_other_collections(
    library: Database, connect_as: Connect
) -> None:
    writer = Database(connect_as("pgblend_writer"))
    library.rows("SELECT grant_collection('one', %s, 'write')", writer.connection.info.user)
    hidden = library.value("SELECT document_id FROM documents WHERE collection = 'two'")
    chunk = library.value("SELECT chunk_id FROM chunks WHERE collection = 'two'")
    assert writer.value("SELECT delete_document(%s)", hidden) is False
    assert writer.error("SELECT set_metadata(%s, '{}')", hidden).sqlstate == "42704"
    stage(writer, [(chunk, [1.0] * 384)])
    assert writer.value("SELECT pgblend._store_embeddings('test_space')") == 0
    move = "UPDATE pgblend_data.document SET collection_id = %s"
    two = library.value("SELECT id FROM collections WHERE name = 'two'")
    assert writer.error(move, two).sqlstate == "42501"
    library.rows("DELETE FROM pgblend_data.embedding_queue")
    for statement in ("SELECT add_collection('x')", "SELECT set_setting('k1', '2')"):
        assert writer.error(statement).sqlstate == "42501"


def test_an_admin_sees_and_does_all(library: Database, connect_as: Connect) -> None:
    admin = Database(connect_as("pgblend_admin"))
    assert len(admin.rows("SELECT * FROM lexical_search('word')")) == 2
    admin.rows("SELECT add_collection('three')")
    assert admin.value("SELECT status FROM ingest_document('three', 'k', 'word')") == "added"
    admin.rows("SELECT grant_collection('three', 'pgblend_reader')")
    assert admin.value("SELECT revoke_collection('three', 'pgblend_reader')") is True
    admin.rows("SELECT set_setting('k1', '2'), reset_setting('k1')")
    changes = admin.rows("SELECT changed_by::text FROM setting_changes")
    assert changes == [(admin.connection.info.user,)] * 2
    admin.rows("SELECT create_embedding_space('other', 'm', 3, probe => false)")
    assert admin.value("SELECT drop_embedding_space('other', true)") is True
    assert admin.value("SELECT remove_collection('one')") is True


def test_an_admin_is_no_superuser(library: Database, connect_as: Connect) -> None:
    admin = Database(connect_as("pgblend_admin"))
    for statement in (
        "SELECT pgblend._post_to_gateway('{}')",
        "DROP TABLE pgblend_data.document",
        "DELETE FROM pgblend_data.setting_history",
        "CREATE FUNCTION blend.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION pgblend.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT pgblend._create_embedding_table('document')",
    ):
        assert admin.error(statement).sqlstate == "42501"
