"""Tables of a shop that collections follow: rows by a condition, texts of HTML, other columns."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database

PRODUCTS = """
    CREATE TYPE public.state AS ENUM ('shown', 'hidden');
    CREATE TABLE public.products (
        id bigint PRIMARY KEY, name text, body text, deleted boolean NOT NULL DEFAULT false,
        state public.state NOT NULL DEFAULT 'shown', stock integer NOT NULL DEFAULT 0,
        made timestamptz NOT NULL DEFAULT '2024-05-01')
"""
ROWS = """
    INSERT INTO products (id, name, body, deleted) VALUES
        (1, 'Chair', '<h2>Oak &amp; ash</h2><p>A <b>red</b>wood chair.</p><script>zebra</script>',
         false),
        (2, 'Table', '<p>An oak table.</p>', true), (3, 'Lamp', '<p hidden>gnu</p>', false)
"""
ATTACH = """
    SELECT rows_filled FROM attach_table('products', '{body}', 'name', collection => 'shop',
        row_filter => 'NOT deleted', text_format => 'html')
"""


@pytest.fixture
def shop(db: Database) -> Database:
    """An attached table with three rows, of which one is deleted."""
    db.rows(PRODUCTS)
    db.rows(ROWS)
    assert db.column(ATTACH) == [2]
    return db


def found(db: Database, word: str) -> list[str]:
    return sorted(db.column("SELECT source_key FROM lexical_search(%s, 100)", word))


def problems(db: Database) -> list[str]:
    return db.column("SELECT problem FROM check_attached_tables()")


def test_rows_come_and_go_with_their_condition(shop: Database) -> None:
    assert (found(shop, "oak"), problems(shop)) == (["1"], [])
    shop.rows("UPDATE products SET deleted = NOT deleted WHERE id IN (1, 2)")
    assert found(shop, "oak") == ["2"]
    shop.rows(
        "INSERT INTO products (id, body, deleted) VALUES (4, 'A cupboard, oak', true),"
        " (5, 'Carpets for floors of oak', false)"
    )
    assert found(shop, "oak") == ["2", "5"]
    shop.rows("SELECT fill_table('products', 1, true)")
    while shop.value("SELECT fill_table('products', 1)"):
        pass
    assert (found(shop, "oak"), problems(shop)) == (["2", "5"], [])
    shop.rows("SELECT attach_table('products', '{body}', 'name', text_format => 'html')")
    assert found(shop, "oak") == ["1", "2", "4", "5"]


def test_html_is_what_a_reader_sees(shop: Database) -> None:
    assert shop.rows("SELECT content FROM lexical_search('redwood')") == [
        ("Oak & ash\n\nA redwood chair.",)
    ]
    assert (found(shop, "zebra"), found(shop, "gnu"), found(shop, "lamp")) == ([], [], ["3"])
    error = shop.error("SELECT attach_table('products', '{body}', text_format => 'pdf')")
    assert error.message_primary == "text_format is pdf: expected plain or html"
    assert error.message_hint == (
        "Columns of products: id, name, body, deleted, state, stock, made."
    )


def test_titles_of_html(shop: Database) -> None:
    written = {
        "<i>Ox</i> &amp; <span class='x'>the <b>plough</b></span>": "Ox & the plough",
        "The <canvas> element, R&D": "The <canvas> element, R&D",
        "vector<int> <br/> a < b": "vector<int> a < b",
    }
    for number, title in enumerate(written, 10):
        shop.rows("INSERT INTO products VALUES (%s, %s, '<p> </p>')", number, title)
    shown = "SELECT title FROM lexical_search(%s, 1)"
    assert [shop.value(shown, word) for word in ("plough", "canvas", "vector")] == [
        *written.values()
    ]
    assert shop.value("SELECT content FROM lexical_search('plough')") == "Ox & the plough"


@pytest.mark.parametrize(
    ("condition", "rows"),
    [("state = 'shown'", 3), ("made > '2024-04-30 23:00+00' AND id IN (1, 3)", 2),
     ("lower(name) LIKE 'l%%' -- lamps", 1), ("true", 3)],
)  # fmt: skip
def test_conditions(db: Database, condition: str, rows: int) -> None:
    db.rows(PRODUCTS)
    db.rows(ROWS)
    attach = "SELECT rows_filled FROM attach_table('products', '{body}', row_filter => %s)"
    assert db.column(attach, condition.replace("%%", "%")) == [rows]
    db.rows("UPDATE products SET state = 'hidden', name = 'x', made = '2020-01-01' WHERE id = 3")
    assert problems(db) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [("made > now()", "must be marked IMMUTABLE"), ("nope", 'column "nope" does not exist'),
     ("id IN (SELECT 1)", "cannot use subquery"), ("id", "must be type boolean"),
     ("true); DROP TABLE products; --", "syntax error|multi-query"),
     ("public.mine(id)", "uses function"), ("", "syntax error")],
)  # fmt: skip
def test_what_is_no_condition(db: Database, condition: str, message: str) -> None:
    db.rows(PRODUCTS)
    db.rows("CREATE FUNCTION public.mine(bigint) RETURNS boolean IMMUTABLE LANGUAGE sql"
            " AS 'SELECT true'")  # fmt: skip
    said = str(
        db.error(
            "SELECT attach_table('products', '{body}', row_filter => %s)", condition
        ).message_primary
    )
    assert any(part in said for part in message.split("|")), said
    assert db.value("SELECT count(*) FROM products") == 0


def test_a_condition_never_gets_the_rights_of_another_owner(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    """Who asks a routine of ours past attach_table writes any condition; it runs as that role."""
    admin = Database(connect_as("pgblend_admin"))
    role = admin.connection.info.user
    committed.rows(PRODUCTS)
    committed.rows(f"ALTER TABLE products OWNER TO {role}; GRANT CREATE ON SCHEMA public TO {role}")
    admin.rows(
        "CREATE FUNCTION public.pwn() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
        f" EXECUTE 'ALTER ROLE {role} SUPERUSER'; RETURN true; EXCEPTION WHEN OTHERS THEN"
        " RETURN true; END $$"
    )
    admin.rows(
        "SELECT blend.attach_table('public.products', '{body}', row_filter => 'NOT deleted')"
    )
    admin.rows(
        "SELECT pgblend._keep_attachment(jsonb_populate_record(to_jsonb_row.a,"
        ' \'{"row_filter": "public.pwn()"}\')) FROM (SELECT a FROM pgblend_data.attached_table'
        " AS a) AS to_jsonb_row"
    )
    admin.rows("INSERT INTO public.products (id, body) VALUES (1, 'walrus')")
    committed.rows(f"ALTER TABLE products OWNER TO {committed.value('SELECT current_user')}")
    committed.rows("INSERT INTO products (id, body) VALUES (2, 'walrus')")
    assert problems(committed) == [
        "public.products has another owner than when its row filter was written: changes are not"
        " followed"
    ]
    assert not committed.value("SELECT rolsuper FROM pg_roles WHERE rolname = %s", role)


def test_stock_alone_reads_no_row_again(shop: Database) -> None:
    """The trigger compares columns; reading the table again would be an error here."""
    reader = shop.value(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'pgblend_data'::regnamespace"
        " AND prorettype = 'pgblend_data.attached_row'::regtype"
    )
    shop.rows(f"ALTER FUNCTION pgblend_data.{reader} RENAME TO gone")
    shop.rows("CREATE FUNCTION public.no() RETURNS event_trigger LANGUAGE plpgsql AS"
              " $$ BEGIN RAISE EXCEPTION 'read again'; END $$")  # fmt: skip
    shop.rows("CREATE EVENT TRIGGER no ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION')"
              " EXECUTE FUNCTION public.no()")  # fmt: skip
    shop.rows("UPDATE products SET stock = stock + 1, body = body")
    assert shop.error("UPDATE products SET body = 'x'").message_primary == "read again"
