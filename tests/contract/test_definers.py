"""What routines with their owner's rights believe, and which names others could give a meaning."""

import re

import psycopg
import pytest

from pgblend.sql import code_of, source_objects
from pgblend.sql.program import program_modules
from pgblend.sql.rights import called, reached

from .test_catalogue import SECURITY_DEFINER

REGISTRIES = {"attached_table", "embedding_space", "shard", "shard_bucket", "shard_self"}
# Tables of a statement, for its triggers. Nobody makes a trigger that calls these.
TRANSITION_TABLES = {
    "_chunk_bury": {"old_chunk"},
    "_chunk_index": {"new_chunk"},
    "_document_refuse_twin": {"new_document"},
    "_edge_check_ends": {"new_edge"},
    "_link_check_target": {"new_link"},
    "_table_changed": {"new_rows", "old_rows"},
}
ROLES = ("reader", "analyst", "writer", "admin", "gateway", "serve")
_TABLE = re.compile(r"\bpgblend_data\.([a-z]\w*)")
_TAKEN = re.compile(
    r"(?<!DISTINCT )\b(?:FROM|JOIN|INSERT INTO|UPDATE|LOCK TABLE|TRUNCATE)\s+(?:ONLY\s+)?"
    r"([a-z_]\w*)\b(?!\s*[.(])"
)
_TYPE = re.compile(r"::([a-z_]\w*)\b(?!\.)")
_DECLARED = re.compile(r"^ {4}\w+(?: CONSTANT)? ([a-z_]\w*)\b(?!\.)", re.MULTILINE)
_WITH = re.compile(r"\b([a-z_]\w*)(?: \([\w, ]*\))? AS (?:NOT )?(?:MATERIALIZED )?\(")
_KEYWORDS = {"constant", "double", "lateral", "public", "skip"}

ACCESS, CODE = code_of(source_objects())
MODULES = program_modules()
CALLS = called(CODE, MODULES)


def reaches(name: str) -> dict[str, str]:
    """Return the texts of a definer and of what it calls, but for other definers."""
    names = reached({name}, CALLS, SECURITY_DEFINER.keys() - {name})
    names -= SECURITY_DEFINER.keys() - {name}
    return {one: CODE.get(one, MODULES.get(one, "")) for one in names}


def believed(name: str) -> set[str]:
    """Name the tables that a definer, or what it calls, reads or writes."""
    return {table for text in reaches(name).values() for table in _TABLE.findall(text)}


def unqualified(text: str) -> set[str]:
    """Name the relations and types of a routine's statements that have no schema, but for CTEs."""
    text = re.sub(r"--[^\n]*", "", text)
    declared = text.partition("\nDECLARE\n")[2].partition("\nBEGIN\n")[0]
    variables = {*re.findall(r"^ {4}(\w+) ", text, re.MULTILINE)}
    taken = {*_TAKEN.findall(text)} - {*_WITH.findall(text)} - variables
    return (taken | {*_TYPE.findall(text), *_DECLARED.findall(declared)}) - _KEYWORDS


@pytest.fixture
def writers(catalogue: psycopg.Connection) -> dict[str, str]:
    """Which roles of ours, that inherit from none but ours, write each table."""
    rows = catalogue.execute(
        "SELECT c.relname::text, coalesce(string_agg(r.role, ' ' ORDER BY r.place) FILTER (WHERE"
        " has_any_column_privilege('pgblend_' || r.role, c.oid, 'INSERT')"
        " OR has_any_column_privilege('pgblend_' || r.role, c.oid, 'UPDATE')), 'nobody')"
        " FROM pg_class AS c CROSS JOIN unnest(%s::text[]) WITH ORDINALITY AS r (role, place)"
        " WHERE c.relnamespace = 'pgblend_data'::regnamespace AND c.relkind = 'r' GROUP BY 1",
        [list(ROLES)],
    ).fetchall()
    return dict(rows)


def test_what_each_believes_and_who_writes_it(
    writers: dict[str, str], golden, catalogue: psycopg.Connection
) -> None:
    lines = []
    for name in sorted(SECURITY_DEFINER):
        tables = sorted(believed(name) & writers.keys())
        told = ", ".join(f"{table} ({writers[table]})" for table in tables) or "none"
        names = " ".join(sorted(TRANSITION_TABLES.get(name, ()))) or "none"
        lines.append(f"{name} | {told} | {names}\n")
    golden("definers.txt", "".join(lines))


def test_nobody_writes_a_registry(writers: dict[str, str]) -> None:
    assert {table: writers[table] for table in REGISTRIES} == dict.fromkeys(REGISTRIES, "nobody")


@pytest.mark.parametrize("name", sorted(SECURITY_DEFINER))
def test_names_without_a_schema_are_postgresql_s_or_the_statement_s(
    catalogue: psycopg.Connection, name: str
) -> None:
    """pg_temp stands on their path: a table or a type there is whoever's session it is."""
    # Everything in _regconfig has its schema; its own path says where users' configurations are.
    texts = reaches(name)
    texts.pop("_regconfig", None)
    # Bodies without quotes are bound when they are made.
    names = {found for text in texts.values() if "AS $" in text for found in unqualified(text)}
    spelt = {"bigint", "integer", "smallint", "boolean", "real", "record"}
    known = {
        row[0]
        for row in catalogue.execute(
            "SELECT typname::text FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace"
            " UNION SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace"
        )
    }
    assert names - known - spelt == TRANSITION_TABLES.get(name, set())


def test_nobody_makes_a_trigger_of_those_that_read_transition_tables(
    catalogue: psycopg.Connection,
) -> None:
    for name in TRANSITION_TABLES:
        for role in ROLES:
            row = catalogue.execute(
                "SELECT has_function_privilege(%s, 'pgblend.' || %s || '()', 'EXECUTE')",
                [f"pgblend_{role}", name],
            ).fetchone()
            assert row == (False,), (name, role)
