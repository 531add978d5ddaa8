"""The next release, of a copy of this tree: up with all that is stored and built, down, and up."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pgblend.cli.base.revision import known_revisions
from pgblend.migrations import runner
from support.catalogue import contents, schema, settings_of
from support.database import Database
from support.release_tree import ROOT, Tree, next_release
from support.waiting import wait_until

# What users build on functions, views and types.
BUILT = """
CREATE VIEW public.found AS
SELECT h.source_key, h.score FROM blend.hybrid_search('words') AS h;
CREATE MATERIALIZED VIEW public.all_keys AS SELECT source_key FROM blend.documents;
CREATE TABLE public.built (
    id int PRIMARY KEY,
    fused float8 NOT NULL DEFAULT blend.rrf('{1}', k => 1) CHECK (blend.rrf('{1}') > 0),
    hit blend.search_result,
    documents blend.documents[]
);
CREATE FUNCTION public.best(query text) RETURNS SETOF blend.search_result LANGUAGE sql
BEGIN ATOMIC SELECT * FROM blend.lexical_search(query, 1); END;
CREATE TABLE public.memo (id int PRIMARY KEY, body text);
INSERT INTO memo VALUES (1, 'A memo on engines');
SELECT attach_table('memo', '{body}'), fill_table('memo');
"""
INSERT = """
    INSERT INTO built (id, hit, documents)
    SELECT %s, h, ARRAY(SELECT d FROM documents AS d WHERE d.source_key = 'k')
    FROM lexical_search('words') AS h
    RETURNING fused, (hit).source_key, (documents[1]).source_key
"""
TABLES = (
    "SELECT c.relname::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace = 'pgblend_data'::regnamespace AND c.relname <> 'alembic_version'"
    " ORDER BY 1"
)
SEARCH = "SELECT source_key, score, degraded FROM hybrid_search('words memo')"
NEWER = "SELECT pgblend._newer()"
RULES = "released or newest_revision or tables_of_a_release"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return next_release(tmp_path_factory.mktemp("tree"))


@pytest.fixture
def former(database_url: str, fill: Callable[[str], list[str]]) -> Iterator[Database]:
    """A database of this release with data, seen by a session that stays open."""
    fill(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield Database(connection)


def migrate(tree: Tree, db: Database, *arguments: str) -> str:
    return tree.run("--database-url", db.url, "migrate", *arguments)


def stored(db: Database) -> dict[str, list[object]]:
    """All rows, without a column that is the next release's."""
    return {
        table: db.column(
            f"SELECT to_jsonb(t) - 'newer' FROM pgblend_data.{table} AS t ORDER BY 1::text"
        )
        for table in db.column(TABLES)
    }


@pytest.mark.slow
def test_what_is_stored_and_built_comes_up_and_goes_down(former: Database, tree: Tree) -> None:
    former.rows(BUILT)
    assert former.row(INSERT, 1) == (0.5, "k", "k")
    former.rows("PREPARE search AS " + SEARCH)
    rows, found = stored(former), former.rows("EXECUTE search")
    assert {row[0] for row in found} == {"k", "1"}
    before, head = schema(former.url), known_revisions()[-1]
    refused = tree.run("--database-url", former.url, "search", "words", code=3)
    assert f"is at revision {head}, this version of pgblend works with {tree.newest}" in refused
    assert "hint: run: pgblend migrate up" in refused
    assert f"at {head}, pending: {tree.newest}" in tree.run(
        "--database-url", former.url, "doctor", code=1
    )

    migrate(tree, former, "up")
    status = migrate(tree, former, "status")
    assert f"current: {tree.newest}\n" in status
    assert "pending: none\nroutines changed by hand: no" in status
    assert stored(former) == rows
    assert former.rows("EXECUTE search") == former.rows(SEARCH) == found
    assert former.value(NEWER) == 0
    former.rows("REFRESH MATERIALIZED VIEW all_keys")
    assert former.column("SELECT source_key FROM best('words')") == ["k"]
    assert former.row(INSERT, 2) == (0.5, "k", "k")
    former.rows("UPDATE memo SET body = 'A memo on bridges'")
    assert former.column("SELECT source_key FROM lexical_search('bridges')") == ["1"]
    assert settings_of(former.url) == ['search_path="$user", public, blend']

    former.rows("DELETE FROM built WHERE id = 2; UPDATE memo SET body = 'A memo on engines'")
    migrate(tree, former, "down", head, "--yes")
    assert runner.status(former.url) == {
        "current": head,
        "head": head,
        "pending": [],
        "drift": False,
    }
    assert schema(former.url) == before
    assert former.error(NEWER).sqlstate == "42883"
    assert former.rows(SEARCH) == found
    migrate(tree, former, "up")
    assert former.rows(SEARCH) == found


