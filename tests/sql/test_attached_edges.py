"""Foreign keys of attached tables as edges: whichever row comes first, whatever becomes of it."""

import pytest

from support.database import Database

TABLES = """
    CREATE TABLE public.authors (
        id integer PRIMARY KEY, boss integer, body text, code text UNIQUE,
        CONSTRAINT has_boss FOREIGN KEY (boss) REFERENCES public.authors (id) ON DELETE SET NULL);
    CREATE TABLE public.books (
        id integer PRIMARY KEY, author bigint, editor integer, code text, body text,
        CONSTRAINT "written 'by" FOREIGN KEY (author) REFERENCES public.authors (id)
            ON UPDATE CASCADE DEFERRABLE,
        CONSTRAINT edited_by FOREIGN KEY (editor) REFERENCES public.authors (id) ON UPDATE CASCADE,
        CONSTRAINT of_code FOREIGN KEY (code) REFERENCES public.authors (code));
    INSERT INTO authors VALUES (1, NULL, 'ann', '2'), (2, 1, 'bob', '3'), (3, 3, 'cas', NULL);
    INSERT INTO books VALUES (1, 1, NULL, NULL, 'a'), (2, NULL, NULL, '2', 'b'),
        (3, 2, 2, NULL, 'c')
"""
WRITTEN, EDITED = "written 'by", "edited_by"
BOSS = ("authors:2", "authors:1", ["has_boss"])
ALL = [BOSS, ("books:1", "authors:1", [WRITTEN]), ("books:3", "authors:2", [EDITED, WRITTEN])]


@pytest.fixture
def library(db: Database) -> Database:
    """Two tables, neither of them attached."""
    db.rows(TABLES)
    return db


@pytest.fixture
def attached(library: Database) -> Database:
    """Both attached, the referencing one first."""
    attach(library, "books", "authors")
    return library


def attach(db: Database, *tables: str) -> None:
    for table in tables:
        db.rows("SELECT attach_table('public.' || %s, '{body}')", table)


def edges(db: Database) -> list[tuple]:
    """Each edge that has both its rows, by collection and source key; nothing else may be there."""
    rows = db.rows("""
        SELECT s.name || ':' || a.source_key, t.name || ':' || b.source_key,
            e.metadata -> 'constraints', e.is_reverse
        FROM pgblend_data.edge AS e
        JOIN pgblend_data.document AS a
            ON a.id * 4 = CASE WHEN e.is_reverse THEN e.neighbour ELSE e.node END
        JOIN pgblend_data.document AS b
            ON b.id * 4 = CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END
        JOIN pgblend_data.collection AS s ON s.id = a.collection_id
        JOIN pgblend_data.collection AS t ON t.id = b.collection_id
        WHERE e.edge_type = 'foreign_key' AND e.origin = 'key' AND e.document_id = a.id
            AND (e.collection_id, e.neighbour_collection_id) = CASE WHEN e.is_reverse
                THEN (b.collection_id, a.collection_id) ELSE (a.collection_id, b.collection_id) END
        ORDER BY 1, 2, 4""")
    assert len(rows) == db.value("SELECT count(*) FROM pgblend_data.edge")
    assert [r[:3] for r in rows[::2]] == [r[:3] for r in rows[1::2]]
    return [r[:3] for r in rows[::2]]


@pytest.mark.parametrize("order", [("books", "authors"), ("authors", "books")])
def test_either_table_may_be_attached_first(library: Database, order: tuple[str, str]) -> None:
    """books:2 references another column than the key, with a value that is somebody's key too."""
    attach(library, order[0])
    assert edges(library) == ([BOSS] if order[0] == "authors" else [])
    attach(library, order[1])
    assert edges(library) == ALL
    attach(library, *order)  # anew
    assert edges(library) == ALL
    assert library.value(
        "SELECT count(*) FROM graph_neighbors(graph_node('authors', '1'), direction => 'in')"
    ) == 2  # fmt: skip


def test_detaching_takes_edges_away_and_attaching_brings_them_back(attached: Database) -> None:
    attached.rows("SELECT detach_table('public.authors')")
    assert edges(attached) == []
    attach(attached, "authors")
    assert edges(attached) == ALL
    attached.rows("SELECT detach_table('public.books')")
    assert edges(attached) == [BOSS]


