"""Settings that a session may have for itself change no row, no word and no message."""

from typing import Any

import pytest

from support.database import Database, add_documents, add_space, embed_waiting

ODD = (
    "quote_all_identifiers = on", "standard_conforming_strings = off", "backslash_quote = on",
    "datestyle = 'German, DMY'", "intervalstyle = 'sql_standard'", "extra_float_digits = -15",
    "bytea_output = 'escape'", "xmlbinary = hex", "timezone = 'Asia/Kolkata'",
    "array_nulls = off", "transform_null_equals = on", "client_encoding = 'LATIN1'",
    "default_text_search_config = 'german'", "plan_cache_mode = force_generic_plan",
    "enable_hashjoin = off", "enable_seqscan = off", "jit = on", "check_function_bodies = off",
    "work_mem = '64kB'", 'search_path = public, blend, pg_catalog',
    "constraint_exclusion = on", "lc_monetary = 'C'", "geqo_threshold = 2",
    "from_collapse_limit = 1", "default_transaction_deferrable = on",
    "parallel_setup_cost = 0", "escape_string_warning = off", "lock_timeout = 60000",
)  # fmt: skip
TABLES = r"""
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
ATTACH = r"""SELECT attach_table('public.orders', text_columns => '{body}',
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
def library(db: Database) -> Database:
    add_space(db)
    db.rows(TABLES)
    db.rows("SELECT add_collection('plain')")
    return db


def work(db: Database, *settings: str) -> list[Any]:
    """Attach, write, change and search under these settings; what was answered."""
    with db.connection.transaction(force_rollback=True):
        for setting in settings:
            db.rows(f"SET LOCAL {setting}")
        db.rows(ATTACH)
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


def test_odd_settings_change_no_answer(library: Database) -> None:
    plain = work(library)
    assert all(plain[:-1])
    assert "named" not in str(plain)
    assert work(library, *ODD) == plain


def test_quoted_names_make_no_table_of_ours_a_user_s(db: Database) -> None:
    db.rows("SET LOCAL quote_all_identifiers = on")
    said = db.error("SELECT attach_table('pgblend_data.chunk', '{content}')")
    assert "is not a user's table" in str(said.message_primary)