@pytest.mark.slow
def test_it_is_what_a_new_database_has(
    former: Database, empty: str, tree: Tree, fresh_schema: str
) -> None:
    former.rows("SELECT drop_embedding_space('test_space', true)")
    migrate(tree, former, "up")
    tree.run("--database-url", empty, "migrate", "up")
    assert schema(former.url) == schema(empty) != fresh_schema
    assert "nothing" not in migrate(tree, former, "down", "base", "--yes")
    assert former.value("SELECT to_regnamespace('pgblend_data') IS NULL")


@pytest.mark.slow
def test_searches_go_on_meanwhile(former: Database, tree: Tree) -> None:
    """In open sessions and in new ones; each answers as before."""
    expected, errors, ended = former.rows(SEARCH), list[BaseException](), threading.Event()
    counts = {"open": 0, "new": 0}

    def search(sessions: str) -> None:
        try:
            connection = psycopg.connect(former.url, autocommit=True)
            while not ended.is_set():
                assert Database(connection).rows(SEARCH) == expected
                counts[sessions] += 1
                if sessions == "new":
                    connection.close()
                    connection = psycopg.connect(former.url, autocommit=True)
            connection.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=search, args=[sessions]) for sessions in counts]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: errors or min(counts.values()) > 0)
        migrate(tree, former, "up")
        after = dict(counts)
        wait_until(lambda: errors or all(counts[name] > after[name] for name in counts))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert former.value(NEWER) == 0


@pytest.mark.slow
def test_tables_that_changed_before_a_release_are_told(former: Database, tmp_path: Path) -> None:
    """And left alone; a comment that changed is no change."""
    tree, before = Tree(tmp_path), contents(former.url)
    tables = tree.package / "migrations/tables/40_documents.sql"
    text = tables.read_text()
    tables.write_text(text + "-- A remark.\n")
    assert "pending: none" in migrate(tree, former, "status")
    tables.write_text(text + "ALTER TABLE pgblend_data.document ADD COLUMN newer text;\n")
    for command in ("up", "status", "apply", "down base --yes"):
        said = tree.run("--database-url", former.url, "migrate", *command.split(), code=3)
        assert f"tables that revision {known_revisions()[-1]} made before it was released" in said
        assert "pgblend migrate dump FOLDER" in said
    assert contents(former.url) == before


@pytest.mark.slow
def test_a_released_revision_is_held_to_what_was_released(tmp_path: Path) -> None:
    """By the rules of tests/contract, in a copy whose newest revision is frozen, then changed."""
    tree = Tree(tmp_path)
    head = tree.release()
    rules = [str(ROOT / "tests/contract/test_sources.py"), "-k", RULES]

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *rules],
            env={**os.environ, "PYTHONPATH": str(tree.root)},
            cwd=tree.root,
            capture_output=True,
            text=True,
        ).stdout

    assert "3 passed" in run()
    body = tree.package / "sql/30_search/search.sql"
    body.write_text(body.read_text().replace("-- hybrid_search: ", "-- hybrid_search: newer: "))
    tables = tree.package / "migrations/tables/40_documents.sql"
    tables.write_text(tables.read_text() + "-- changed\n")
    snapshot = tree.package / f"migrations/snapshots/{head}.sql"
    snapshot.write_text(snapshot.read_text() + "-- changed\n")
    said = run()
    assert "3 failed" in said
    assert f"revision {head} is released and never changes: make the next one" in said
