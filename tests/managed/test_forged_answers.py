"""An attacker tells stand-ins answers of his own: he reads and writes what he may, and no more.

He calls each routine that he may execute, gathers what it needs as a door does, and forges it.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgblend.cli.doors.wire.own_statements import Told, telling
from pgblend.plpy.models.gateway import NO_GATEWAY
from pgblend.sql.outside import routines
from support.database import Database
from support.outside import fill_library, take_python_away

ROUNDS = 4  # of answers that need others
WAYS = 6  # to choose arguments and answers
HIDDEN, OPEN, SECRET, FORGED = "briefe", "books", "zanzibar", "forgery"
INJECTED = [
    "pg_catalog.set_config('pgblend.hacked', current_user::text, false) IS NOT NULL",
    "'; CREATE TABLE public.hacked (); --",
]
# Answers that let a document be stored, but for the words of its passage.
WHOLE: dict[str, Any] = {
    "pgblend._document_names": [],
    "pgblend._index_parts": [f"{{{','.join([FORGED] * 6)}}}"],
    "pgblend._split_content": [
        {"document": "1", "content": "new", "own_start": "0", "start_offset": "0"}
        | {"end_offset": "3", "start_line": "1", "end_line": "1", "token_count": "1"}
    ],
}
ROUTINES = """
    SELECT p.oid::regproc::text, (
        SELECT coalesce(array_agg(format_type(t, NULL) ORDER BY n), '{}')
        FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a (t, n))
    FROM pg_proc AS p INNER JOIN pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname IN ('blend', 'pgblend') AND p.prokind IN ('f', 'p')
        AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
        AND has_function_privilege(%s, p.oid, 'execute')
    ORDER BY 1, p.oid
"""
TABLES = """
    SELECT c.oid::regclass::text FROM pg_class AS c
    WHERE c.relnamespace = 'pgblend_data'::regnamespace AND c.relkind IN ('r', 'p')
        AND c.oid <> 'pgblend_data.collection_change'::regclass
    ORDER BY 1
"""
# A writer leaves notes. Each thousandth transaction clears them, and leaves its own.
NOTES = "SELECT array_agg(transaction_id::text::bigint) FROM pgblend_data.collection_change"
# What of a table is neither of the open collection nor a worker of the role's own.
DIGEST = (
    """
    WITH own AS (
        SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = '"""
    + OPEN
    + """'),
    found AS (SELECT t::text AS row, to_jsonb(t) AS j FROM {0} AS t)
    SELECT md5(coalesce(string_agg(f.row, '' ORDER BY f.row), '')) FROM found AS f
    WHERE f.j ->> 'started_by' IS DISTINCT FROM %s
        AND NOT EXISTS (
            SELECT FROM own WHERE own.id::text IN (
                f.j ->> 'collection_id', CASE WHEN '{0}' ~ 'collection$' THEN f.j ->> 'id' END))
        AND coalesce((f.j ->> 'chunk_id')::bigint NOT IN (
            SELECT c.id FROM pgblend_data.chunk AS c WHERE c.collection_id IN (TABLE own)), true)
"""
)
OBJECTS = """
    SELECT array_agg(concat(o.kind, ' ', o.oid, ' ', o.owner) ORDER BY o.kind, o.oid) FROM (
        SELECT 'routine' AS kind, p.oid, p.proowner AS owner FROM pg_proc AS p
        UNION ALL SELECT 'relation', c.oid, c.relowner FROM pg_class AS c
        WHERE c.relnamespace <> 'pg_toast'::regnamespace
        UNION ALL SELECT 'role', r.oid, r.oid FROM pg_roles AS r) AS o
"""


