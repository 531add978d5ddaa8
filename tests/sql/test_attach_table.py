"""Collections that follow tables: every way of writing, and what must not be followed silently."""

import contextlib
import threading

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database

ARTICLES = """
    CREATE TABLE public.articles (
        id bigint PRIMARY KEY, title text, body text, extra text, author text, written timestamptz)
"""
ATTACH = """
    SELECT * FROM attach_table('public.articles', text_columns => '{body,extra}',
        title_column => 'title', metadata_columns => '{author,written}', collection => 'news')
"""


@pytest.fixture
def articles(db: Database) -> Database:
    """An attached table with two rows."""
    db.rows(ARTICLES)
    db.rows(
        "INSERT INTO articles VALUES (1, 'Sea', 'The walrus swims.', 'Ice floats.', 'ann',"
        " '2024-05-01 12:00+02'), (2, 'Land', 'The zebra walks.', NULL, NULL, NULL)"
    )
    assert db.rows(ATTACH) == [("news", 2, True)]
    return db


def found(db: Database, word: str) -> list[str]:
    return sorted(
        db.column(
            "SELECT source_key FROM lexical_search(%s, 1000, options => %s)",
            word,
            '{"dedup": "off", "candidate_depth": 1000}',
        )
    )


def fill(db: Database, table: str) -> None:
    """Look at all rows again, as `pgblend table fill --anew` and the worker do."""
    count = db.value("SELECT fill_table(%s, 500, true)", table)
    while count:
        count = db.value("SELECT fill_table(%s)", table)


def documents(db: Database) -> list[tuple]:
    return db.rows(
        "SELECT d.source_key, string_agg(c.content, '|' ORDER BY c.chunk_index)"
        " FROM pgblend_data.document AS d LEFT JOIN pgblend_data.chunk AS c"
        " ON c.document_id = d.id GROUP BY d.id ORDER BY d.source_key"
    )


def problems(db: Database) -> list[str]:
    return db.column("SELECT problem FROM check_attached_tables()")


def test_rows_become_documents(articles: Database) -> None:
    assert articles.rows(
        "SELECT source_key, title, content, metadata FROM lexical_search('walrus')"
    ) == [("1", "Sea", "The walrus swims.\n\nIce floats.",
           {"author": "ann", "written": "2024-05-01T10:00:00+00:00"})]  # fmt: skip
    assert articles.rows(
        "SELECT a.id, a.author FROM hybrid_search('floating ice') AS r"
        " JOIN articles AS a ON a.id = r.source_key::bigint"
    ) == [(1, "ann")]
    assert problems(articles) == []


def test_every_statement_is_followed_in_its_transaction(articles: Database) -> None:
    articles.rows("INSERT INTO articles (id, body) VALUES (3, 'A giraffe.'), (4, 'Two giraffes.')")
    assert found(articles, "giraffe") == ["3", "4"]
    articles.rows("UPDATE articles SET body = 'A gnu.' WHERE id IN (2, 3)")
    assert (found(articles, "giraffe"), found(articles, "gnu")) == (["4"], ["2", "3"])
    articles.rows("UPDATE articles SET id = id + 100 WHERE id > 2")
    assert found(articles, "gnu") == ["103", "2"]
    articles.rows("DELETE FROM articles WHERE body LIKE '%%gnu%%'")
    assert found(articles, "gnu") == []
    articles.rows("INSERT INTO articles (id, body) VALUES (1, 'An ibex.'), (9, 'Ibexes.')"
                  " ON CONFLICT (id) DO UPDATE SET body = excluded.body")  # fmt: skip
    assert found(articles, "ibex") == ["1", "9"]
    articles.rows("MERGE INTO articles AS a USING (VALUES (1, 'x'), (7, 'A kudu.')) AS v (id, body)"
                  " ON a.id = v.id WHEN MATCHED THEN DELETE"
                  " WHEN NOT MATCHED THEN INSERT (id, body) VALUES (v.id, v.body)")  # fmt: skip
    assert (found(articles, "ibex"), found(articles, "kudu")) == (["9"], ["7"])
    with articles.connection.cursor().copy("COPY articles (id, body) FROM STDIN") as copy:
        for number in range(1000, 1450):
            copy.write_row((number, f"Okapi {number}."))
    assert len(found(articles, "okapi")) == 450
    articles.rows("TRUNCATE articles")
    assert documents(articles) == []
    assert problems(articles) == []


