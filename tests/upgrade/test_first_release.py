"""What pgblend 0.0.1 left at revision 0010 comes up to the newest one, with all its rows."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pgblend.cli.errors import UserError
from pgblend.cli.revision import FIRST_RELEASE
from pgblend.migrations import runner
from support.catalogue import revisions, schema, settings_of
from support.database import Database, add_documents, add_space, embed_waiting

FOUND = "SELECT source_key FROM lexical_search(%s)"
ENTITIES = "SELECT array_agg(name ORDER BY name) FROM entities"
LEXEMES = (
    "SELECT d.source_key, c.text_search_config, c.lexemes::text, c.own_position"
    " FROM pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d ON d.id = c.document_id"
    " ORDER BY c.id"
)
# A row in each table that no call of FILL fills.
FILL = """
CREATE TABLE public.person (id int PRIMARY KEY, name text);
CREATE TABLE public.memo (id int PRIMARY KEY, body text, person int REFERENCES person);
INSERT INTO person VALUES (1, 'Ada');
INSERT INTO memo VALUES (1, 'A memo on engines', 1), (2, 'A memo on looms', NULL);
SELECT attach_table('person', '{name}'), attach_table('memo', '{body}');
SELECT fill_table('person'), fill_table('memo');
INSERT INTO memo VALUES (3, 'A memo of the morning', 1);
SELECT grant_collection('kept', 'pgblend_reader');
SELECT set_metadata((SELECT id FROM pgblend_data.document WHERE source_key = 'k'), '{"year": 1}');
SELECT set_summary((SELECT id FROM pgblend_data.document WHERE source_key = 'k'), 'In short.');
SELECT ingest_document('kept', 'linked', 'linked words');
SELECT add_edge(graph_node('kept', 'k'), graph_node('kept', 'linked'), 'cites');
SELECT lexical_seal('kept');
SELECT delete_document('kept', 'deleted');
SELECT ingest_document('kept', 'queued', 'words that wait for a vector');
SELECT set_setting('k1', '2'), set_profile('mine', 'of my own', '{"rrf_k": 30}');
INSERT INTO pgblend_data.link (
    document_id, collection_id, bucket, origin, edge_type, kind, target, name, path)
SELECT id, collection_id, bucket, 'text', 'link', 'wiki', 'Elsewhere', 'elsewhere', ''
FROM pgblend_data.document WHERE source_key = 'k';
SELECT pgblend._store_extraction(collection_id, content_hash, 'v', '{
    "entities": [{"name": "words", "type": "x"}]}')
FROM pgblend_data.chunk WHERE content = 'some words';
SELECT pgblend._link_entities(id, 'v') FROM pgblend_data.collection WHERE name = 'kept';
SELECT add_judged_set('judged', 'kept');
INSERT INTO pgblend_data.judged_query (set_id, collection_id, key, query)
SELECT id, collection_id, 'q', 'words' FROM pgblend_data.judged_set;
INSERT INTO pgblend_data.judgement (query_id, source_key, collection_id, grade)
SELECT id, 'k', collection_id, 1 FROM pgblend_data.judged_query;
INSERT INTO pgblend_data.evaluation_run (
    set_id, collection_id, arm, options, result_limit, settings, versions)
SELECT id, collection_id, 'hybrid', '{}', 10, '{}', '{}' FROM pgblend_data.judged_set;
INSERT INTO pgblend_data.evaluation_result
SELECT r.id, q.id, q.collection_id, '{k}', '{1}', 1, 2.5, '{}', '{}'
FROM pgblend_data.evaluation_run AS r, pgblend_data.judged_query AS q;
INSERT INTO pgblend_data.search_log VALUES (
    gen_random_uuid(), now(), 'app', 'words', '{kept}', 'balanced', 'fast', 1, 2.5, '[]', '{}', 1,
    '[]', '{}');
INSERT INTO pgblend_data.model_call (
    called_at, task, model, provider, outcome, attempts, input_tokens, output_tokens, milliseconds)
