"""The program of the backend as sessions load it: once, whole, and only the one that is theirs."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgblend.migrations import runner
from pgblend.plpy.base.program import compile_module
from pgblend.sql import render
from pgblend.sql.program import program_text
from support.database import Database, add_documents

ASKED = "SELECT (pgblend._parse_query('houses', 'english')).lexemes[1]"
NOW = "hous"
REPLACE = "CREATE OR REPLACE FUNCTION pgblend._program() RETURNS text LANGUAGE sql"


def program_with(*lines: str) -> tuple[str, str]:
    """Return the program with lines at the end of module text.query, and its sha256."""
    before, mark, rest = program_text().partition("#: pgblend.plpy.lexical.query\n")
    own, end, others = rest.partition("\n#: ")
    text = before + mark + "\n".join([own, *lines]) + end + others
    return text, hashlib.sha256(text.encode()).hexdigest()


def script_with(*lines: str) -> str:
    """Return the statements that replace program and bodies by those with the lines."""
    text, digest = program_with(*lines)
    old = program_text()
    return render().replace(old, text).replace(hashlib.sha256(old.encode()).hexdigest(), digest)


@pytest.fixture
def replace_program(committed: Database) -> Callable[..., None]:
    """Replace the program and every routine in one transaction, as `migrate up` does."""

    def replace(*lines: str) -> None:
        script = script_with(*lines).partition("-- 99_access/access\n")[0]
        with psycopg.connect(committed.url) as connection:
            connection.execute(script)  # type: ignore[call-overload]

    return replace


def test_an_open_session_goes_on_with_the_program_that_replaced_its_own(
    committed: Database, replace_program: Callable[..., None]
) -> None:
    assert committed.value(ASKED) == NOW
    replace_program("def asked_of(query): return AskedWords(query, 'wine', 'wine', [])")
    assert committed.value(ASKED) == "wine"
    replace_program()
    assert committed.value(ASKED) == NOW


@contextmanager
def new_session(db: Database) -> Iterator[Database]:
    with psycopg.connect(db.url, autocommit=True) as connection:
        yield Database(connection)


CODE = "CREATE OR REPLACE FUNCTION pgblend._program_code() RETURNS bytea LANGUAGE sql AS $${}$$"
NO_CODE = CODE.format("SELECT NULL::bytea")

IS_COMPILED = "SELECT pgblend._load_program()"


def put_code(db: Database, changed: str) -> None:
    """Put changed code in the place of the program's, in the form that it has."""
    kept = db.value(f"SELECT encode({changed}, 'base64') FROM pgblend._program_code() AS c")
    db.rows(CODE.format(f"SELECT decode('{kept}', 'base64')"))


def test_a_text_that_is_not_the_routines_own_is_refused(committed: Database) -> None:
    assert committed.value(ASKED) == NOW
    text, _ = program_with("import os")
    body = f"SELECT $text${text}$text$"
    committed.rows(f"{REPLACE} AS $body${body}$body$")
    with new_session(committed) as other:
        assert other.value(ASKED) == NOW  # from the compiled code, which is that of the routines
    committed.rows(NO_CODE)
    assert committed.value(ASKED) == NOW  # its program is loaded
    with new_session(committed) as other:
        for query in (ASKED, "SELECT * FROM hybrid_search('words')"):
            problem = other.error(query)
            assert problem.sqlstate == "PB012"
            assert "is not the one that its routines were made with" in str(problem.message_primary)
            assert "migrate up" in str(problem.message_hint)
    runner.upgrade(committed.url)  # as the hint says
    with new_session(committed) as other:
        assert other.value(ASKED) == NOW


def test_a_call_that_an_upgrade_overtook_says_so(committed: Database) -> None:
    """Its body is the old one, the program and all that is called from now on are new."""
    committed.rows(script_with("# new").partition("-- 20_lexical")[0])
    problem = committed.error(ASKED)
    assert (problem.sqlstate, problem.message_hint) == ("PB012", "Call it again.")


