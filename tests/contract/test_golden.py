"""The public surface and the rights on it, against tests/golden (`make golden` writes them)."""

from collections.abc import Callable

import psycopg
import pytest

from support.catalogue import granted_to

ROLES = ("pgblend_reader", "pgblend_writer", "pgblend_admin")  # analysts call what readers may
OURS = "FROM pg_proc AS p WHERE pronamespace::regnamespace::text IN ('blend', 'pgblend')"
NAME = "p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'"


def table(rows: list[tuple[object, ...]]) -> str:
    return "".join(" | ".join(str(value) for value in row) + "\n" for row in rows)


@pytest.fixture
def rows(catalogue: psycopg.Connection) -> Callable[[str], list[tuple[object, ...]]]:
    catalogue.execute("SET search_path = blend, pgblend, pgblend_data, public")
    return lambda query: catalogue.execute(query).fetchall()  # type: ignore[call-overload]


def test_public_signatures(rows, golden) -> None:
    query = (
        "SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ')',"
        f" pg_get_function_result(p.oid) {OURS} AND pronamespace = 'blend'::regnamespace ORDER BY 1"
    )
    golden("signatures.txt", table(rows(query)))


def test_what_is_public(rows, golden) -> None:
    query = (
        "SELECT 'function', proname FROM pg_proc WHERE pronamespace = 'blend'::regnamespace"
        " UNION SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'c' THEN 'type' ELSE 'table' END,"
        " relname FROM pg_class WHERE relnamespace = 'blend'::regnamespace ORDER BY 1, 2"
    )
    golden("public.txt", table(rows(query)))


def test_views_and_result_columns(rows, golden) -> None:
    query = (
        "SELECT c.relname, a.attname, format_type(atttypid, atttypmod) FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE relnamespace::regnamespace::text IN ('blend', 'pgblend') AND relkind IN ('v', 'c')"
        " ORDER BY relname, attnum"
    )
    golden("columns.txt", table(rows(query)))


def test_volatility_and_parallel(rows, golden) -> None:
    query = (
        f"SELECT {NAME}, CASE provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE'"
        " ELSE 'VOLATILE' END, CASE proparallel WHEN 's' THEN 'SAFE' WHEN 'r' THEN 'RESTRICTED'"
        f" ELSE 'UNSAFE' END, proisstrict {OURS} ORDER BY 1"
    )
    golden("labels.txt", table(rows(query)))


def test_who_may_call_what(rows, golden) -> None:
    may = ", ".join(
        f"CASE WHEN {granted_to(role)} THEN '{role[8:]}' ELSE '-' END" for role in ROLES
    )
    golden("execute.txt", table(rows(f"SELECT {NAME}, {may} {OURS} ORDER BY 1")))


def test_who_may_do_what_with_which_table(rows, golden) -> None:
    query = (
        "SELECT c.oid::regclass::text, role, coalesce(string_agg(privilege, ' '"
        " ORDER BY privilege) FILTER (WHERE has_table_privilege(role, c.oid, privilege)), '-')"
        " FROM pg_class AS c"
        f" CROSS JOIN unnest(ARRAY{['pgblend_analyst', *ROLES]}) WITH ORDINALITY AS r (role, place)"
        " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS privilege"
        " WHERE relnamespace::regnamespace::text IN ('blend', 'pgblend', 'pgblend_data')"
        " AND relkind IN ('r', 'v') GROUP BY c.oid, role, place ORDER BY 1, place"
    )
    golden("tables.txt", table(rows(query)))