VALUES (now(), 'expansion', 'm', 'p', 'ok', 1, 2, 3, 4);
INSERT INTO pgblend_data.model_answer (key, answer) VALUES (sha256('x'), '{}');
INSERT INTO pgblend_data.embedding_worker (host, process) VALUES ('here', 1);
INSERT INTO pgblend_data.embedding_allowance VALUES ('test_space', 1, now());
"""
TABLES = (
    "SELECT c.relname::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace = 'pgblend_data'::regnamespace ORDER BY 1"
)
# What an upgrade makes anew from the rest, or says itself.
DERIVED = {
    "alembic_version",
    "lexical_failure",
    "pending",
    "posting",
    "segment",
    "tombstone",
    "vocabulary",
}
# Of a first chunk: its document's name is in it. Lengths are the index's alone.
CHANGED = ("lexemes", "length", "own_length")


def stored(db: Database, tables: list[str]) -> dict[str, list[dict[str, Any]]]:
    """All rows of tables, without what an upgrade changes."""
    rows = {
        table: db.column(
            f"SELECT to_jsonb(t) FROM pgblend_data.{table} AS t ORDER BY to_jsonb(t)::text"
        )
        for table in tables
    }
    rows["profile"] = [row for row in rows["profile"] if not row["built_in"]]
    for chunk in rows["chunk"]:
        for name in CHANGED:
            chunk.pop(name, None)
    return rows


def test_all_rows_come_up_to_the_catalogue_of_a_new_database(
    first_release_url: str, fresh_schema: str
) -> None:
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('kept')")
        add_documents(db, "kept", [("k", "Title", "some words"), ("deleted", "T", "other words")])
        add_space(db)
        embed_waiting(db)
        db.rows(FILL)
        made = db.column(TABLES)
        tables = [table for table in made if table not in DERIVED]
        before = stored(db, tables)
        assert [table for table in tables if not before[table]] == []
        found = db.rows("SELECT source_key FROM hybrid_search('words memo') ORDER BY 1")
    runner.upgrade(first_release_url)
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        after = stored(db, tables)
        for table in tables:  # new columns are only ever added
            kept = [
                {name: row[name] for name in old}
                for old, row in zip(before[table], after[table], strict=True)
            ]
            assert kept == before[table], table
        assert set(made) <= set(db.column(TABLES))
        assert db.rows("SELECT source_key FROM hybrid_search('words memo') ORDER BY 1") == found
        assert db.rows("SELECT DISTINCT status FROM lexical_status()") == [("ready",)]
        db.rows("UPDATE memo SET body = 'A memo on bridges' WHERE id = 2")
        assert db.column(FOUND, "bridges") == ["2"]
        assert db.rows("SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
        db.rows("SELECT detach_table('memo'), detach_table('person')")
        db.rows("DROP TABLE memo, person; SELECT drop_embedding_space('test_space', true)")
    assert schema(first_release_url) == fresh_schema
    assert settings_of(first_release_url) == ['search_path="$user", public, blend']
    status = runner.status(first_release_url)
    assert (status["current"], status["pending"], status["drift"]) == (revisions()[-1], [], False)


def test_its_status(first_release_url: str) -> None:
    status = runner.status(first_release_url)
    assert (status["current"], status["pending"], status["drift"]) == (
        FIRST_RELEASE,
        revisions(),
        False,
    )


def test_there_is_no_way_back(first_release_url: str) -> None:
    with pytest.raises(UserError, match="this version of pgblend works with") as caught:
        runner.downgrade(first_release_url, "base")
    assert caught.value.hint == "run: pgblend migrate up"
    runner.upgrade(first_release_url)
    before = schema(first_release_url)
    for action in (runner.downgrade, runner.upgrade):
        with pytest.raises(UserError, match=r"no way to revision 0010, that of pgblend 0\.0\.1"):
            action(first_release_url, FIRST_RELEASE)
    assert schema(first_release_url) == before


def test_base_leaves_nothing(
    first_release_url: str, new_database: Callable[..., str], fill: Callable[[str], list[str]]
) -> None:
    runner.upgrade(first_release_url)
    fill(first_release_url)
    runner.downgrade(first_release_url, "base")
    assert schema(first_release_url) == schema(new_database())
    assert settings_of(first_release_url) == []


def test_what_is_stored_follows(first_release_url: str) -> None:
    """Languages are told, Korean is found, passages leave entities that they do not name.

    Chunks keep their ids; documents whose language was named keep it.
    """
    stored = {
        "ko": ("서울은 대한민국의 수도이다", None),
        "zh": ("北京大学的 databases", "simple"),
        "quoted": ("One word of Korean, 서울은, in an English text about a city", None),
        "named": ("東京都は大きい", "german"),
        "plain": ("Some words", None),
    }
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c')")
        for key, (text, language) in stored.items():
            db.rows("SELECT ingest_document('c', %s, %s, language => %s)", key, text, language)
            if key == "zh":
                db.rows("SELECT lexical_seal('c')")
        db.rows(
            "SELECT pgblend._store_extraction(collection_id, content_hash, 'v', %s)"
            " FROM pgblend_data.chunk WHERE content = 'Some words'",
            '{"entities": [{"name": "words", "type": "x"}, {"name": "Napoleon", "type": "x"}]}',
        )
        db.rows("SELECT pgblend._link_entities(id, 'v') FROM pgblend_data.collection")
        before = db.rows("SELECT id, content FROM pgblend_data.chunk ORDER BY id")
        assert db.value(ENTITIES) == ["Napoleon", "words"]
        assert db.column(FOUND, "서울") == []
    runner.upgrade(first_release_url)
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        assert db.rows("SELECT id, content FROM pgblend_data.chunk ORDER BY id") == before
        assert dict(db.rows("SELECT source_key, language FROM documents")) == {
            "ko": "ko",
            "zh": "zh",
            "quoted": "english",
            "named": "german",
            "plain": "english",
        }
        assert set(db.column(FOUND, "서울")) == {"ko", "quoted"}
        assert db.column(FOUND, "databases") == ["zh"]  # as it is written: no English stem
        assert set(db.column(FOUND, "word")) == {"quoted", "plain"}
        assert db.rows("SELECT status, pending FROM lexical_status()") == [("ready", 0)]
        assert db.value(ENTITIES) == ["words"]
        fresh = db.rows(LEXEMES)
        db.rows("SELECT lexical_rebuild('c')")
        assert db.rows(LEXEMES) == fresh


def test_documents_are_found_by_their_names(first_release_url: str) -> None:
    lexemes = "SELECT source_key, chunk_index, lexemes FROM pgblend_data.chunk AS c JOIN"
    lexemes += " pgblend_data.document AS d ON d.id = c.document_id ORDER BY 1, 2"
    search = "SELECT source_key FROM lexical_search('old-memo.pdf')"
    texts = (("docs/old-memo.pdf", "It's ERR-1042 in C:\\\\tmp."), ("other", "See old-memo.pdf."))
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c')")
        for key, text in texts:
            db.rows("SELECT ingest_document('c', %s, %s, title => 'T')", key, text)
        db.rows("SELECT lexical_seal('c')")
        db.rows("SELECT ingest_document('c', 'a/pending.md', 'text', title => 'T')")
        assert db.column(search) == ["other"]
    runner.upgrade(first_release_url)
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        assert db.column(search) == ["docs/old-memo.pdf", "other"]
        assert db.column(FOUND, "pending.md") == ["a/pending.md"]
        after = db.rows(lexemes)
        for key, text in texts:  # as a new document of the same text has them
            db.rows("SELECT delete_document('c', %s)", key)
            db.rows("SELECT ingest_document('c', %s, %s, title => 'T')", key, text)
        assert db.rows(lexemes) == after


def test_the_pool_of_feedback_goes_from_what_was_set(first_release_url: str) -> None:
    """It is no key any more, and would make every search that reads it fail."""
    given = '{"feedback": {"passages": 3, "pool": 20}}'
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c', settings => %s)", given)
        db.rows("SELECT set_profile('mine', settings => %s)", given)
        db.rows("SELECT set_setting('feedback', %s::jsonb -> 'feedback')", given)
    runner.upgrade(first_release_url)
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        left = {"passages": 3}
        assert db.value("SELECT settings -> 'feedback' FROM pgblend_data.collection") == left
        assert db.value("SELECT value FROM pgblend_data.setting WHERE name = 'feedback'") == left
        mine = "SELECT settings -> 'feedback' FROM pgblend_data.profile WHERE name = 'mine'"
        assert db.value(mine) == left
        db.rows("SELECT * FROM hybrid_search('x', profile => 'mine')")


def test_a_least_relevance_is_taken_out_and_named(
    first_release_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a cosine: as a probability it would leave out other rows."""
    given = '{"min_relevance": 0.4, "rrf_k": 30}'
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c', settings => %s)", given)
        db.rows("SELECT set_profile('mine', settings => %s)", given)
        db.rows("SELECT set_setting('min_relevance', '0.4')")
    runner.upgrade(first_release_url)
    told = capsys.readouterr().err
    for place in ("the database", 'profile "mine"', 'collection "c"'):
        assert f"min_relevance 0.4 of {place} was taken out" in told
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        assert db.value("SELECT settings FROM pgblend_data.collection") == {"rrf_k": 30}
        mine = "SELECT settings FROM pgblend_data.profile WHERE name = 'mine'"
        assert db.value(mine) == {"rrf_k": 30}
        assert db.value("SELECT get_setting('min_relevance')") is None
