"""`pgblend table`, a dump and restore of attached tables, and a replication between databases."""

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.catalogue import run_client
from support.server import temporary_cluster
from support.waiting import wait_until


@pytest.fixture
def articles(connection):
    """A table of its user's, with more rows than attach_table brings in at once."""
    connection.execute(
        "CREATE TABLE public.articles (id bigint PRIMARY KEY, title text, body text)"
    )
    connection.execute(
        "INSERT INTO articles SELECT g, 'T' || g, 'walrus ' || g FROM generate_series(1, 1200) AS g"
    )
    return connection


def rows(connection, query):
    return connection.execute(query).fetchall()


def test_attach_fill_list_detach(pgblend, parse_valid, articles):
    result = pgblend("table", "attach", "public.articles", "--text", "title,body")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "attached public.articles to collection articles" in result.stderr
    assert "looked at 1,200 rows, and all are in" in result.stderr
    listed = parse_valid(pgblend("table", "list", "--json"), "table-list")["tables"]
    assert [(row["table_name"], row["text_columns"], row["filled"]) for row in listed] == [
        ("articles", ["title", "body"], True)
    ]
    assert "looked at 1,200 rows" in pgblend("table", "fill", "articles", "--anew").stderr
    result = pgblend("table", "detach", "articles", "--yes")
    assert result.stderr == "detached articles, 1,200 documents are gone\n"
    assert rows(articles, "SELECT count(*) FROM pgblend_data.document") == [(0,)]


def test_a_column_of_tenants(pgblend, parse_valid, articles, monkeypatch):
    result = pgblend("table", "attach", "articles", "--text", "body", "--tenant", "title")
    assert result.exit_code == 0, result.stderr
    (listed,) = parse_valid(pgblend("table", "list", "--json"), "table-list")["tables"]
    assert (listed["tenant_column"], listed["metadata_columns"]) == ("title", ["title"])
    result = pgblend("search", "walrus", "--files")
    assert (result.stdout, "no tenant is set" in result.stderr) == ("", True)
    monkeypatch.setenv("PGOPTIONS", "-c pgblend.tenant=T5")
    found = parse_valid(pgblend("search", "walrus", "--json"), "search-results")["results"]
    assert [row["source_key"] for row in found] == ["5"]


def test_attach_tells_the_rows_of_a_small_table(pgblend, articles):
    articles.execute("DELETE FROM articles WHERE id > 200")
    result = pgblend("table", "attach", "articles", "--text", "body")
    assert "looked at 200 rows, and all are in" in result.stderr


def test_attach_takes_vectors_over_and_tells_what_came_of_them(pgblend, parse_valid, articles):
    articles.execute("ALTER TABLE articles ADD COLUMN embedding vector(3)")
    articles.execute("UPDATE articles SET embedding = ARRAY[id, 1, 0]::real[]::vector WHERE id > 1")
    long_text = " ".join(f"Sentence number {n}." for n in range(2000))
    articles.execute("UPDATE articles SET body = %s WHERE id = 9", [long_text])
    vectors = ("--embedding-column", "embedding", "--embedding-model", "openai/m")
    result = pgblend("table", "attach", "articles", "--text", "body", *vectors)
    assert result.exit_code == 0
    for part in (
        "took over 1,199 of 1,200 vectors into m\n",
        "1 rows have none: that of row 1 is NULL",
        "1 rows are longer than a passage",
        "were not compared with those of the model",
    ):
        assert part in result.stderr
    (listed,) = parse_valid(pgblend("table", "list", "--json"), "table-list")["tables"]
    assert (listed["embedding_column"], listed["space"]) == ("embedding", "m")
    checks = parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]
    (told,) = [check for check in checks if check["name"] == "vectors of articles"]
    assert told["status"] == "warning"
    assert "1,199 of 1,200 rows have a vector" in str(told)
    assert "row 1 is NULL" in str(told)
    articles.execute("UPDATE articles SET embedding = '[1,1,1]' WHERE id = 1")
    checks = parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]
    (told,) = [check for check in checks if check["name"] == "vectors of articles"]
    assert (told["status"], "1,200 of 1,200" in str(told)) == ("ok", True)
    assert not [each for each in checks if "space m" in each["name"] and each["status"] != "ok"]
    assert "longer" not in pgblend("table", "attach", "articles", "--text", "title").stderr


def test_errors_name_what_is_wrong(pgblend, articles):
    result = pgblend("table", "attach", "articles", "--text", "nope")
    assert (result.exit_code, "has no column nope" in result.stderr) == (1, True)
    assert pgblend("table", "attach", "articles", "--text", "a,,b").exit_code == 2
    assert pgblend("table", "detach", "articles", "--yes").exit_code == 1
    assert pgblend("table", "detach", "articles", input="n\n").exit_code == 1


def test_doctor_names_what_is_not_followed(pgblend, parse_valid, articles):
    assert pgblend("table", "attach", "articles", "--text", "body").exit_code == 0
    checks = {c["name"]: c for c in parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]}
    assert checks["attached tables"]["status"] == "ok"
    assert "row security of articles" not in checks
    articles.execute("ALTER TABLE articles ENABLE ROW LEVEL SECURITY")
    articles.execute("ALTER TABLE articles RENAME COLUMN body TO contents")
    checks = {c["name"]: c for c in parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]}
    assert "no column body" in checks["table articles"]["found"]
    assert "attach_table" in checks["table articles"]["mend"]
    policies = checks["row security of articles"]
    assert (policies["status"], "rights_column" in policies["mend"]) == ("warning", True)