def test_rolled_back_writes_leave_nothing(articles: Database) -> None:
    with articles.connection.transaction(force_rollback=True):
        articles.rows("UPDATE articles SET body = 'A gnu.'")
        assert found(articles, "gnu") == ["1", "2"]
    assert (found(articles, "gnu"), found(articles, "walrus")) == ([], ["1"])


def test_a_change_of_other_columns_touches_no_chunk(articles: Database) -> None:
    articles.rows("ALTER TABLE articles ADD COLUMN views integer")
    ids = "SELECT array_agg(id ORDER BY id) FROM pgblend_data.chunk"
    before = (
        articles.value(ids),
        articles.value("SELECT max(xmin::text) FROM pgblend_data.document"),
    )
    articles.rows("UPDATE articles SET views = 5")
    articles.rows("UPDATE articles SET body = body")
    after = articles.value(ids), articles.value("SELECT max(xmin::text) FROM pgblend_data.document")
    assert before == after
    articles.rows("UPDATE articles SET author = 'eve'")
    assert articles.value(ids) == before[0]
    assert articles.column("SELECT metadata ->> 'author' FROM lexical_search('walrus')") == ["eve"]


def test_metadata_set_by_hand_stays_when_its_row_changes(articles: Database) -> None:
    document = "SELECT document_id FROM documents WHERE source_key = '1'"
    articles.rows(f"""SELECT set_metadata(({document}), '{{"author": "zoe", "seen": true}}')""")
    articles.rows("UPDATE articles SET author = 'eve', written = NULL")
    query = "SELECT metadata FROM documents ORDER BY source_key"
    assert articles.column(query) == [
        {"author": "zoe", "written": None, "seen": True}, {"author": "eve", "written": None}
    ]  # fmt: skip
    assert articles.value(f"SELECT reset_metadata(({document}))") == articles.column(query)[1]


def test_null_empty_and_very_large_text(articles: Database) -> None:
    large = "word " * 200_000
    articles.connection.execute(
        "INSERT INTO articles (id, title, body) VALUES (3, NULL, NULL), (4, '', ' \n'),"
        " (5, 'Only a title', NULL), (6, 'Large', %s)", [large],
    )  # fmt: skip
    contents = dict(documents(articles))
    assert (contents["3"], contents["4"], contents["5"]) == (None, None, "Only a title")
    assert found(articles, "title") == ["5"]
    assert articles.value(
        "SELECT count(*) > 400 FROM pgblend_data.chunk AS c JOIN pgblend_data.document AS d"
        " ON d.id = c.document_id WHERE d.source_key = '6'"
    )
    assert problems(articles) == []


def test_composite_keys_dates_and_odd_names(db: Database) -> None:
    db.rows('CREATE TABLE public."Odd ""table" ("the day" date, "Näme" text, "select" text,'
            ' PRIMARY KEY ("the day", "Näme"))')  # fmt: skip
    db.rows("SET LOCAL datestyle = 'SQL, DMY'")
    db.rows("""INSERT INTO "Odd ""table" VALUES ('31/12/2024', 'it''s', 'A walrus.')""")
    db.rows("""SELECT attach_table('public."Odd ""table"', '{select}', collection => 'odd')""")
    assert found(db, "walrus") == ['["2024-12-31", "it\'s"]']
    db.rows("""UPDATE "Odd ""table" SET "select" = 'A zebra.'""")
    db.rows("""INSERT INTO "Odd ""table" VALUES ('01/02/2024', 'b', 'Another zebra.')""")
    assert found(db, "zebra") == ['["2024-02-01", "b"]', '["2024-12-31", "it\'s"]']
    assert db.rows(
        """SELECT t."Näme" FROM lexical_search('another') AS r JOIN "Odd ""table" AS t"""
        """ ON t."the day" = (r.source_key::jsonb ->> 0)::date"""
        """ AND t."Näme" = r.source_key::jsonb ->> 1"""
    ) == [("b",)]
    assert problems(db) == []