class Attacker:
    """A session of a lesser role without a door, that says itself what stand-ins are told."""

    def __init__(self, url: str, given: dict[str, list[str]], facts: dict[str, str]) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(
            "SET search_path = blend, public; SET statement_timeout = '5s';"
            " SET pgblend.answers = on"  # as a door's session has it
        )
        self.connection.add_notice_handler(self._note)
        self._given, self._facts = given, facts
        self.needed: list[str] = []
        self.forged = 0

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.sqlstate == "PB017" and notice.message_detail:
            self.needed.append(notice.message_detail)

    def call(self, name: str, types: list[str], way: int) -> str:
        """Return a call of a routine."""
        given = (self._given.get(one, ["NULL"]) for one in types)
        chosen = (f"{of[way % len(of)]}::{one}" for of, one in zip(given, types, strict=True))
        return f"SELECT x::text FROM {name}({', '.join(chosen)}) AS x"

    def attack(self, call: str, way: int) -> str:
        """Forge what a call needs, in a transaction that stays; return what it says."""
        told: dict[str, Told] = {}
        for _ in range(ROUNDS):
            self.needed = []
            self._run(call, told, gathers=True)
            new = [one for one in dict.fromkeys(self.needed) if one not in told]
            if not new:
                break
            told |= {one: self._entry(one, way) for one in new}
        self.forged += len(told)
        return self._run(call, told, gathers=False)

    def _run(self, call: str, told: dict[str, Told], *, gathers: bool) -> str:
        try:
            with self.connection.transaction(force_rollback=gathers):
                self.connection.execute(telling(told.values(), gathers).encode())
                return str(self.connection.execute(call.encode()).fetchall())
        except psycopg.Error as error:
            return f"{error.sqlstate} {error}"

    def _entry(self, needed: str, way: int) -> Told:
        digest = hashlib.md5(needed.encode(), usedforsecurity=False).hexdigest()
        name = json.loads(needed)["call"][0]
        return Told(digest, json.dumps(self._value(name, way)), None)

    def _value(self, name: str, way: int) -> Any:
        if name in WHOLE:
            return WHOLE[name]
        if name not in routines():
            return [[self._fact("text", way)] * 6] * 2
        made = routines()[name]
        if made.outputs:
            row: Any = [self._fact(one.type, way) for one in made.outputs]
        elif made.is_set:
            row = {"id": self._facts["chunk"], "content": INJECTED[0], "document": "0"}
        else:
            row = [self._fact(made.returns, way)]
        return [row, row] if made.is_set else row

    def _fact(self, kind: str, way: int) -> str | None:
        chosen = {
            "text": [HIDDEN, *INJECTED],
            "name": [HIDDEN, INJECTED[1]],
            "jsonb": ["{}", json.dumps(NO_GATEWAY), f'{{"{INJECTED[0]}": 1}}'],
            "jsonb[]": [f"{{{self._facts['document']}}}", None],
            "boolean": ["t", "f"],
            "blend.search_result[]": [self._facts["results"]],
            "text[]": [f"{{{','.join([FORGED] * 6)}}}", f"{{{HIDDEN}}}"],
            "tsquery[]": ['{"red"}', "{}"],
        }
        if kind in chosen:
            return chosen[kind][way % len(chosen[kind])]
        base, array, _ = kind.partition("[]")
        one = self._facts["chunk"] if way % 2 else self._facts["document"]
        return f"{{{one}}}" if array and base != "text" else one


def state(admin: Database, role: str) -> dict[str, str]:
    """Return a digest of what each table has of others, and the objects there are."""
    found = {name: str(admin.value(DIGEST.format(name), role)) for name in admin.column(TABLES)}
    return found | {"objects": str(admin.value(OBJECTS))}


@pytest.fixture(scope="module")
def library(module_url: str) -> Iterator[Database]:
    """A library whose program is outside, of which an attacker may read or write one collection."""
    with psycopg.connect(module_url, autocommit=True) as connection:
        connection.execute("SET search_path = blend, public")
        database = Database(connection)
        fill_library(database)
        database.rows(
            "SELECT ingest_document(%s, 'hidden', %s, %s, metadata => %s, uri => %s)",
            HIDDEN, f"{SECRET} wine", SECRET, json.dumps({"note": SECRET}), f"https://{SECRET}/",
        )  # fmt: skip
        take_python_away(module_url)
        yield database


