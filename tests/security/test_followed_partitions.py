"""Partitions that come, go or are emptied: followed at once, or told by doctor and mended."""

import pytest

from support.database import Database

FOUND = "SELECT source_key::jsonb ->> 0 FROM lexical_search('merlin', 50) ORDER BY 1"
TOLD = "SELECT problem, mend FROM check_attached_tables()"
CAME = "partitions came, with rows that may not be indexed: "
ATTACH = "ALTER TABLE t ATTACH PARTITION far"
WENT = " partitions went: their rows are still found"
TRIGGERS = (
    "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname LIKE 'pgblend%%'"
    " AND tgenabled <> 'D' ORDER BY 1"
)
STATEMENTS = ["pgblend_delete", "pgblend_insert", "pgblend_truncate", "pgblend_update"]
# By number and year: t1 has a row, t2 has two partitions of its own, one of which has a row.
TABLES = """
    CREATE TABLE public.t (id int, y int, body text, PRIMARY KEY (id, y)) PARTITION BY LIST (y);
    CREATE TABLE public.t1 PARTITION OF public.t FOR VALUES IN (1);
    CREATE TABLE public.t2 PARTITION OF public.t FOR VALUES IN (2) PARTITION BY RANGE (id);
    CREATE TABLE public.t2a PARTITION OF public.t2 FOR VALUES FROM (0) TO (100);
    CREATE TABLE public.t2b PARTITION OF public.t2 FOR VALUES FROM (100) TO (200);
    INSERT INTO public.t VALUES (1, 1, 'merlin one'), (2, 2, 'merlin two');
    SELECT attach_table('t', '{body}');
    CREATE TABLE public.far (LIKE public.t INCLUDING ALL);
    INSERT INTO public.far VALUES (150, 3, 'merlin far');
"""


@pytest.fixture
def parted(db: Database) -> Database:
    db.rows(TABLES)
    assert (db.column(FOUND), db.rows(TOLD)) == (["1", "2"], [])
    return db


def mended(db: Database) -> list[str]:
    """Do what a worker does every twenty seconds; return what is found then."""
    for table, anew in db.rows("SELECT * FROM pgblend._stale_tables()"):
        while db.value("SELECT fill_table(%s, 500, %s)", table, anew):
            anew = False
    assert db.rows(TOLD) == []
    return db.column(FOUND)


@pytest.mark.parametrize(
    ("change", "told", "rest"),
    [
        (f"{ATTACH} FOR VALUES IN (3)", f"{CAME}public.far", ["1", "150", "2"]),
        (f"{ATTACH} DEFAULT", f"{CAME}public.far", ["1", "150", "2"]),
        ("ALTER TABLE t DETACH PARTITION t1", f"1{WENT}", ["2"]),
        ("DROP TABLE t1", f"1{WENT}", ["2"]),
        ("ALTER TABLE t DETACH PARTITION t2", f"3{WENT}", ["1"]),
        ("DROP TABLE t2a", f"1{WENT}", ["1"]),
        ("ALTER TABLE t2 DETACH PARTITION t2a", f"1{WENT}", ["1"]),
        (
            f"ALTER TABLE t DETACH PARTITION t1;{ATTACH} FOR VALUES IN (3)",
            f"{CAME}public.far, and 1{WENT}",
            ["150", "2"],
        ),
        (
            "UPDATE far SET y = 2; ALTER TABLE t2 DETACH PARTITION t2b;"
            "ALTER TABLE t2 ATTACH PARTITION far FOR VALUES FROM (100) TO (200)",
            f"{CAME}public.far, and 1{WENT}",
            ["1", "150", "2"],
        ),
        (
            f"{ATTACH} FOR VALUES IN (3); TRUNCATE far",
            f"{CAME}public.far",
            ["1", "2"],
        ),
        (
            "CREATE TABLE public.t4 PARTITION OF t FOR VALUES IN (4);"
            "INSERT INTO t4 VALUES (4, 4, 'merlin'); TRUNCATE t4",
            f"{CAME}public.t4",
            ["1", "2"],
        ),
    ],
)
def test_what_comes_or_goes_is_told_and_mended(
    parted: Database, change: str, told: str, rest: list[str]
) -> None:
    parted.rows(change)
    assert parted.rows(TOLD) == [
        (told, "run: pgblend worker, or once: pgblend table fill t --anew")
    ]
    assert mended(parted) == rest