@pytest.mark.parametrize(
    ("key_type", "value"),
    [("uuid", "0e37df36-f698-11e6-8dd4-cb9ced3df976"), ("text", "a'b\\\"c"), ("numeric", "1.50"),
     ("boolean", "true"), ("char(4)", "ab"), ("date", "2024-02-01"), ("timestamp", "2024-02-01")],
)  # fmt: skip
def test_kinds_of_keys(db: Database, key_type: str, value: str) -> None:
    db.rows(f"CREATE TABLE public.keyed (k {key_type} PRIMARY KEY, body text)")
    db.rows("SELECT attach_table('keyed', '{body}')")
    db.rows(f"INSERT INTO keyed VALUES (%s::{key_type}, 'walrus')", value)
    db.rows("UPDATE keyed SET body = 'zebra'")
    assert (len(found(db, "zebra")), problems(db)) == (1, [])
    db.rows("SELECT fill_table('keyed', 1, true)")
    assert db.value("SELECT fill_table('keyed')") == 0
    db.rows("DELETE FROM keyed")
    assert documents(db) == []


def test_a_foreign_key_takes_rows_along(articles: Database) -> None:
    articles.rows("CREATE TABLE public.comments (id int PRIMARY KEY, body text,"
                  " article bigint REFERENCES articles ON DELETE CASCADE)")  # fmt: skip
    articles.rows("SELECT attach_table('comments', '{body}')")
    articles.rows("INSERT INTO comments VALUES (7, 'Nice walrus.', 1), (8, 'Nice zebra.', 2)")
    articles.rows("DELETE FROM articles WHERE id = 1")
    assert (found(articles, "walrus"), found(articles, "zebra")) == ([], ["2", "8"])


def test_partitions_and_moves_between_them(db: Database) -> None:
    db.rows("CREATE TABLE public.logs (id int, region text, body text, PRIMARY KEY (id, region))"
            " PARTITION BY LIST (region)")  # fmt: skip
    for region in ("eu", "us"):
        db.rows(f"CREATE TABLE logs_{region} PARTITION OF logs FOR VALUES IN ('{region}')")
    db.rows("INSERT INTO logs VALUES (1, 'eu', 'walrus')")
    db.rows("SELECT attach_table('logs', '{body}', metadata_columns => '{region}')")
    db.rows("CREATE TABLE logs_rest PARTITION OF logs DEFAULT")
    db.rows("INSERT INTO logs VALUES (2, 'us', 'walrus'), (3, 'jp', 'walrus')")
    db.rows("INSERT INTO logs_us VALUES (4, 'us', 'walrus')")  # around the parent
    assert len(found(db, "walrus")) == 4
    db.rows("UPDATE logs SET region = 'us', body = 'zebra' WHERE id = 1")
    assert found(db, "zebra") == ['[1, "us"]']
    db.rows("TRUNCATE logs_us")
    assert found(db, "walrus zebra") == ['[3, "jp"]']
    came = "partitions came, with rows that may not be indexed: pgblend.logs_rest"
    assert problems(db) == [came]
    fill(db, "logs")
    db.rows("TRUNCATE logs_rest")  # which has a trigger now
    assert (found(db, "walrus zebra"), problems(db)) == ([], [])
    db.rows("INSERT INTO logs VALUES (5, 'eu', 'gnu')")
    db.rows("TRUNCATE logs")
    assert (documents(db), problems(db)) == ([], [])
    db.rows("SELECT detach_table('logs')")
    assert db.column("SELECT tgname FROM pg_trigger WHERE tgname LIKE 'pgblend%%'"
                     " AND tgrelid::regclass::text LIKE 'logs%%'") == []  # fmt: skip


