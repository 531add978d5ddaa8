"""Attached tables of a coordinator: rows come to shards later, and then as on one node."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from conftest import Server
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.shards.members import places_of
from pgblend.cli.shards.outbox import deliver, deliver_batch
from support.database import Database
from support.shards import Scale, run_command
from support.waiting import wait_until

TABLE = """
    CREATE TABLE public.articles (
        id bigint PRIMARY KEY, title text, body text, extra text, author text, written timestamptz)
"""
ATTACH = """
    SELECT * FROM attach_table('public.articles', text_columns => '{body,extra}',
        title_column => 'title', metadata_columns => '{author,written}',
        modified_column => 'written', collection => 'news')
"""
ROWS = """
    INSERT INTO articles
    SELECT n, 'House ' || n, 'red wine of house ' || n, NULL, 'ann', '2024-05-01 12:00+02'
    FROM generate_series(%s::integer, %s) AS n
"""
_RIGHTS = "rights_column => 'author'"
_DOCUMENTS = """
    SELECT d.source_key, d.title, d.metadata, d.modified_at, d.language
    FROM documents AS d WHERE d.collection = 'news' ORDER BY d.source_key COLLATE "C"
"""
_FOUND = """
    SELECT source_key, title, content, metadata FROM lexical_search(
        %s, 1000, collections => '{news}', options => '{"dedup": "off", "candidate_depth": 1000}')
    ORDER BY source_key COLLATE "C"
"""
_KEYS = """
    SELECT d.source_key FROM pgblend_data.document AS d
    INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id AND c.name = 'news'