def test_compiled_code_is_taken_and_gives_the_same(committed: Database) -> None:
    query = "SELECT pgblend._parse_query('a -b \"c d\" e-1', 'english')::text"
    assert committed.value(IS_COMPILED) is True
    of_code = committed.value(query)
    committed.rows(NO_CODE)
    with new_session(committed) as other:
        assert other.value(IS_COMPILED) is False
        assert other.value(query) == of_code
    runner.upgrade(committed.url)  # compiles it again
    with new_session(committed) as other:
        assert other.value(IS_COMPILED) is True
    assert runner.status(committed.url)["drift"] is False


@pytest.mark.parametrize(
    "code",
    [
        "overlay(c PLACING '\\x00000000' FROM 1)",  # of another Python
        "overlay(c PLACING '\\x00000000' FROM 5)",  # of another text
        "overlay(c PLACING '\\x00000000' FROM 37)",  # with another checksum
        "overlay(c PLACING '\\x00000000' FROM 2000)",  # damaged
        "substr(c, 1, 1000)",
        "''",
    ],
)
def test_other_code_is_left_alone(db: Database, code: str) -> None:
    put_code(db, code)
    assert db.value(IS_COMPILED) is False
    assert db.value(ASKED) == NOW


def test_code_that_is_written_anew_is_taken(db: Database) -> None:
    put_code(db, "c")
    assert db.value(IS_COMPILED) is True


@pytest.mark.parametrize("body", ["SELECT NULL::bytea", "SELECT 'no base64'::bytea"])
def test_another_body_is_left_alone(db: Database, body: str) -> None:
    db.rows(CODE.format(body))
    assert db.value(IS_COMPILED) is False
    assert db.value(ASKED) == NOW


def test_code_of_a_role_that_is_no_superuser_is_left_alone(db: Database) -> None:
    assert db.value(IS_COMPILED) is True
    db.rows("GRANT CREATE ON SCHEMA pgblend TO pgblend_admin")
    db.rows("ALTER FUNCTION pgblend._program_code OWNER TO pgblend_admin")
    assert db.value(IS_COMPILED) is False