def test_partitions_that_come_with_rows_and_go_with_theirs(db: Database) -> None:
    db.rows("CREATE TABLE public.t (id int, y int, body text, PRIMARY KEY (id, y))"
            " PARTITION BY LIST (y)")  # fmt: skip
    db.rows("CREATE TABLE t1 PARTITION OF public.t FOR VALUES IN (1)")
    db.rows("SELECT attach_table('t', '{body}')")
    for year in (2, 3, 4):
        db.rows(f"CREATE TABLE public.t{year} (LIKE public.t INCLUDING ALL)")
        db.rows(f"INSERT INTO t{year} VALUES ({year}, {year}, 'partition merlin {year}')")
    db.rows("ALTER TABLE t ATTACH PARTITION t2 FOR VALUES IN (2)")
    db.rows("ALTER TABLE t ATTACH PARTITION t3 FOR VALUES IN (3)")
    assert problems(db) == [
        "partitions came, with rows that may not be indexed: public.t2, public.t3"
    ]
    fill(db, "t")
    assert (found(db, "merlin"), problems(db)) == (["[2, 2]", "[3, 3]"], [])
    db.rows("UPDATE t2 SET body = 'a gnu'")
    assert (found(db, "merlin"), found(db, "gnu")) == (["[3, 3]"], ["[2, 2]"])
    db.rows("TRUNCATE t2")
    assert (found(db, "gnu"), problems(db)) == ([], [])
    db.rows("ALTER TABLE t DETACH PARTITION t3")
    db.rows("ALTER TABLE t ATTACH PARTITION t4 FOR VALUES IN (4)")
    db.rows("DROP TABLE t2")
    assert problems(db) == [
        "partitions came, with rows that may not be indexed: public.t4, and 2 partitions went: "
        "their rows are still found"
    ]
    fill(db, "t")
    assert (found(db, "merlin"), problems(db)) == (["[4, 4]"], [])
    db.rows("UPDATE t3 SET body = 'a gnu'")  # no part of it any more
    assert found(db, "gnu") == []


def test_a_table_that_others_inherit_from_is_told(articles: Database) -> None:
    articles.rows("CREATE TABLE public.children () INHERITS (public.articles)")
    assert problems(articles) == [
        "articles is inherited by children, whose changes are not followed: expected ALTER TABLE …"
        " NO INHERIT",
        "partitions came, with rows that may not be indexed: public.children",
    ]


def test_columns_that_go_are_named_and_writes_go_on(articles: Database) -> None:
    articles.rows("ALTER TABLE articles RENAME COLUMN body TO contents")
    articles.rows("ALTER TABLE articles DROP COLUMN author")
    articles.warnings()
    articles.rows("UPDATE articles SET contents = 'A gnu.' WHERE id = 1")
    message = "public.articles has no column author, body (any more)"
    assert articles.warnings() == [f"pgblend does not follow this change: {message}"]
    assert problems(articles) == [f"{message}: changes are not followed"]
    assert articles.error("SELECT fill_table('articles')").message_primary == message
    articles.rows("SELECT attach_table('public.articles', '{contents}', 'title')")
    assert (found(articles, "gnu"), problems(articles)) == (["1"], [])


def test_a_renamed_table_is_followed_and_a_dropped_one_reported(articles: Database) -> None:
    articles.rows("ALTER TABLE articles RENAME TO essays")
    articles.rows("UPDATE essays SET body = 'A gnu.' WHERE id = 1")
    assert found(articles, "gnu") == ["1"]
    articles.rows("DROP TABLE essays")
    assert problems(articles) == ["the table public.articles is gone"]
    assert articles.value("SELECT detach_table('public.articles')") == 2
    assert problems(articles) == []