def test_a_changed_key_leads_elsewhere(attached: Database) -> None:
    attached.rows("UPDATE books SET author = 2 WHERE id = 1")
    assert edges(attached) == [BOSS, ("books:1", "authors:2", [WRITTEN]), ALL[2]]
    attached.rows("UPDATE books SET author = NULL")
    assert edges(attached) == [BOSS, ("books:3", "authors:2", [EDITED])]
    attached.rows("UPDATE books SET author = 2, body = 'x' WHERE id = 3")
    assert edges(attached) == [BOSS, ALL[2]]
    attached.rows("UPDATE books SET id = 9 WHERE id = 3")
    assert edges(attached) == [BOSS, ("books:9", "authors:2", [EDITED, WRITTEN])]
    attached.rows("DELETE FROM books WHERE id = 9")
    assert edges(attached) == [BOSS]


def test_a_cascading_change_of_the_referenced_key(attached: Database) -> None:
    attached.rows("UPDATE authors SET id = 20 WHERE id = 2")
    assert edges(attached) == [
        ("authors:20", "authors:1", ["has_boss"]), ALL[1],
        ("books:3", "authors:20", [EDITED, WRITTEN]),
    ]  # fmt: skip


def test_a_referenced_row_goes_and_returns(attached: Database) -> None:
    with attached.connection.transaction():
        attached.rows("ALTER TABLE books DROP CONSTRAINT edited_by, DROP CONSTRAINT of_code")
        attached.rows("SET CONSTRAINTS ALL DEFERRED")
        attached.rows("UPDATE books SET body = body || '!'")
        attached.rows("UPDATE authors SET boss = NULL")
        assert edges(attached) == [ALL[1], ("books:3", "authors:2", [WRITTEN])]
        attached.rows("DELETE FROM authors WHERE id = 1")
        assert edges(attached) == [("books:3", "authors:2", [WRITTEN])]
        attached.rows("INSERT INTO authors VALUES (1, 2, 'anna')")
        attached.rows("INSERT INTO books VALUES (4, 7)")
        attached.rows("INSERT INTO authors VALUES (7, 7, 'early')")
    assert edges(attached) == [
        ("authors:1", "authors:2", ["has_boss"]), ALL[1],
        ("books:3", "authors:2", [WRITTEN]), ("books:4", "authors:7", [WRITTEN]),
    ]  # fmt: skip


def test_truncate_and_rollback(attached: Database) -> None:
    with attached.connection.transaction(force_rollback=True):
        attached.rows("TRUNCATE books")
        assert edges(attached) == [BOSS]
        attached.rows("TRUNCATE authors CASCADE")
        assert edges(attached) == []
        assert attached.value("SELECT count(*) FROM pgblend_data.key_reference") == 0
    assert edges(attached) == ALL


def test_rows_that_reference_each_other_in_one_statement(attached: Database) -> None:
    attached.rows("INSERT INTO authors VALUES (10, 11, 'x'), (11, 10, 'y'), (12, 12, 'self')")
    assert edges(attached)[:3] == [
        ("authors:10", "authors:11", ["has_boss"]), ("authors:11", "authors:10", ["has_boss"]),
        BOSS,
    ]  # fmt: skip


