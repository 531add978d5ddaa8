"""Settings of a session change how texts are parsed and printed, not what is stored or allowed."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from support.database import Database, add_documents, add_space, embed_waiting

pytestmark = pytest.mark.extended

ODD = {
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "quote_all_identifiers": "on",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "TimeZone": "Pacific/Apia",
    "xmlbinary": "hex",
}
# PostgreSQL 19 knows standard strings alone, and refuses to turn them off.
ONLY_BEFORE_19 = ("standard_conforming_strings", "escape_string_warning")
# Each condition keeps the first row alone, in every session.
FILTERS = {
    "a backslash": r"name = E'a\\b'",
    "a backslash before a quote": r"name IN (E'a\\b', E'\\') OR name = ' OR true --'",
    "a float": "f = 0.30000000000000004",
    "an array with NULL": "names IS NOT DISTINCT FROM '{NULL,x}'",
    "NULL": "NOT (coalesce(other = NULL, false)) AND id = 1",
    "bytes": r"b = E'\\x5c78'",
    "a moment": "at = '2020-03-04 05:06+00' AND d = '2020-03-04' AND span = '-1 day -2 hours'",
}
TABLE = r"""
    CREATE TABLE public.things (
        id int PRIMARY KEY, body text, name text, other int, f float8, names text[], b bytea,
        at timestamptz, d date, span interval);
    INSERT INTO public.things VALUES (
        1, 'apple', E'a\\b', NULL, 0.30000000000000004, ARRAY[NULL, 'x'], '\x5c78',
        '2020-03-04 05:06Z', '2020-03-04', '-1 day -2 hours'), (
        2, 'apple', 'b', NULL, 0.3, ARRAY['NULL', 'x'], '\x5c', '2020-04-03 05:06Z', '2020-04-03',
        '-1 day +2 hours')
"""
ATTACH = """
    SELECT attach_table('things', '{body}', 'name', '{f,names,b,at,d,span,other}',
        row_filter => %s)