def test_a_reader_cannot_change_what_is_loaded(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    with connect_as("pgblend_admin") as connection:
        admin = Database(connection)
        assert admin.value(ASKED) == NOW
        assert admin.error(f"{REPLACE} RETURN ''").sqlstate == "42501"
    with connect_as("pgblend_admin") as connection:
        admin = Database(connection)
        admin.rows(REPLACE.replace("pgblend.", "pg_temp.") + " RETURN 'raise SystemExit'")
        admin.rows("SET search_path = pg_temp, public, blend")
        assert admin.value(ASKED) == NOW


# numpy 1.26 takes inspect at once; numpy 2 also waits with its own parts itself.
LATER = """
import sys, types
is_lazy = type(sys.modules["inspect"]) is not types.ModuleType
import ctypes, inspect, ipaddress, ntpath, pickle
import numpy, numpy.fft, numpy.ma, numpy.polynomial, numpy.random
plpy.notice([
    is_lazy or numpy.__version__ >= "1.26",
    ctypes.sizeof(ctypes.c_int32), inspect.isfunction(inspect.getdoc),
    str(ipaddress.ip_address("::1")), ntpath.basename("a\\\\b"), pickle.loads(pickle.dumps(7)),
    float(numpy.fft.fft([1.0, 2.0])[0].real), int(numpy.ma.array([1, 2]).sum()),
    float(numpy.polynomial.Polynomial([1.0, 2.0])(3.0)),
    int(numpy.random.default_rng(1).integers(1)),
    type(inspect) is types.ModuleType])
"""


def test_what_waits_for_its_use_is_there_for_others(db: Database) -> None:
    """Modules that the program's own never use are loaded by who does."""
    db.rows("SELECT add_collection('c', 'english')")
    add_documents(db, "c", [("1", "", "red fox")])
    assert len(db.rows("SELECT * FROM lexical_search('fox')")) == 1
    db.rows(f"DO LANGUAGE plpython3u $${LATER}$$")
    told = "[True, 4, True, '::1', 'b', 7, 3.0, 3, 7.0, 0, True]"
    assert [message for _, message in db.notices][-1] == told


def test_nothing_else_changes_in_the_servers_python(committed: Database) -> None:
    committed.rows(
        "CREATE FUNCTION public.path() RETURNS text LANGUAGE plpython3u AS"
        " $$import gc, sys\n"
        "told = [*sys.path, gc.isenabled(), *gc.get_threshold(), *sys.meta_path]\n"
        "return ' '.join(map(str, told))$$"
    )
    before = committed.value("SELECT public.path()")
    committed.value(ASKED)
    after = committed.value("SELECT public.path()")
    assert (
        re.sub(r" <pgblend.plpy.base.program.Program object at \w+>", "", after, count=1) == before
    )


def test_what_no_session_reads_is_not_compiled() -> None:
    source = (
        'def half(of: int) -> float:\n    """Return half."""\n    return (1 +\n        of) / 2\n'
    )
    scope: dict[str, Any] = {}
    exec(compile_module("pgblend.plpy.halves", source), scope)
    half = scope["half"]
    assert (half(3), half.__doc__, half.__annotations__) == (2.0, None, {})
    assert not any(column for *_, column in half.__code__.co_positions())
    with pytest.raises(TypeError) as raised:
        half("3")
    assert raised.traceback[-1].lineno + 1 == 3  # it counts from 0


@pytest.mark.slow
def test_upgrades_during_searches_of_new_sessions(
    committed: Database, replace_program: Callable[..., None]
) -> None:
    """Eight clients search in sessions of their own while the program changes."""
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [("k", "", "some words")])
    version = 0
    problems: list[Exception] = []
    searches: list[object] = []

    def is_over() -> bool:
        return bool(problems) or (version > 10 and len(searches) > 100)

    def search() -> None:
        while not is_over():
            try:
                with psycopg.connect(committed.url, autocommit=True) as connection:
                    for _ in range(3):
                        rows = Database(connection).rows(
                            "SELECT source_key, degraded FROM hybrid_search('words')")  # fmt: skip
                        assert [key for key, _ in rows] == ["k"]
                        searches.append(rows)
            except Exception as error:
                problems.append(error)
                return

    clients = [threading.Thread(target=search) for _ in range(8)]
    for client in clients:
        client.start()
    while not is_over():
        version += 1
        replace_program(f"VERSION = {version}")
    for client in clients:
        client.join()
    assert problems == []


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(re.search(r"^RssAnon:\s+(\d+)", status, re.MULTILINE)[1])  # type: ignore[index]


@pytest.mark.slow
def test_memory_of_a_session_stays_flat(
    committed: Database, replace_program: Callable[..., None]
) -> None:
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [(f"k{n}", f"title {n}", f"some words {n}") for n in range(50)])
    queries = [
        "SELECT * FROM hybrid_search('words title')",
        "SELECT * FROM lexical_search('words')",
        "SELECT * FROM fuzzy_search('wrods')",
        "SELECT search_explain('words')",
        "SELECT get_context('words')",
        ASKED,
    ]
    pid = committed.connection.info.backend_pid
    marks = []
    for call in range(10_000):
        committed.rows(queries[call % len(queries)])
        if call % 2_500 == 2_499:
            marks.append(resident_kb(pid))
    assert marks[-1] - marks[0] < 4_000, marks
    for version in range(20):
        replace_program(f"VERSION = {version}")
        for query in queries:
            committed.rows(query)
        marks.append(resident_kb(pid))
    assert marks[-1] - marks[-11] < 20_000, marks
