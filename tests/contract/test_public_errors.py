"""What a public routine raises: PostgreSQL's CONTEXT and PL/Python's marks name no internals."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from support.database import Database

# A wrong value of each type: it is of no collection, setting, range or size.
WRONG = {
    "text": "'nowhere'",
    "text[]": "'{nowhere}'",
    "jsonb": "'{\"nope\": 1}'",
    "jsonb[]": "'{\"[]\"}'",
    "integer": "-1",
    "integer[]": "'{-1}'",
    "bigint": "-1",
    "bigint[]": "'{-1}'",
    "double precision": "'NaN'",
    "real": "'NaN'",
    "double precision[]": "'{NaN}'",
    "boolean": "true",
    "uuid": "gen_random_uuid()",
    "vector": "'[1]'",
    "vector[]": "'{[1]}'",
    "name": "'nowhere'",
    "regconfig": "'english'",
    "timestamp with time zone": "'infinity'",
    "interval": "'-1 day'",
}
ROUTINES = """
    SELECT p.proname::text, p.pronargs - p.pronargdefaults, p.proargnames[:p.pronargs]::text[],
        ARRAY(SELECT regexp_replace(format_type(t.type, NULL), '^.*\\.', '')
              FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t (type, place) ORDER BY place)
    FROM pg_proc AS p
    WHERE p.pronamespace = 'blend'::regnamespace
    ORDER BY 1, 2
"""
INTERNALS = re.compile(r"plpy|spiexceptions|Traceback|\b_[a-z]+_\w+")
ERRORS_EXPECTED = 55  # routines that take some argument to be wrong


def calls(db: Database) -> Iterator[tuple[str, str]]:
    """Give routines with calls: all needed arguments wrong, then each other one as well."""
    for name, needed, names, types in db.rows(ROUTINES):
        values = [f"{one} => {WRONG[kind]}" for one, kind in zip(names or [], types, strict=True)]
        yield name, ", ".join(values[:needed])
        for more in values[needed:]:
            yield name, ", ".join([*values[:needed], more])


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', 'word')")
    db.rows("SELECT create_embedding_space('s', 'm', 3, probe => false)")
    return db


def test_context_names_the_called_routine_alone(library: Database) -> None:
    failed, wrong = set(), []
    for name, arguments in calls(library):
        call = f"{name}({arguments})"
        try:
            with library.connection.transaction(force_rollback=True):
                library.rows(f"SELECT blend.{call}")
        except psycopg.Error as error:
            failed.add(name)
            told = f"{error.diag.message_primary} {error.diag.message_detail}"
            lines = (error.diag.context or "").splitlines()
            own = rf"PL/pgSQL function (blend\.)?{name}\("
            is_bug = str(error.diag.sqlstate).startswith(("38", "XX"))
            is_own = all(re.match(own, line) for line in lines)
            if is_bug or not is_own or INTERNALS.search(told):
                wrong.append((call, told, lines))
    assert wrong == []
    assert len(failed) >= ERRORS_EXPECTED


def test_an_error_keeps_what_it_says(library: Database) -> None:
    library.rows("CREATE TABLE public.a (id int PRIMARY KEY, body text)")
    error = library.error("SELECT attach_table('a', '{nope}')")
    assert (error.sqlstate, bool(error.message_hint)) == ("22023", True)
    unique = library.error("SELECT add_collection('c')")
    assert unique.sqlstate == "42710"
    assert unique.message_detail is None


def test_the_way_to_an_error_is_there_for_those_who_look(library: Database) -> None:
    library.rows("SET LOCAL client_min_messages = debug1")
    library.error("SELECT * FROM lexical_search('x', -1)")
    told = [str(text) for severity, text in library.notices if severity == "DEBUG"]
    assert any("_check_result_limit" in text for text in told)