"""
_WAITING = "SELECT count(*) FROM pgblend_data.shard_outbox"
_PROBLEMS = "SELECT problem FROM check_attached_tables()"
# Each statement is followed as on one node.
STATEMENTS = [
    "INSERT INTO articles (id, title, body, extra) VALUES (100, 'Sea', 'The walrus', 'Ice floats')",
    "UPDATE articles SET body = 'white wine' WHERE id % 3 = 0",
    "UPDATE articles SET author = 'bob', written = '2025-01-01' WHERE id % 4 = 0",
    "UPDATE articles SET id = id + 1000 WHERE id % 5 = 0",
    "DELETE FROM articles WHERE id % 7 = 0",
    "UPDATE articles SET title = NULL, body = NULL WHERE id = 1",
    "INSERT INTO articles (id, body) VALUES (2, 'again') ON CONFLICT (id)"
    " DO UPDATE SET body = 'up'",
    "WITH gone AS (DELETE FROM articles WHERE id = 3 RETURNING *) INSERT INTO articles"
    " SELECT 4003, title, body FROM gone",
    "BEGIN; DELETE FROM articles; ROLLBACK",
    "TRUNCATE articles",
    "INSERT INTO articles (id, body) VALUES (1, 'rose wine')",
]


@pytest.fixture
def scale(writing_shards: Scale) -> Iterator[Scale]:
    """Return one node, and a coordinator of three shards, each with a table."""
    for database in (writing_shards.one, writing_shards.coordinator):
        database.rows(TABLE)
    yield writing_shards
    push(writing_shards)
    for database in (writing_shards.one, writing_shards.coordinator):
        if database.value("SELECT count(*) FROM attached_tables"):
            database.rows("SELECT detach_table('public.articles')")
        database.rows("DROP TABLE articles")
        database.rows("SELECT remove_collection('news')")
    push(writing_shards)


@pytest.fixture
def attached(scale: Scale) -> Scale:
    """The tables attached, with twenty rows each."""
    for database in (scale.one, scale.coordinator):
        database.rows(ROWS, 1, 20)
        assert database.rows(ATTACH) == [("news", 20, True)]
    push(scale)
    return scale


def push(scale: Scale) -> None:
    run_command(scale.coordinator.url, "shards", "push")


def bring(scale: Scale) -> int:
    """Bring what waits to all shards; return how much that was."""
    front = scale.coordinator.connection
    return sum(deliver(front, place) for place in places_of(front))


def check_same(scale: Scale) -> None:
    """Check that shards have what one node has."""
    for query, *parameters in (
        (_DOCUMENTS,),
        *((_FOUND, word) for word in ("wine", "white", "walrus", "again", "up", "rose")),
    ):
        rows = scale.one.rows(query, *parameters)
        assert scale.coordinator.rows(query, *parameters) == rows, parameters
    assert scale.coordinator.column(_PROBLEMS) == []


@contextmanager
def away(shard: Database, admin: Database) -> Iterator[None]:
    """Let nobody in to a shard."""
    name = shard.connection.info.dbname
    other = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
    admin.connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    admin.rows(f"{other} AND pid <> %s", name, shard.connection.info.backend_pid)
    try:
        yield
    finally:
        admin.connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


@pytest.mark.slow
def test_rows_come_to_shards_as_on_one_node(attached: Scale) -> None:
    check_same(attached)
    assert all(shard.column(_KEYS) for shard in attached.shards)
    for statement in STATEMENTS:
        for database in (attached.one, attached.coordinator):
            database.connection.execute(statement.encode())
        bring(attached)
        check_same(attached)


@pytest.mark.slow
def test_nothing_is_done_before_the_commit_nor_after_a_rollback(attached: Scale) -> None:
    coordinator = attached.coordinator
    with coordinator.connection.transaction(force_rollback=True):
        coordinator.rows("DELETE FROM articles")
        assert coordinator.value(_WAITING) == 20
        with connect(coordinator.url) as worker:
            assert sum(deliver(worker, place) for place in places_of(worker)) == 0
    assert coordinator.value(_WAITING) == 0
    check_same(attached)
    coordinator.rows("UPDATE articles SET body = 'walrus' WHERE id = 1")
    coordinator.rows("UPDATE articles SET extra = 'zebra' WHERE id = 1")
    assert coordinator.rows(_FOUND, "walrus") == []
    (waits,) = coordinator.column(_PROBLEMS)
    assert waits.startswith("2 changes wait for shard b")
    assert bring(attached) == 2
    assert [row[0] for row in coordinator.rows(_FOUND, "walrus zebra")] == ["1"]


@pytest.mark.slow
def test_a_change_of_other_columns_waits_for_nothing(attached: Scale) -> None:
    attached.coordinator.rows("ALTER TABLE articles ADD COLUMN seen integer")
    attached.coordinator.rows("UPDATE articles SET seen = 1")
    assert attached.coordinator.value(_WAITING) == 0


@pytest.mark.slow
def test_other_columns_and_renamed_ones(attached: Scale) -> None:
    for database in (attached.one, attached.coordinator):
        database.rows("ALTER TABLE articles RENAME COLUMN body TO words")
        database.rows("UPDATE articles SET words = 'walrus' WHERE id = 1")
        assert "has no column body" in database.column(_PROBLEMS)[0]
    assert bring(attached) == 0
    for database in (attached.one, attached.coordinator):
        database.rows("SELECT * FROM attach_table('public.articles', '{words}', 'author')")
    bring(attached)
    check_same(attached)
    assert {title for _, title, *_ in attached.coordinator.rows(_DOCUMENTS)} == {"ann"}


@pytest.mark.slow
def test_changes_that_wait_when_a_column_goes_are_not_lost(attached: Scale) -> None:
    coordinator = attached.coordinator
    coordinator.rows("UPDATE articles SET body = 'walrus' WHERE id = 1")
    coordinator.rows("ALTER TABLE articles RENAME COLUMN title TO heading")
    assert bring(attached) == 0
    coordinator.rows("ALTER TABLE articles RENAME COLUMN heading TO title")
    assert bring(attached) == 1
    assert len(coordinator.rows(_FOUND, "walrus")) == 1


@pytest.mark.slow
def test_a_table_is_detached(attached: Scale) -> None:
    """The collection that was made goes when shards learn of it, and no sooner."""
    coordinator = attached.coordinator
    coordinator.rows("UPDATE articles SET body = 'walrus'")
    with coordinator.connection.transaction(force_rollback=True):
        assert coordinator.value("SELECT detach_table('public.articles')") == 20
    assert len([key for shard in attached.shards for key in shard.column(_KEYS)]) == 20
    assert coordinator.value("SELECT detach_table('public.articles')") == 20
    assert coordinator.value(_WAITING) == 0
    push(attached)
    assert [key for shard in attached.shards for key in shard.column(_KEYS)] == []
    readers = "SELECT proname FROM pg_proc WHERE proname LIKE '\\_read\\_attached\\__%%'"
    assert coordinator.rows(readers) == []


@pytest.mark.slow
def test_a_collection_that_was_there_stays(scale: Scale) -> None:
    coordinator = scale.coordinator
    coordinator.rows(ROWS, 1, 20)
    coordinator.rows("SELECT add_collection('news')")
    said = coordinator.error(ATTACH)
    assert "lacks the last changes" in str(said.message_primary)
    push(scale)
    coordinator.rows("SELECT ingest_document('news', 'k', 'text')")
    assert "is not empty" in str(coordinator.error(ATTACH).message_primary)
    # Documents of shards have no readers of their own: neither by a column nor one by one.
    rights = coordinator.error(ATTACH.replace("modified_column => 'written'", _RIGHTS))
    assert "rights_column is given: expected a database without" in str(rights.message_primary)
    grant = coordinator.error("SELECT grant_document('news', '1', 'hr')")
    assert (rights.sqlstate, grant.sqlstate) == ("22023", "0A000")
    coordinator.rows("SELECT delete_document('news', 'k')")
    coordinator.rows(ATTACH)
    assert bring(scale)
    assert coordinator.value("SELECT detach_table('public.articles')") == 20
    assert [key for shard in scale.shards for key in shard.column(_KEYS)] == []
    assert coordinator.rows("SELECT name FROM collections WHERE name = 'news'")


@pytest.mark.slow
def test_the_table_s_commands_bring_rows(scale: Scale) -> None:
    coordinator = scale.coordinator
    coordinator.rows(ROWS, 1, 1500)
    attach = "table", "attach", "articles", "--text", "body", "-c", "news"
    assert "looked at 1,500 rows, and all are in" in run_command(coordinator.url, *attach)
    assert len(coordinator.rows(_DOCUMENTS)) == 1500
    coordinator.rows("ALTER TABLE articles DISABLE TRIGGER ALL")
    coordinator.rows("DELETE FROM articles WHERE id <= 10")
    coordinator.rows("UPDATE articles SET body = 'walrus' WHERE id = 11")
    coordinator.rows("ALTER TABLE articles ENABLE TRIGGER ALL")
    assert coordinator.column(_PROBLEMS) == [
        "the table has 1490 rows, its collection 1500 documents"
    ]
    run_command(coordinator.url, "table", "fill", "articles", "--anew")
    assert len(coordinator.rows(_DOCUMENTS)) == 1490
    assert len(coordinator.rows(_FOUND, "walrus")) == 1
    run_command(coordinator.url, "table", "detach", "articles", "--yes")
    assert [key for shard in scale.shards for key in shard.column(_KEYS)] == []


@pytest.mark.slow
def test_rows_of_a_shard_that_is_away_wait(attached: Scale, server: Server) -> None:
    coordinator = attached.coordinator
    coordinator.rows("UPDATE articles SET body = 'walrus'")
    keys = attached.shards[1].column(_KEYS)
    with away(attached.shards[1], Database(server.admin)):
        assert "b1" in run_command(coordinator.url, "shards", "push", fails=True)
        assert coordinator.value(_WAITING) == len(keys)
        (waits,) = coordinator.column(_PROBLEMS)
        assert waits.startswith(f"{len(keys)} changes wait for shard b1, the oldest since 20")
        told = json.loads(run_command(coordinator.url, "shards", "status", "--json"))
        assert [row["waiting"] for row in told["shards"]] == [0, len(keys), 0]
        assert "changes wait for shard b1" in run_command(coordinator.url, "doctor", fails=True)
    push(attached)
    attached.one.rows("UPDATE articles SET body = 'walrus'")
    check_same(attached)


@pytest.mark.slow
def test_a_row_that_a_shard_refuses_stops_no_other(attached: Scale) -> None:
    """What is wrong is told, and waits."""
    coordinator = attached.coordinator
    coordinator.rows("CREATE TABLE public.notes (id integer PRIMARY KEY, body text)")
    coordinator.rows("SELECT * FROM attach_table('notes', '{body}')")
    push(attached)
    refusal = (
        "ALTER TABLE pgblend_data.document ADD CONSTRAINT sober CHECK (title <> 'drunk') NOT VALID"
    )
    for shard in attached.shards:
        shard.connection.execute(refusal.encode())
    try:
        coordinator.rows("UPDATE articles SET title = CASE id WHEN 7 THEN 'drunk' ELSE 'sober' END")
        coordinator.rows(
            "INSERT INTO public.notes SELECT n, 'walrus' FROM generate_series(1, 9) AS n"
        )
        said = run_command(coordinator.url, "shards", "push", fails=True)
        assert "did not get the change: changes of public.articles wait: new row for" in said
        assert coordinator.column("SELECT source_key FROM pgblend_data.shard_outbox") == ["7"]
        notes = "SELECT source_key FROM documents WHERE collection = 'notes'"
        assert len(coordinator.rows(notes)) == 9
    finally:
        for shard in attached.shards:
            shard.rows("ALTER TABLE pgblend_data.document DROP CONSTRAINT sober")
        coordinator.rows("SELECT detach_table('notes')")
        coordinator.rows("DROP TABLE public.notes")
    push(attached)
    attached.one.rows("UPDATE articles SET title = CASE id WHEN 7 THEN 'drunk' ELSE 'sober' END")
    check_same(attached)


@pytest.mark.slow
def test_a_worker_that_is_killed_after_the_shard_s_commit(attached: Scale) -> None:
    """What the shard has already is looked at once more, and stays as it is."""
    coordinator, ids = (
        attached.coordinator,
        "SELECT d.id, d.xmin::text FROM pgblend_data.document d",
    )
    coordinator.rows(ROWS, 21, 60)
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", coordinator.url]
    with connect(coordinator.url) as holder, holder.transaction():
        holder.execute("LOCK TABLE pgblend_data.shard_outbox IN SHARE MODE")
        with subprocess.Popen([*command, "shards", "push"], text=True) as process:
            before = attached.shards[0].value("SELECT count(*) FROM pgblend_data.document")
            wait_until(
                lambda: (
                    attached.shards[0].value("SELECT count(*) FROM pgblend_data.document") > before
                ),
                process=process,
            )
            process.kill()
    known = attached.shards[0].rows(ids)
    assert coordinator.value(_WAITING) == 40
    push(attached)
    attached.one.rows(ROWS, 21, 60)
    check_same(attached)
    assert attached.shards[0].rows(ids) == known


@pytest.mark.slow
def test_an_older_row_is_never_stored_over_a_newer_one(attached: Scale) -> None:
    """Whoever comes next waits for what was on its way, and reads the row after that."""
    coordinator = attached.coordinator
    coordinator.rows("UPDATE articles SET body = 'older' WHERE id = 1")
    (place,) = (
        place
        for place, shard in zip(places_of(coordinator.connection), attached.shards, strict=True)
        if "1" in shard.column(_KEYS)
    )
    collection = coordinator.value("SELECT id FROM pgblend_data.collection WHERE name = 'news'")
    with connect(place.url) as shard, ThreadPoolExecutor() as pool:
        with shard.transaction():
            shard.execute(
                "SELECT pgblend._claim_rows(%s, %s, %s)",
                [place.number, coordinator.value("SELECT version FROM pgblend_data.shard_front"),
                 collection],
            )  # fmt: skip
            keys, rows = coordinator.row(
                "SELECT keys, rows FROM pgblend._waiting_rows(%s, %s, NULL)",
                collection,
                place.number,
            )
            coordinator.rows("UPDATE articles SET body = 'newer' WHERE id = 1")

            def come_next() -> int:
                with connect(coordinator.url) as front, connect(place.url) as other:
                    return deliver_batch(front, other, place)

            brought = pool.submit(come_next)
            database = attached.shards[place.number]
            wait_until(lambda: database.rows("SELECT pid FROM pg_locks WHERE NOT granted"))
            shard.execute(
                "SELECT pgblend._apply_rows(%s, %s, %s, NULL)", [collection, keys, json.dumps(rows)]
            )
        assert brought.result() == 2
    assert len(coordinator.rows(_FOUND, "newer")) == 1
    assert coordinator.rows(_FOUND, "older") == []


@pytest.mark.slow
def test_a_shard_of_another_number_is_left_alone(attached: Scale) -> None:
    coordinator = attached.coordinator
    first, second, _ = places_of(coordinator.connection)
    coordinator.rows("UPDATE articles SET body = 'walrus'")
    with connect(second.url) as shard:
        said = Database(shard).error("SELECT pgblend._claim_rows(%s, 0, 1)", first.number)
    assert said.sqlstate == "40001"


@pytest.mark.slow
def test_who_may_see_what_waits(attached: Scale, server: Server) -> None:
    """Not who may not read the table; and who may write it needs no right here."""
    admin = attached.coordinator
    stem = f"{admin.connection.info.dbname}_"
    roles = {
        f"{stem}writer": None, f"{stem}reader": "pgblend_reader", f"{stem}admin": "pgblend_admin",
    }  # fmt: skip
    try:
        for role, group in roles.items():
            member = f" IN ROLE {group}" if group else ""
            server.admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'{member}".encode())

        def as_role(role: str) -> Database:
            return Database(connect(make_conninfo(admin.url, user=role, password="x"), check=False))

        admin.rows(f"GRANT SELECT, INSERT, UPDATE ON articles TO {stem}writer")
        with as_role(f"{stem}writer").connection as writer:
            writer.execute("INSERT INTO public.articles (id, body) VALUES (50, 'walrus')")
            writer.execute("UPDATE public.articles SET body = 'wal' WHERE id = 50")
        assert admin.value(_WAITING) == 2
        with as_role(f"{stem}reader").connection as reader:
            assert Database(reader).error(_WAITING).sqlstate == "42501"
        collection = admin.value("SELECT collection_id FROM pgblend_data.attached_table")
        own = as_role(f"{stem}admin")
        with own.connection:
            assert own.value(_WAITING) == 0
            waiting = (
                "SELECT w.keys FROM generate_series(0, 2) b, pgblend._waiting_rows(%s, b, NULL) w"
            )
            assert own.column(waiting, collection) == [None] * 3
            admin.rows(f"GRANT SELECT ON articles TO {stem}admin")
            assert own.value(_WAITING) == 2
            assert sorted(own.column(waiting, collection), key=bool) == [None, None, ["50"]]
            admin.rows("ALTER TABLE articles ENABLE ROW LEVEL SECURITY")
            assert own.value(_WAITING) == 0
    finally:
        for role in roles:
            admin.connection.execute(f"DROP OWNED BY {role}".encode())
            server.admin.execute(f"DROP ROLE {role}".encode())


@pytest.mark.slow
def test_texts_of_more_than_a_batch_come_in_several(attached: Scale) -> None:
    coordinator = attached.coordinator
    coordinator.rows("UPDATE articles SET body = repeat('wine ', 4000000) WHERE id <= 4")
    collection = coordinator.value("SELECT id FROM pgblend_data.collection WHERE name = 'news'")
    taken = coordinator.rows(
        "SELECT cardinality(w.ids), cardinality(w.keys), jsonb_array_length(w.rows)"
        " FROM generate_series(0, 2) b, pgblend._waiting_rows(%s, b, NULL) w WHERE w.ids <> '{}'",
        collection,
    )
    assert {*taken} == {(1, 1, 1)}
    coordinator.rows("UPDATE articles SET body = NULL WHERE id <= 4")
    assert bring(attached) == 8
    attached.one.rows("UPDATE articles SET body = NULL WHERE id <= 4")
    check_same(attached)


@pytest.mark.slow
def test_partitions_and_keys_of_several_columns(scale: Scale) -> None:
    for database in (scale.one, scale.coordinator):
        database.rows("DROP TABLE articles")
        database.rows(
            "CREATE TABLE public.articles (day date, n integer, body text, PRIMARY KEY (n, day))"
            " PARTITION BY RANGE (day)"
        )
        for year in (2024, 2025):
            database.rows(
                f"CREATE TABLE public.articles_{year} PARTITION OF articles"
                f" FOR VALUES FROM ('{year}-01-01') TO ('{year + 1}-01-01')"
            )
        database.rows(
            "INSERT INTO articles SELECT '2024-01-01'::date + 30 * n, n, 'wine ' || n"
            " FROM generate_series(1, 20) AS n"
        )
        database.rows("SELECT * FROM attach_table('articles', '{body}', collection => 'news')")
    push(scale)
    check_same(scale)
    for statement in (
        "UPDATE articles SET day = day + 365 WHERE day < '2024-06-01'",
        "SET session_replication_role = replica",
        "UPDATE articles SET body = 'white ' || n WHERE n % 2 = 0",
        "RESET session_replication_role",
        "TRUNCATE articles_2024",
    ):
        for database in (scale.one, scale.coordinator):
            database.connection.execute(statement.encode())
        bring(scale)
        check_same(scale)


@pytest.mark.slow
def test_a_worker_brings_what_changes(attached: Scale) -> None:
    coordinator = attached.coordinator
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", coordinator.url]
    with subprocess.Popen([*command, "worker"], stderr=subprocess.PIPE, text=True) as process:
        for word in ("walrus", "zebra"):
            coordinator.rows("UPDATE articles SET body = %s", word)
            wait_until(
                lambda word=word: len(coordinator.rows(_FOUND, word)) == 20,  # type: ignore[misc]
                process=process,
            )
        process.terminate()
        process.communicate()
    assert process.returncode == 0
    assert coordinator.value(_WAITING) == 0


@pytest.mark.slow
def test_a_split_takes_what_waits_along(
    fresh_shards: Scale, new_database: Callable[..., str], template: str
) -> None:
    coordinator = fresh_shards.coordinator
    coordinator.rows(TABLE)
    coordinator.rows(ROWS, 1, 40)
    coordinator.rows(ATTACH)
    push(fresh_shards)
    coordinator.rows("UPDATE articles SET body = 'walrus'")
    coordinator.rows("DELETE FROM articles WHERE id <= 5")
    pairs = [f"b{number}={new_database(template)}" for number in (2, 3)]
    run_command(coordinator.url, "shards", "split", "b0", *pairs)
    push(fresh_shards)
    with connect(coordinator.url) as connection:
        assert len(Database(connection).rows(_FOUND, "walrus")) == 35
        assert Database(connection).column(_PROBLEMS) == []