def test_writes_past_the_triggers_are_found_and_mended(articles: Database) -> None:
    articles.rows("SET LOCAL session_replication_role = replica")
    articles.rows("INSERT INTO articles (id, body) VALUES (5, 'A gnu.')")
    articles.rows("DELETE FROM articles WHERE id = 1")
    articles.rows("SET LOCAL session_replication_role = origin")
    assert problems(articles) == ["1 rows are not indexed, 1 documents have no row"]
    fills = [articles.value("SELECT fill_table('articles', 1, %s)", turn == 0) for turn in range(4)]
    assert fills == [1, 1, 1, 0]  # two rows, an orphan
    assert (found(articles, "gnu"), found(articles, "walrus"), problems(articles)) == (
        ["5"],
        [],
        [],
    )


def test_row_level_triggers_fire_where_the_session_is_a_replica(db: Database) -> None:
    db.rows(ARTICLES)
    db.rows("SELECT attach_table('articles', '{body}', row_level => true)")
    db.rows("SET LOCAL session_replication_role = replica")  # as an apply worker has it
    db.rows("INSERT INTO articles (id, body) VALUES (1, 'A gnu.'), (2, 'A walrus.')")
    db.rows("UPDATE articles SET body = 'A zebra.' WHERE id = 1")
    db.rows("DELETE FROM articles WHERE id = 2")
    assert db.value("SHOW session_replication_role") == "replica"
    assert documents(db) == [("1", "A zebra.")]
    db.rows("TRUNCATE articles")
    assert documents(db) == []


def test_disabled_triggers_are_reported(articles: Database) -> None:
    articles.rows("ALTER TABLE articles DISABLE TRIGGER pgblend_insert")
    articles.rows("DROP TRIGGER pgblend_truncate ON articles")
    assert problems(articles) == [
        "disabled: pgblend_insert of articles",
        "there is no trigger pgblend_truncate of articles",
    ]


def test_detach_leaves_no_trace(db: Database) -> None:
    db.rows(ARTICLES)
    state = (
        "SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'articles'::regclass),"
        " (SELECT count(*) FROM pg_depend WHERE refobjid = 'articles'::regclass),"
        + ",".join(
            f" (SELECT count(*) FROM pgblend_data.{table})"
            for table in ("attached_table", "collection", "collection_language", "document",
                          "chunk", "pending", "tombstone", "vocabulary", "segment")
        )
    )  # fmt: skip
    before = db.row(state)
    db.rows("INSERT INTO articles (id, body) VALUES (1, 'A gnu.')")
    db.rows(ATTACH)
    assert db.row(state) != before
    assert db.value("SELECT detach_table('articles')") == 1
    assert db.row(state) == before
    assert db.error("SELECT detach_table('articles')").sqlstate == "42704"


def test_a_followed_collection_is_not_removed(articles: Database) -> None:
    error = articles.error("SELECT remove_collection('news')")
    assert error.message_primary == 'collection "news" follows the table public.articles'
    articles.rows("SELECT detach_table('articles')")
    assert articles.value("SELECT remove_collection('news')") is False


def test_a_collection_that_was_there_stays(db: Database) -> None:
    db.rows(ARTICLES)
    db.rows("SELECT add_collection('news', 'german')")
    db.rows(ATTACH)
    db.rows("INSERT INTO articles (id, body) VALUES (1, 'Die Häuser')")
    assert found(db, "Haus") == ["1"]
    db.rows("SELECT detach_table('articles')")
    assert db.column("SELECT name FROM collections") == ["news"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'nope', '{body}'", "there is no table nope"),
        ("NULL, '{body}'", "there is no table NULL"),
        ("'articles', '{}'", "text_columns is empty"),
        ("'articles', '{nope,no}'", "public.articles has no column no, nope"),
        ("'articles', '{body}', 'nope'", "public.articles has no column nope"),
        ("'articles', '{body}', key_columns => '{title}'", "expected columns that are NOT NULL"),
        ("'pg_catalog.pg_class', '{relname}'", "is not a user's table"),
        ("'pgblend_data.chunk', '{content}'", "is not a user's table"),
        ("'a_view', '{body}'", "is a view: expected key_columns"),
        ("'keyless', '{body}'", "has no primary key"),
        ("'zoned', '{body}'", "key column k is of type timestamp with time zone"),
        ("'parent', '{body}'", "inherits or is inherited"),
        ("'articles', '{body}', collection => 'full'", 'the collection "full" is not empty'),
    ],
)
def test_what_cannot_be_attached(db: Database, arguments: str, message: str) -> None:
    db.rows(ARTICLES)
    db.rows("CREATE VIEW public.a_view AS SELECT * FROM articles")
    db.rows("CREATE TABLE public.keyless (body text)")
    db.rows("CREATE TABLE public.zoned (k timestamptz PRIMARY KEY, body text)")
    db.rows("CREATE TABLE public.parent (k int PRIMARY KEY, body text)")
    db.rows("CREATE TABLE public.child () INHERITS (parent)")
    db.rows("SELECT add_collection('full')")
    db.rows("SELECT ingest_document('full', 'k', 'text')")
    assert message in str(db.error(f"SELECT attach_table({arguments})").message_primary)


