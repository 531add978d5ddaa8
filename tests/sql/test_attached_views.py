"""A view with a key as a collection: its rows come, change and go by fill_table, and it says so."""

from collections.abc import Callable

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from support.database import Database

VIEW = """
    CREATE TABLE public.books (id int PRIMARY KEY, title text, body text, author int);
    CREATE TABLE public.authors (id int PRIMARY KEY, name text);
    INSERT INTO authors VALUES (1, 'Ann'), (2, 'Bob');
    INSERT INTO books
    SELECT g, 'B' || g, 'walrus ' || g, 1 + g % 2 FROM generate_series(1, 30) AS g;
    CREATE VIEW public.shelf AS SELECT b.id AS book, b.title, b.body, a.name AS author
    FROM books AS b INNER JOIN authors AS a ON b.author = a.id
"""
ATTACH = """
    SELECT rows_filled, filled FROM attach_table('shelf', '{body}', 'title', '{author}',
        key_columns => '{book}', row_filter => 'book <> 13')
"""


def found(db: Database, word: str) -> list[str]:
    return sorted(db.column("SELECT source_key FROM lexical_search(%s, 100)", word))


def fill(db: Database) -> None:
    db.rows("SELECT fill_table('shelf', 20, anew => true)")
    while db.value("SELECT fill_table('shelf', 20)"):
        pass


def test_a_view_is_filled_and_filled_again(db: Database) -> None:
    db.rows(VIEW)
    assert db.rows(ATTACH) == [(29, True)]
    told = [str(text) for severity, text in db.notices if severity == "NOTICE"]
    assert any("is a view, whose changes nothing tells" in text for text in told)
    assert found(db, "walrus") == sorted(str(n) for n in range(1, 31) if n != 13)
    assert db.rows("SELECT * FROM check_attached_tables()") == []
    db.rows("UPDATE books SET body = 'seal' WHERE id = 7")
    db.rows("DELETE FROM books WHERE id = 8")
    db.rows("INSERT INTO books VALUES (31, 'B31', 'a seal swims', 1)")
    assert (found(db, "seal"), "8" in found(db, "walrus")) == ([], True)
    assert "1 rows are not indexed, 1 documents have no row" in str(
        db.row("SELECT problem, mend FROM check_attached_tables()")
    )
    fill(db)
    assert (found(db, "seal"), "8" in found(db, "walrus")) == (["31", "7"], False)
    assert db.rows("SELECT * FROM check_attached_tables()") == []
    key = "SELECT metadata ->> 'author' FROM documents WHERE source_key = '31'"
    assert db.value(key) == "Ann"
    assert db.value("SELECT detach_table('shelf')") == 29


def test_rows_that_come_to_share_a_key_or_have_none(db: Database) -> None:
    db.rows(VIEW)
    attach = "SELECT attach_table('shelf', '{body}', key_columns => '{author}')"
    assert "15 rows of the view" in str(db.error(attach).message_primary)
    db.rows(attach.replace("{author}", "{book}"))
    view = "CREATE OR REPLACE VIEW public.shelf AS SELECT {}, title, body, 'x' AS author FROM books"
    db.rows(view.format("7 AS book"))
    told = str(db.error("SELECT fill_table('shelf', 20, anew => true)").message_primary)
    assert "have the key '7': expected one row for each key" in told
    db.rows(view.format("nullif(id, 30) AS book"))
    assert db.value("SELECT fill_table('shelf', 20, anew => true)") == 20
    assert db.value("SELECT fill_table('shelf', 9)") == 9
    told = str(db.error("SELECT fill_table('shelf', 9)").message_primary)
    assert "have the key NULL: expected one row for each key" in told


def test_the_command_looks_at_all_of_a_view(committed: Database) -> None:
    committed.rows(VIEW)
    words = ["--database-url", committed.url, "table"]
    attach = ["attach", "shelf", "--text", "body", "--key", "book"]
    made = CliRunner().invoke(cli, [*words, *attach])
    assert made.exit_code == 0, made.output
    assert "hint: after changes, or every hour: pgblend table fill shelf" in made.stderr
    committed.rows("UPDATE books SET body = 'seal' WHERE id = 7")
    filled = CliRunner().invoke(cli, [*words, "fill", "shelf"])
    assert filled.exit_code == 0, filled.output
    assert found(committed, "seal") == ["7"]


@pytest.mark.parametrize("invoker", ["", "WITH (security_invoker = true) "])
def test_a_view_of_others_is_refused(
    committed: Database, connect_as: Callable[..., psycopg.Connection], invoker: str
) -> None:
    """Its owner may see more than whoever attaches it."""
    committed.rows(VIEW)
    committed.rows(f"CREATE VIEW public.secret {invoker}AS SELECT id, body FROM books")
    admin = Database(connect_as("pgblend_admin"))
    committed.rows(f"GRANT SELECT ON secret TO {admin.connection.info.user}")
    call = "SELECT attach_table('secret', '{body}', key_columns => '{id}')"
    assert "expected a table of a role that" in str(admin.error(call).message_primary)


def test_code_in_a_view_has_its_owner_s_rights(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    owner = Database(connect_as("pg_monitor"))
    role = owner.connection.info.user
    committed.rows(f"GRANT CREATE ON SCHEMA public TO {role}")
    owner.rows("CREATE FUNCTION public.whose() RETURNS text LANGUAGE sql VOLATILE"
               " AS 'SELECT current_user::text'")  # fmt: skip
    owner.rows("CREATE VIEW public.mine AS SELECT 1 AS id, public.whose() AS body")
    committed.rows("SELECT attach_table('mine', '{body}', key_columns => '{id}')")
    assert committed.column("SELECT content FROM chunks") == [role]