"""
STORED = "SELECT source_key, title, metadata FROM documents ORDER BY source_key"


def is_taken(connection: psycopg.Connection, setting: str) -> bool:
    return connection.info.server_version < 190_000 or setting not in ONLY_BEFORE_19


def make_odd(db: Database, settings: dict[str, str] = ODD) -> None:
    for name, value in settings.items():
        if is_taken(db.connection, name):
            db.rows("SELECT set_config(%s, %s, false)", name, value)


READERS = "SELECT oid FROM pg_proc WHERE proname LIKE '_read_attached_%'"


def fill(db: Database) -> None:
    db.rows("SELECT fill_table('things', 500, true)")
    while db.value("SELECT fill_table('things')"):
        pass


@pytest.mark.parametrize("attached_in", ["plain", "odd"])
@pytest.mark.parametrize("condition", FILTERS.values(), ids=FILTERS.keys())
def test_a_row_filter_means_the_same_in_every_session(
    db: Database, condition: str, attached_in: str
) -> None:
    db.rows(TABLE)
    if attached_in == "odd":
        make_odd(db)
    db.rows(ATTACH, condition)
    stored = db.rows(STORED)
    assert [key for key, *_ in stored] == ["1"]
    readers = db.column(READERS)
    make_odd(db)
    db.rows("UPDATE things SET name = name || '', other = 1")
    db.rows("UPDATE things SET other = NULL")
    fill(db)
    assert db.rows(STORED) == stored
    assert db.rows("SELECT problem FROM check_attached_tables()") == []
    for name in ODD:
        db.rows(f'RESET "{name}"')
    fill(db)
    assert db.rows(STORED) == stored
    assert db.column(READERS) == readers


def test_text_of_money_has_no_meaning_of_its_own(db: Database) -> None:
    db.rows("CREATE TABLE public.priced (id int PRIMARY KEY, body text, price money)")
    attach = "SELECT attach_table('priced', '{body}', row_filter => 'price > ''$3'' ')"
    assert 'column "price" does not exist' in (db.error(attach).message_primary or "")


def test_tables_of_pgblend_are_not_attached_whatever_names_look_like(db: Database) -> None:
    make_odd(db, {"quote_all_identifiers": "on"})
    for table in ("pgblend_data.document", "pg_catalog.pg_authid"):
        refused = db.error("SELECT attach_table(%s, '{x}')", table)
        assert "is not a user's table" in (refused.message_primary or "")
        problem = "SELECT pgblend._not_attachable(current_user, %s::regclass)"
        assert "is not a user's table" in db.value(problem, table)


def test_a_database_with_odd_settings_is_migrated_and_searched(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as admin:
        for name, value in ODD.items():
            if is_taken(admin, name):
                admin.execute(
                    f"ALTER DATABASE {admin.info.dbname} SET \"{name}\" = '{value}'"  # type: ignore[arg-type]
                )
    for arguments in (["migrate", "up"], ["migrate", "status"], ["search", "x"], ["doctor"]):
        result = CliRunner().invoke(cli, ["--database-url", url, *arguments])
        assert "string literal" not in result.output, arguments
        assert "routines differ" not in result.output
        assert result.exit_code in ((0, 1) if arguments == ["doctor"] else (0,)), result.output
    with psycopg.connect(url, autocommit=True) as odd:
        odd.execute("SELECT blend.add_collection('docs')")
        odd.execute(
            "SELECT blend.ingest_document('docs', 'a.md', %s)", [r"# Deploy \d a\b v1.2 日本語"]
        )
        for query in (r"a\b", "deploy", "日本語", 'deploy -"zebra lion"'):
            found = odd.execute("SELECT source_key FROM blend.lexical_search(%s)", [query])
            assert found.fetchall() == [("a.md",)], query


# What else a session may change, and nothing depends on.
CHANGED = (
    *(f"{name} = '{value}'" for name, value in ODD.items()),
    "client_encoding = 'LATIN1'", "default_text_search_config = 'german'",
    "plan_cache_mode = force_generic_plan", "enable_hashjoin = off", "enable_seqscan = off",
    "jit = on", "check_function_bodies = off", "work_mem = '64kB'", "lc_monetary = 'C'",
    "search_path = public, blend, pg_catalog", "constraint_exclusion = on", "geqo_threshold = 2",
    "from_collapse_limit = 1", "parallel_setup_cost = 0", "escape_string_warning = off",
)  # fmt: skip
ORDERS = r"""
    CREATE TABLE public.orders (
        day date, amount numeric(8, 2), moment timestamptz, ratio double precision, span interval,
        raw bytea, "Own Name" text, body text, tags text[], gone boolean,
        PRIMARY KEY (day, amount));
    INSERT INTO orders VALUES
        ('2024-12-31', 1.5, '2024-12-31 22:00+00', 0.1, '1 day 2:00', '\x0001',
            'back\slash', 'red wine of the cellar', '{a,NULL,b}', false),
        ('2025-01-02', 2, '2025-01-02 01:00+02', 1e-7, '3 months', '\xff', 'it''s', 'red wool',
            '{}', NULL),
        ('2025-01-03', 5, NULL, NULL, NULL, NULL, 'a\b', 'red and named', NULL, false),
        ('2025-01-03', 3, NULL, NULL, NULL, NULL, NULL, 'red but gone', NULL, true)"""
ATTACH_ORDERS = r"""SELECT attach_table('public.orders', text_columns => '{body}',
    title_column => 'Own Name', modified_column => 'moment',
    metadata_columns => '{day,amount,moment,ratio,span,raw,tags}',
    row_filter => E'gone IS NOT TRUE AND "Own Name" IS DISTINCT FROM ''a\\b''')"""
ANSWERS = (
    "SELECT rank, score, title, content, snippet, source_key, metadata, relevance, degraded"
    " FROM hybrid_search('red', 10)",
    "SELECT rank, score, source_key, snippet FROM lexical_search("
    "'\"red wine\" back' || chr(92) || 'slash', 10)",
    "SELECT rank, score, source_key FROM hybrid_search('reed winne', 10)",
    "SELECT source_key FROM hybrid_search('red', 10,"
    """ filter => '{"moment": {"gte": "2024-12-31", "lt": "2025-01-02"}}')""",
    """SELECT source_key FROM lexical_search('red', filter => '{"amount": {"gt": 1.5}}')""",
    "SELECT * FROM search_facets('red', '{day,amount}')",
    "SELECT get_context('red wine', 5) -> 'context' AS context",
    "SELECT source_key, title, metadata, modified_at FROM blend.documents",
    "SELECT c.content, d.content_hash FROM blend.chunks AS c"
    " JOIN blend.documents AS d USING (document_id)",
    "SELECT * FROM check_attached_tables()",
)


@pytest.fixture
def orders(db: Database) -> Database:
    add_space(db)
    db.rows(ORDERS)
    db.rows("SELECT add_collection('plain')")
    return db


def work(db: Database, *settings: str) -> list[Any]:
    """Attach, write, change and search under these settings; what was answered."""
    with db.connection.transaction(force_rollback=True):
        for setting in settings:
            db.rows(f"SET LOCAL {setting}")
        db.rows(ATTACH_ORDERS)
        db.rows(
            "INSERT INTO orders VALUES (make_date(2025, 2, 1), 4.25, make_timestamptz(2025, 2, 1,"
            " 12, 0, 0, 'UTC'), 2.5, NULL, NULL, 'late', 'red leaves', NULL, false)"
        )
        db.rows("UPDATE orders SET body = 'red wood' WHERE amount = 2")
        add_documents(db, "plain", [("k\\1", "Tïtle", "a red barn é"), ("k2", "", "C:\\red\\n")])
        db.rows("SELECT ingest_document('plain', 'k3', 'red ' || chr(233), metadata => %s)", "{}")
        embed_waiting(db)
        for number, query in enumerate(ANSWERS):
            db.rows(f"CREATE TEMP TABLE answer_{number} AS {query}")
        for setting in settings:
            db.rows(f"SET LOCAL {setting.split()[0]} = DEFAULT")
        return [
            db.rows(f"SELECT to_jsonb(a)::text FROM answer_{n} AS a ORDER BY 1")
            for n in range(len(ANSWERS))
        ]


def test_odd_settings_change_no_answer(orders: Database) -> None:
    plain = work(orders)
    assert all(plain[:-1])
    assert "named" not in str(plain)
    changed = [each for each in CHANGED if is_taken(orders.connection, each.split()[0])]
    assert work(orders, *changed) == plain