@pytest.mark.slow
def test_a_large_table_is_filled_in_batches(db: Database) -> None:
    db.rows(ARTICLES)
    db.rows(
        "INSERT INTO articles (id, body) SELECT g, 'walrus ' || g FROM generate_series(1, 1100) g"
    )
    assert db.rows(ATTACH) == [("news", 1000, False)]
    assert problems(db) == ["not all rows are in yet"]
    assert [db.value("SELECT fill_table('articles', 60)") for _ in range(3)] == [60, 40, 0]
    assert (db.value("SELECT count(*) FROM pgblend_data.document"), problems(db)) == (1100, [])
    assert db.error("SELECT fill_table('articles', 0)").sqlstate == "22023"


def test_a_writer_without_any_right_here_still_writes(committed: Database, connect_as) -> None:
    committed.rows(ARTICLES)
    committed.rows(ATTACH)
    committed.rows("SELECT add_collection('secret')")
    committed.rows("SELECT ingest_document('secret', 'k', 'the secret walrus')")
    writer = Database(connect_as("pg_monitor"))
    role = writer.connection.info.user
    committed.rows(f"GRANT INSERT, UPDATE, DELETE, SELECT, TRUNCATE ON articles TO {role}")
    writer.rows("INSERT INTO public.articles (id, body) VALUES (1, 'A gnu.')")
    writer.rows("UPDATE public.articles SET body = 'A zebra.'")
    assert found(committed, "zebra") == ["1"]
    for query in ("blend.lexical_search('walrus')", "pgblend_data.chunk",
                  "blend.attached_tables"):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.rows(f"SELECT * FROM {query}")
    writer.rows("CREATE TEMP TABLE trap (id int, body text)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        writer.rows("CREATE TRIGGER t AFTER INSERT ON trap FOR EACH ROW"
                    " EXECUTE FUNCTION pgblend._table_changed('1')")  # fmt: skip
    writer.rows("TRUNCATE public.articles")
    assert documents(committed) == [("k", "the secret walrus")]


def test_an_admin_attaches_what_it_owns_and_may_read(committed: Database, connect_as) -> None:
    admin = Database(connect_as("pgblend_admin"))
    role = admin.connection.info.user
    committed.rows(ARTICLES)
    error = admin.error("SELECT attach_table('articles', '{body}')")
    assert error.message_primary == f"{role} may not read public.articles"
    assert "a member of its owner: GRANT" in str(error.message_hint)
    committed.rows(f"ALTER TABLE articles OWNER TO {role}")
    admin.rows("INSERT INTO public.articles (id, body) VALUES (1, 'A gnu.')")
    admin.rows("SELECT attach_table('articles', '{body}')")
    admin.rows("INSERT INTO public.articles (id, body) VALUES (2, 'A gnu.')")
    assert (found(admin, "gnu"), problems(admin)) == (["1", "2"], [])
    # The registry is not for an admin to write.
    error = admin.error("UPDATE pgblend_data.attached_table SET relation = 'pg_stats'::regclass")
    assert error.sqlstate == "42501"