@pytest.mark.parametrize(
    ("change", "rest"),
    [
        ("TRUNCATE t1", ["2"]),
        ("TRUNCATE t2", ["1"]),
        ("TRUNCATE t2a", ["1"]),
        ("TRUNCATE t", []),
        ("TRUNCATE ONLY t2a", ["1"]),
        ("TRUNCATE owners CASCADE", []),
        ("SET LOCAL session_replication_role = replica; TRUNCATE t1", ["2"]),
        ("DELETE FROM t2a", ["1"]),
        ("UPDATE t SET y = 1 WHERE id = 2", ["1", "2"]),
        ("UPDATE t SET body = 'gone' WHERE id = 2", ["1"]),
        ("SET LOCAL session_replication_role = replica; DELETE FROM t1", ["2"]),
        ("COPY t2a FROM {row}", ["1", "2", "7"]),
        ("SET LOCAL session_replication_role = replica; COPY t2a FROM {row}", ["1", "2", "7"]),
        ("SET LOCAL session_replication_role = replica; COPY t FROM {row}", ["1", "2", "7"]),
        # A partition that came is followed at once in what is written to it.
        (
            "CREATE TABLE public.t4 PARTITION OF t DEFAULT;INSERT INTO t4 VALUES (4, 4, 'merlin')",
            ["1", "2", "4"],
        ),
        (
            "DROP TABLE t2b; CREATE TABLE public.t2c PARTITION OF t2 DEFAULT;"
            "INSERT INTO t2c VALUES (400, 2, 'merlin'); DELETE FROM t2a",
            ["1", "400"],
        ),
    ],
)
def test_what_is_written_is_followed_at_once(
    parted: Database, change: str, rest: list[str]
) -> None:
    row = "PROGRAM $$printf '7\\t2\\tmerlin\\n'$$"
    parted.rows(
        "CREATE TABLE public.owners (id int PRIMARY KEY); INSERT INTO owners VALUES (1), (2), (3);"
        "ALTER TABLE t ADD FOREIGN KEY (y) REFERENCES owners"
        if "CASCADE" in change
        else "SELECT"
    )
    parted.rows(change.format(row=row))
    parted.rows("SET LOCAL session_replication_role = origin")
    assert parted.column(FOUND) == rest


def test_statements_are_followed_by_their_transition_tables(parted: Database) -> None:
    """A row's own trigger takes ten times as long: it is asleep where statements are followed."""
    assert parted.value("SELECT row_level FROM attached_tables") is False
    for relation in ("t1", "t2a", "t2b"):
        assert parted.column(TRIGGERS, relation) == STATEMENTS
    parted.rows(f"{ATTACH} FOR VALUES IN (3)")
    assert parted.column(TRIGGERS, "far") == ["pgblend_rows"]
    mended(parted)
    assert parted.column(TRIGGERS, "far") == STATEMENTS


def test_a_partition_that_went_has_no_trigger_left(parted: Database) -> None:
    parted.rows("ALTER TABLE t DETACH PARTITION t1")
    parted.warnings()
    parted.rows("INSERT INTO t1 VALUES (9, 1, 'merlin')")  # no warning: it is no part any more
    assert parted.warnings() == []
    mended(parted)
    assert parted.column(TRIGGERS, "t1") == []
    parted.rows("ALTER TABLE t DETACH PARTITION t2")
    parted.rows("SELECT detach_table('t')")
    left = "SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgname LIKE 'pgblend%%'"
    assert parted.rows(f"{left} AND tgfoid::regproc::text LIKE 'pgblend._table%%'") == []


def test_triggers_of_others_by_our_names_stay(parted: Database) -> None:
    """What is taken off a partition that went is known by its function, too."""
    parted.rows(
        "CREATE FUNCTION public.mine() RETURNS trigger"
        " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "DROP TRIGGER pgblend_insert ON t1;"
        "CREATE TRIGGER pgblend_insert AFTER INSERT ON t1 EXECUTE FUNCTION public.mine('1');"
        "ALTER TABLE t DETACH PARTITION t1"
    )
    mended(parted)
    assert parted.column(TRIGGERS, "t1") == ["pgblend_insert"]


def test_what_statements_do_not_tell_is_followed_by_rows(db: Database) -> None:
    """PostgreSQL gives no transition rows of foreign tables; a partition has parents."""
    db.rows(
        "CREATE TABLE public.u (id int, y int, body text) PARTITION BY LIST (y);"
        "CREATE TABLE public.u1 PARTITION OF public.u FOR VALUES IN (1);"
        "CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER s FOREIGN DATA WRAPPER nowhere"
    )
    needed = "SELECT pgblend._needs_row_triggers(%s::regclass)"
    assert [db.value(needed, name) for name in ("public.u", "public.u1")] == [False, True]
    db.rows("CREATE FOREIGN TABLE public.u2 PARTITION OF public.u FOR VALUES IN (2) SERVER s")
    assert db.value(needed, "public.u") is True