@pytest.mark.slow
@pytest.mark.parametrize(("right", "group"), [("read", "reader"), ("write", "writer")])
def test_forged_answers_read_and_write_nothing(library: Database, right: str, group: str) -> None:
    role = f"forger_{right}"
    name = sql.Identifier(role)
    library.connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(name))
    try:
        library.rows(f"GRANT pgblend_{group} TO {role}")
        library.rows("SELECT grant_collection(%s, %s, %s)", OPEN, role, right)
        _attacks(library, role)
    finally:
        library.connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
        library.connection.execute(sql.SQL("DROP ROLE {}").format(name))


def _attacks(library: Database, role: str) -> None:
    hidden = "SELECT id FROM pgblend_data.{} WHERE {} LIKE '%{}%'"
    facts = {
        "document": str(library.value(hidden.format("document", "title", SECRET))),
        "chunk": str(library.value(hidden.format("chunk", "content", SECRET))),
    }
    result = "jsonb_populate_record(NULL::blend.search_result, %s::jsonb)"
    row = {"rank": 1, "score": 1, "document_id": facts["document"], "chunk_id": facts["chunk"]}
    facts["results"] = library.value(f"SELECT (ARRAY[{result}])::text", json.dumps(row))
    collections = library.rows("SELECT name, id::text FROM pgblend_data.collection ORDER BY name")
    ids = [f"'{facts['chunk']}'", f"'{facts['document']}'", *(f"'{one}'" for _, one in collections)]
    given = {
        **{kind: ids for kind in ("bigint", "integer", "smallint", "double precision", "real")},
        **{f"{kind}[]": [f"ARRAY[{one}]" for one in ids] for kind in ("bigint", "integer")},
        "text": [f"'{HIDDEN}'", "'hidden'", "'wine'", f"'{OPEN}'"],
        "name": [f"'{HIDDEN}'", "'s'"],
        "text[]": [f"'{{{HIDDEN}}}'", "'{hidden}'", f"'{{{OPEN}}}'"],
        "jsonb": ["'{}'", "'[]'", f"""'{{"collection": "{HIDDEN}"}}'"""],
        "boolean": ["true"],
        "regclass": ["'pgblend_data.document'"],
        "regconfig": ["'english'"],
        "vector": ["'[1,-2,3,-4,5,-6,7,-8]'"],
        "blend.search_result[]": [f"'{facts['results']}'"],
    }
    url = make_conninfo(library.url, user=role, password="secret")
    before, attacker = state(library, role), Attacker(url, given, facts)
    noted = {*(library.value(NOTES) or [])}
    for routine, types in library.rows(ROUTINES, role):
        for way in range(WAYS):
            call = attacker.call(routine, types, way)
            said = attacker.attack(call, way)
            assert SECRET not in said, (call, said)
    for way in range(WAYS):
        attacker.attack(f"SELECT x::text FROM ingest_document('{OPEN}', 'k{way}', 'new') AS x", way)
    assert library.value("SELECT count(*) FROM pgblend_data.chunk WHERE lexemes @@ %s", FORGED) == 0
    # Whatever the statistics say, a condition that he told runs for each document of his own.
    opened = dict(collections)[OPEN]
    attacker.attack(f"SELECT pgblend._filtered_ids('{{}}', ARRAY[{opened}::bigint], NULL, true)", 1)
    hacked = attacker.connection.execute("SELECT current_setting('pgblend.hacked', true)")
    assert hacked.fetchone() == (role,)  # what he injects runs as himself
    attacker.connection.close()
    after = state(library, role)
    assert {one for one in before if before[one] != after[one]} == set()
    still = {*(library.value(NOTES) or [])}
    assert noted <= still or any(one % 1000 == 0 for one in still - noted)
    assert attacker.forged > WAYS * 50