def test_row_security_of_the_table_forbids_what_it_hides(committed: Database, connect_as) -> None:
    admin = Database(connect_as("pgblend_admin"))
    role = admin.connection.info.user
    committed.rows(ARTICLES)
    committed.rows(
        f"ALTER TABLE articles ENABLE ROW LEVEL SECURITY; GRANT ALL ON articles TO {role}"
    )
    error = admin.error("SELECT attach_table('articles', '{body}')")
    assert error.message_primary == f"row security hides rows of public.articles from {role}"


def test_writers_of_different_rows_do_not_meet(committed: Database) -> None:
    committed.rows(ARTICLES)
    committed.rows(ATTACH)
    with connect(committed.url) as first, connect(committed.url) as second:
        first.autocommit = second.autocommit = False
        first.execute("INSERT INTO articles (id, body) VALUES (1, 'walrus one')")
        second.execute("SET statement_timeout = '5s'")
        second.execute("INSERT INTO articles (id, body) VALUES (2, 'walrus two')")
        second.execute("UPDATE articles SET body = 'walrus deux' WHERE id = 2")
        second.commit()
        first.commit()
    assert found(committed, "walrus") == ["1", "2"]


@pytest.mark.extended
def test_many_writers_and_a_filler_end_in_agreement(committed: Database) -> None:
    committed.rows(ARTICLES)
    committed.rows(
        "INSERT INTO articles (id, body) SELECT g, 'walrus' FROM generate_series(1, 40) g"
    )
    committed.rows(ATTACH)
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with connect(committed.url) as connection:
                for turn in range(12):
                    connection.execute(
                        "UPDATE articles SET body = %s WHERE id %% 4 = %s OR id %% 7 = 0",
                        [f"zebra {number} {turn}", number],
                    )
        except psycopg.errors.DeadlockDetected:
            pass  # over rows of their own table: theirs, not ours
        except BaseException as error:
            errors.append(error)

    def fill() -> None:
        try:
            with connect(committed.url) as connection:
                for turn in range(12):
                    with contextlib.suppress(psycopg.errors.LockNotAvailable):
                        connection.execute("SELECT fill_table('articles', 10, %s)", [turn == 0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=[number]) for number in range(3)]
    threads.append(threading.Thread(target=fill))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert committed.rows(
        "SELECT a.id FROM articles AS a LEFT JOIN pgblend_data.document AS d"
        " ON d.source_key = a.id::text LEFT JOIN pgblend_data.chunk AS c ON c.document_id = d.id"
        " WHERE c.content IS DISTINCT FROM a.body"
    ) == []  # fmt: skip


def test_an_older_row_is_never_stored_over_a_newer_one(committed: Database) -> None:
    committed.rows(ARTICLES)
    committed.rows("INSERT INTO articles (id, body) VALUES (1, 'walrus')")
    committed.rows(ATTACH)
    with connect(committed.url) as writer, connect(committed.url) as filler:
        writer.autocommit = False
        writer.execute("UPDATE articles SET body = 'zebra'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            filler.execute("SELECT fill_table('articles', 10, true)")
        writer.commit()
        filler.execute("SELECT fill_table('articles', 10, true)")
    assert documents(committed) == [("1", "zebra")]


def test_columns_may_have_any_name(db: Database) -> None:
    names = ["r", "k", "s", "t", "source_key", "key", "select", 'a "b" %I $1 \'é', "metadata"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    db.rows('CREATE SCHEMA "S x"')
    table = '"S x"."T ""y"" %s \'z"'
    columns = ", ".join(f"{name} text" for name in quoted)
    db.rows(f'CREATE TABLE {table} ("I d" integer PRIMARY KEY, {columns})')
    db.rows(
        "SELECT attach_table(%s, text_columns => %s, title_column => 'r', metadata_columns => %s)",
        table, names, names,
    )  # fmt: skip
    values = ", ".join(f"'walrus {index}'" for index in range(len(names)))
    db.rows(f"INSERT INTO {table} VALUES (1, {values})")
    assert db.rows("SELECT title, metadata FROM lexical_search('walrus')") == [
        ("walrus 0", {name: f"walrus {index}" for index, name in enumerate(names)})
    ]