def test_composite_keys_of_odd_types_and_partitions(db: Database) -> None:
    """Columns of the foreign key are in another order, of other types, and partly NULL."""
    db.rows("""
        CREATE TABLE public.days (d date, n numeric(6, 2), "o'k" text, PRIMARY KEY (d, n))
            PARTITION BY RANGE (d);
        CREATE TABLE public.days_1 PARTITION OF public.days DEFAULT;
        CREATE TABLE public.notes (day date PRIMARY KEY, n integer, body text,
            CONSTRAINT on_day FOREIGN KEY (n, day) REFERENCES public.days (n, d));
        CREATE TABLE public.remarks (id integer PRIMARY KEY, day date, body text,
            FOREIGN KEY (day) REFERENCES public.notes (day)) PARTITION BY HASH (id);
        CREATE TABLE public.remarks_1 PARTITION OF public.remarks
            FOR VALUES WITH (MODULUS 1, REMAINDER 0);
        SET LOCAL datestyle = 'SQL, DMY';
        SELECT attach_table('public.remarks', '{body}');
        SELECT attach_table('public.notes', '{body}');
        SELECT attach_table('public.days', '{"o''k"}');
        INSERT INTO days VALUES ('31/12/2024', 1.5, 'x'), ('31/12/2024', 2, 'y');
        INSERT INTO notes VALUES ('31/12/2024', 2, 'n'), ('01/01/2025', NULL, 'null');
        INSERT INTO remarks VALUES (1, '31/12/2024', 'r'), (2, NULL, 'null')""")
    assert edges(db) == [
        ("notes:2024-12-31", 'days:["2024-12-31", 2.00]', ["on_day"]),
        ("remarks:1", "notes:2024-12-31", ["remarks_day_fkey"]),
    ]
    db.rows("UPDATE notes SET n = NULL")
    assert edges(db) == [("remarks:1", "notes:2024-12-31", ["remarks_day_fkey"])]


def test_a_foreign_key_that_comes_later_is_found_by_filling_anew(attached: Database) -> None:
    check = "SELECT * FROM check_attached_tables()"
    assert attached.rows(check) == []
    attached.rows("ALTER TABLE books DROP CONSTRAINT edited_by")
    attached.rows("ALTER TABLE books ADD CONSTRAINT later FOREIGN KEY (id) REFERENCES authors (id)")
    assert attached.rows(check) == [(
        "public.books",
        "foreign keys came that older rows have no edges of: later, and "
        "foreign keys went that older rows have edges of: edited_by",
        "run: pgblend table fill books --anew",
    )]  # fmt: skip
    attached.rows("SELECT fill_table('public.books', anew => true)")
    assert [row[1] for row in attached.rows(check)] == ["not all rows are in yet"]
    attached.rows("SELECT fill_table('public.books')")
    assert attached.rows(check) == []
    assert edges(attached) == [
        BOSS, ("books:1", "authors:1", ["later", WRITTEN]),
        ("books:2", "authors:2", ["later"]), ("books:3", "authors:2", [WRITTEN]),
        ("books:3", "authors:3", ["later"]),
    ]  # fmt: skip


def test_an_invalid_reference_that_fits_no_key_stops_nothing(attached: Database) -> None:
    attached.rows("ALTER TABLE books DROP CONSTRAINT edited_by, ADD COLUMN big bigint")
    attached.rows("UPDATE books SET big = 5000000000 + id")
    attached.rows("ALTER TABLE books ADD CONSTRAINT big FOREIGN KEY (big) REFERENCES authors (id)"
                  " NOT VALID")  # fmt: skip
    attached.rows("SELECT fill_table('public.books', anew => true)")
    assert edges(attached) == [BOSS, ALL[1], ("books:3", "authors:2", [WRITTEN])]


def test_edges_are_seen_only_with_both_ends(attached: Database) -> None:
    """Who writes the table needs no right on either collection."""
    reader, writer = "fkeys_reader", "fkeys_writer"
    with attached.connection.transaction(force_rollback=True):
        attached.rows(f"CREATE ROLE {reader} IN ROLE pgblend_reader; CREATE ROLE {writer}")
        attached.rows(f"GRANT INSERT ON authors, books TO {writer}; SET LOCAL ROLE {writer}")
        attached.rows("INSERT INTO authors VALUES (30, 1, 'z')")
        attached.rows("INSERT INTO books VALUES (30, 30)")
        attached.rows("RESET ROLE")
        assert ("books:30", "authors:30", [WRITTEN]) in edges(attached)
        attached.rows("SELECT grant_collection('books', %s, 'read')", reader)
        seen = "SELECT count(*) FROM blend.edges"
        attached.rows(f"SET LOCAL ROLE {reader}")
        assert attached.value(seen) == 0
        attached.rows("RESET ROLE")
        attached.rows("SELECT grant_collection('authors', %s, 'read')", reader)
        attached.rows(f"SET LOCAL ROLE {reader}")
        assert attached.value(seen) == 5