@pytest.mark.slow
def test_a_dump_and_its_restore_are_followed(new_database, articles, database_url):
    articles.execute("SELECT attach_table('articles', '{body}', 'title')")
    articles.execute("SELECT fill_table('articles')")
    articles.execute("SELECT fill_table('articles')")
    copy = new_database()
    run_client("psql", copy, "-v", "ON_ERROR_STOP=1", stdin=run_client("pg_dump", database_url))
    with connect(copy) as restored:
        assert rows(restored, "SELECT * FROM check_attached_tables()") == []
        restored.execute("UPDATE articles SET body = 'zebra' WHERE id = 3")
        assert rows(restored, "SELECT source_key FROM lexical_search('zebra')") == [("3",)]
        assert rows(restored, "SELECT detach_table('articles')") == [(1200,)]


@pytest.mark.extended
def test_a_table_that_was_dropped_and_restored_gets_its_collection_back(
    pgblend, parse_valid, articles, database_url
):
    assert pgblend("table", "attach", "articles", "--text", "body", "-c", "news").exit_code == 0
    chunks = "SELECT count(*), min(id), max(id) FROM pgblend_data.chunk"
    before = rows(articles, chunks)
    dump = run_client("pg_dump", database_url, "--table", "public.articles")
    articles.execute("DROP TABLE articles")

    def told():
        checks = parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]
        (check,) = (one for one in checks if one["name"].startswith("table "))
        return check["found"], check["mend"]

    found, mend = told()
    assert "the table articles is gone" in found
    assert "restore it and attach it again, documents and vectors stay: SELECT" in mend
    run_client("psql", database_url, "-v", "ON_ERROR_STOP=1", stdin=dump)
    warnings: list[str] = []
    articles.add_notice_handler(lambda notice: warnings.append(str(notice.message_primary)))
    articles.execute("UPDATE public.articles SET body = 'zebra' WHERE id = 3")
    assert warnings == [
        "pgblend does not follow this change: public.articles is another table than the one that"
        " was attached"
    ]
    found, mend = told()
    assert "the table articles was dropped and restored: changes are not followed" in found
    call = mend.partition("stay: ")[2]
    articles.execute(call)
    while rows(articles, "SELECT fill_table('articles')") != [(0,)]:
        pass
    # Only the row that changed has another chunk, and so a new vector.
    after = rows(articles, chunks)
    assert (after[0][:2], after[0][2]) == (before[0][:2], before[0][2] + 1)
    assert rows(articles, "SELECT source_key FROM lexical_search('zebra')") == [("3",)]
    assert rows(articles, "SELECT * FROM check_attached_tables()") == []
    articles.execute("DELETE FROM public.articles WHERE id = 3")
    assert rows(articles, "SELECT source_key FROM lexical_search('zebra')") == []


@pytest.fixture
def replicating_server():
    """A server of the test's own: a new slot waits for all transactions of its server."""
    with temporary_cluster(wal_level="logical", max_wal_senders="4") as cluster:
        yield cluster.connection_parameters()


@pytest.mark.slow
def test_an_apply_worker_of_a_subscription_is_followed(replicating_server):
    """A table that logical replication writes: its apply worker fires row triggers alone."""
    urls = {
        name: make_conninfo(**{**replicating_server, "dbname": name}) for name in ("here", "there")
    }
    with psycopg.connect(**replicating_server, autocommit=True) as admin:
        for name in urls:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    for url in urls.values():
        runner.upgrade(url)
    with connect(urls["here"]) as publisher, connect(urls["there"]) as subscriber:
        for connection in (publisher, subscriber):
            connection.execute("CREATE TABLE public.articles (id bigint PRIMARY KEY, body text)")
        publisher.execute("INSERT INTO articles VALUES (1, 'a walrus'), (2, 'another walrus')")
        publisher.execute("CREATE PUBLICATION p FOR TABLE articles")
        publisher.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
        # One server on both sides must not wait for itself. A slot is made once no transaction of
        # any of its databases is open: neither this one, nor, while a worker that copies the table
        # holds it and waits for its slot, that of attach_table, which waits for the table.
        subscriber.execute(
            sql.SQL(
                "CREATE SUBSCRIPTION s CONNECTION {} PUBLICATION p"
                " WITH (create_slot = false, slot_name = 's', enabled = false)"
            ).format(sql.Literal(urls["here"]))
        )
        subscriber.execute("SELECT attach_table('articles', '{body}')")
        assert rows(subscriber, "SELECT row_level FROM attached_tables") == [(True,)]
        subscriber.execute("ALTER SUBSCRIPTION s ENABLE")
        wait_for(subscriber, "walrus", ["1", "2"])
        publisher.execute("INSERT INTO articles VALUES (5000, 'a zebra')")
        publisher.execute("UPDATE articles SET body = 'a gnu' WHERE id = 1")
        publisher.execute("DELETE FROM articles WHERE id = 2")
        wait_for(subscriber, "zebra", ["5000"])
        wait_for(subscriber, "gnu", ["1"])
        wait_for(subscriber, "walrus", [])
        publisher.execute("TRUNCATE articles")
        wait_for(subscriber, "gnu", [])
        while rows(subscriber, "SELECT fill_table('articles')") != [(0,)]:
            pass
        assert rows(subscriber, "SELECT * FROM check_attached_tables()") == []
        subscriber.execute("DROP SUBSCRIPTION s")


def wait_for(connection, word, keys):
    query = f"SELECT source_key FROM lexical_search('{word}') ORDER BY 1"
    wait_until(lambda: rows(connection, query) == [(key,) for key in keys])
