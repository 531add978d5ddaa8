"""SQL clients of a server without PL/Python: the same statements through the door, equal rows."""

import hashlib
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from click.testing import CliRunner
from conftest import Server, TwoCollections
from psycopg import generators, waiting
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from pgblend.sql.outside import body_digest
from support.certificates import certificate
from support.database import Database
from support.door import counted, door_process, door_to
from support.outside import WAIT, fill_library, take_python_away
from support.random_searches import VECTOR, drawn_searches, rows
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.waiting import wait_until

COUNT = 40
READING = (
    "SELECT get_context('red fox', query_embedding => %s) - 'stats'",
    "SELECT search_explain('red fox', query_embedding => %s) -> 'results'",
    "SELECT search_diagnose('red fox', 'k1', query_embedding => %s)",
    "SELECT array_agg(f ORDER BY f.value) FROM search_facets('red', query_embedding => %s,"
    " keys => '{$title}') AS f",
    "SELECT array_agg(n.neighbour) FROM hybrid_search('wine', 1, query_embedding => %s) AS h,"
    " LATERAL graph_neighbors('document:' || h.document_id) AS n",
    "SELECT array_agg(o.n) FROM (SELECT count(*) AS n FROM (VALUES ('red'), ('fox'), ('sea'))"
    " AS w (word), LATERAL hybrid_search(w.word, 5, query_embedding => %s)"
    " GROUP BY w.word ORDER BY w.word) AS o",
)


@pytest.fixture(scope="module")
def told(module_url: str) -> dict[str, Any]:
    """What a library answers while its program is inside; then the program is taken out of it."""
    found: dict[str, Any] = {"url": module_url}
    with connect(module_url) as connection:
        library = Database(connection)
        fill_library(library)
        library.rows(WAIT)
        library.warnings()
        found["searches"] = [
            (one, rows(library, one), library.warnings()) for one in drawn_searches(COUNT)
        ]
        found["reading"] = [library.value(statement, VECTOR) for statement in READING]
        with psycopg.connect(module_url) as other:
            found["prepared"] = other.execute(SEARCH, ("wine",)).fetchall()
    take_python_away(module_url)
    return found


SEARCH = "SELECT chunk_id, score FROM blend.lexical_search(%s, 3)"
LEXICAL = "SELECT chunk_id, score FROM lexical_search(%s, 5)"


@pytest.fixture(scope="module")
def client(told: dict[str, Any]) -> Iterator[Database]:
    """A client that comes through the door."""
    with door_to(told["url"]) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = blend, public")
        yield Database(connection)


def test_searches_have_the_same_rows(told: dict[str, Any], client: Database) -> None:
    for one, expected, warnings in told["searches"]:
        client.warnings()
        assert (rows(client, one), client.warnings()) == (expected, warnings), one
    assert sum(bool(found) for _, found, _ in told["searches"]) > COUNT / 5


@pytest.mark.parametrize("place", range(len(READING)))
def test_all_that_reads_is_the_same(told: dict[str, Any], client: Database, place: int) -> None:
    assert client.value(READING[place], VECTOR) == told["reading"][place]


def test_prepared_statements_and_pipelines(told: dict[str, Any], client: Database) -> None:
    for _ in range(8):  # psycopg prepares by name from the sixth on
        found = client.connection.execute(SEARCH, ("wine",)).fetchall()
        assert found == told["prepared"]
    with client.connection.pipeline():
        one = client.connection.execute("SELECT 1")
        search = client.connection.execute(SEARCH, ("wine",))
        assert (one.fetchone(), search.fetchall()) == ((1,), told["prepared"])
        later = client.connection.execute(SEARCH, ("wine",))
        assert later.fetchall() == told["prepared"]


def test_a_statement_stays_known_when_functions_are_learned(told: dict[str, Any]) -> None:
    with door_to(told["url"]) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SEARCH, ("wine",), prepare=True)
        connection.execute(
            "CREATE FUNCTION pg_temp.counts() RETURNS bigint LANGUAGE sql AS"
            " $$ SELECT count(*) FROM blend.lexical_search('wine', 3) $$"
        )
        with connection.transaction():
            found = connection.execute(SEARCH, ("wine",), prepare=True)
            assert found.fetchall() == told["prepared"]


def test_a_transaction_sees_what_it_wrote(told: dict[str, Any], client: Database) -> None:
    connection = client.connection
    with connection.transaction(force_rollback=True):
        client.rows("SELECT ingest_document('books', 'new.md', 'A quokka by the sea.')")
        assert len(client.rows(SEARCH, "quokka")) == 1
        with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
            client.rows("SELECT hybrid_search('quokka'), 1 / 0")
        client.rows("SELECT ingest_document('books', 'new.md', 'No such animal.')")
        assert client.rows(SEARCH, "quokka") == []  # an answer is told to one statement
    assert connection.info.transaction_status.name == "IDLE"
    assert client.rows(SEARCH, "quokka") == []


def test_what_was_sent_ahead_in_vain_is_taken_back(client: Database) -> None:
    """The names of a document with a title need other words than those of one without."""
    stored = [("cat", None), ("red", "Burgundy"), ("ship", None), ("white", "Loire")]
    with client.connection.transaction(force_rollback=True):
        for key, title in stored:
            client.rows("SELECT ingest_document('books', %s, 'A dugong.', %s)", key, title)
        found = "SELECT source_key FROM lexical_search(%s, 1)"
        assert [client.value(found, title) for _, title in stored if title] == ["red", "white"]


def test_warnings_of_what_the_program_asks_arrive(client: Database) -> None:
    search = "SELECT chunk_id FROM lexical_search(%s, 7)"
    with client.connection.transaction(force_rollback=True):
        client.rows("CREATE TABLE public.rented (id int PRIMARY KEY, body text, who text)")
        client.rows("INSERT INTO public.rented VALUES (1, 'A dugong.', 'anna')")
        client.rows("SELECT attach_table('public.rented', '{body}', tenant_column => 'who')")
        told = ['no tenant is set: nothing of the collection "rented" is found']
        for _ in range(3):  # what is asked for the third time is sent ahead
            client.warnings()
            assert client.rows(search, "dugong") == []
            assert [one for one in client.warnings() if "tenant" in one] == told
        client.rows("SET LOCAL pgblend.tenant = 'anna'")
        assert len(client.rows(search, "dugong")) == 1
        assert client.warnings() == []


def test_copies_and_long_answers_flow(told: dict[str, Any], client: Database) -> None:
    with client.connection.cursor() as cursor:
        with cursor.copy("COPY (SELECT chunk_id FROM hybrid_search('fox', 2)) TO STDOUT") as copy:
            assert len([*copy.rows()]) == 2
        cursor.execute("CREATE TEMP TABLE kept (text text)")
        with cursor.copy("COPY kept FROM STDIN") as copy:
            for number in range(20_000):
                copy.write_row((f"{number}" * 20,))
        assert len(cursor.execute("SELECT text || text FROM kept").fetchall()) == 20_000
    late = "SELECT repeat('x', 999), CASE g WHEN 9000 THEN {} END"
    late += " FROM generate_series(1, 9000) AS g"
    known = "(SELECT count(*) FROM blend.lexical_search('fox'))"
    found = client.connection.execute(late.format(known).encode()).fetchall()
    assert [count for _, count in found if count is not None] == [10]
    with psycopg.connect(told["url"]) as other:  # what the door knows nothing of
        other.execute(
            "CREATE FUNCTION public.is_new() RETURNS bigint LANGUAGE sql"
            " RETURN (SELECT count(*) FROM blend.lexical_search('fox'))"
        )
    with pytest.raises(psycopg.Error) as raised:
        client.connection.execute(late.format("public.is_new()").encode())
    assert raised.value.sqlstate == "PB017"
    assert "the answer had begun to flow" in str(raised.value.diag.message_detail)


def test_the_door_keeps_nothing_of_a_long_answer(client: Database) -> None:
    process, most = psutil.Process(), 0
    before = process.memory_info().rss
    rows = "SELECT repeat(md5(g::text), 320) FROM generate_series(1, 20000) AS g"
    with client.connection.cursor().copy(f"COPY ({rows}) TO STDOUT".encode()) as copy:
        for place, _ in enumerate(copy):
            if place % 1000 == 0:
                most = max(most, process.memory_info().rss)
    assert most - before < 100 << 20  # of 200 MB


def test_settings_of_the_same_message_are_refused(client: Database) -> None:
    with pytest.raises(psycopg.Error) as raised:
        client.connection.execute("SET app.tenant = '7'; SELECT hybrid_search('fox')")
    assert "send those by themselves" in str(raised.value.diag.message_detail)


@pytest.mark.parametrize(
    "text", ['[{"a": 1}]', "[[1], [2, 3]]", "[[1, 2]]", "[null]", "[1e999]", "[]"]
)
def test_no_literal_that_is_like_a_vector_ends_the_session(client: Database, text: str) -> None:
    statement = f"SELECT '{text}', count(*) FROM lexical_search('fox')"
    found = [client.rows(statement) for _ in range(4)]  # the third is foreseen
    assert all(one == found[0] for one in found)
    assert found[0][0][0] == text


def test_what_the_same_message_wrote_is_not_missed_in_silence(client: Database) -> None:
    """An answer is made before its message runs; the first time, and where it is foreseen."""
    search = "SELECT source_key FROM lexical_search('{0}', options => '{{\"strict\": true}}')"
    store = "SELECT ingest_document('rest', '{0}', 'text of {0}')"

    def in_a_pipeline(*statements: str) -> list[Any]:
        with client.connection.pipeline():
            made = [client.connection.execute(statement) for statement in statements]
            return made[-1].fetchall()

    for word in ("wordan", "wordbo", "wordcy", "worddu"):
        client.connection.execute(search.format(word))  # what is like it will be foreseen
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="has just written") as found:
            client.connection.execute("; ".join((store, search)).format(word))
        assert "send the search by itself" in str(found.value.diag.message_hint)
        try:
            told = in_a_pipeline(store.format(word), search.format(word))
        except psycopg.errors.FeatureNotSupported:
            told = []
        else:  # what came late is answered by itself, and sees it
            assert told == [(word,)]
            client.rows(f"SELECT delete_document('rest', '{word}')")
        assert client.rows(search.format(word)) == []
        with client.connection.transaction(force_rollback=True):
            client.connection.execute(store.format(word))
            assert client.rows(search.format(word)) == [(word,)]
            again = "; ".join((search, search)).format(word)
            assert client.connection.execute(again).fetchall() == [(word,)]
    client.rows(
        "CREATE FUNCTION pg_temp.stored(word text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM ingest_document('rest', word, 'text of ' || word);"
        " RETURN (SELECT count(*) FROM lexical_search(word)); END $$"
    )
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        client.rows("SELECT pg_temp.stored('wordel')")


WROTE = "INSERT INTO pg_temp.wrote SELECT count(*) FROM lexical_search('wine', 3)"


@pytest.fixture
def wrote(client: Database) -> Callable[[], int]:
    """How many rows a table has, each with what a search counts; it is empty at first."""
    client.rows("CREATE TEMP TABLE IF NOT EXISTS wrote (hits bigint)")
    client.rows("TRUNCATE pg_temp.wrote")

    def count() -> int:
        found = client.rows("SELECT hits FROM pg_temp.wrote")
        assert set(found) <= {(3,)}
        return len(found)

    return count


@pytest.mark.parametrize(
    ("before", "end", "is_kept"),
    [
        ("", "COMMIT", True),
        ("/* ; commit */ SELECT ';commit', E'\\';', $a$;end$a$; ", "-- all\nend", True),
        ("", "COMMIT; BEGIN; COMMIT", True),
        ("", "ROLLBACK AND CHAIN; abort", False),
    ],
)
def test_what_ends_in_its_message_is_done_once(
    client: Database, wrote: Callable[[], int], before: str, end: str, is_kept: bool
) -> None:
    """A message runs and is taken back to find out what a search needs: then it must not commit."""
    raw = client.connection.pgconn
    writes = f"{before}{WROTE}; {end}"
    for turn in range(1, 5):
        for first, then in (("", f"BEGIN; {writes}"), ("BEGIN", writes)):
            raw.exec_(first.encode())
            found = raw.exec_(then.encode())
            assert found.status == ExecStatus.COMMAND_OK, found.error_message
            assert raw.transaction_status == TransactionStatus.IDLE
        assert wrote() == 2 * turn * is_kept


def test_what_ends_in_its_pipeline_is_done_once(client: Database, wrote: Callable[[], int]) -> None:
    """Also where the text of COMMIT came before, under a name."""
    for turn in range(1, 5):
        for first in ("SELECT 1", "BEGIN"):
            client.connection.execute(first.encode())
            with client.connection.pipeline():
                if first != "BEGIN":
                    client.connection.execute("BEGIN")
                client.connection.execute(WROTE)
                client.connection.execute("/* all */ COMMIT", prepare=True)
            status = client.connection.info.transaction_status
            assert status == TransactionStatus.IDLE
        assert wrote() == 2 * turn


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (f"SAVEPOINT a; {WROTE}; ROLLBACK TO a", "savepoints: send those by themselves"),
        (f"COMMIT; {WROTE}", "COMMIT cannot be taken back"),
        (f"DEALLOCATE ALL; {WROTE}", "DEALLOCATE ALL cannot be taken back"),
        (f"DO 'BEGIN COMMIT; END'; {WROTE}", None),
    ],
)
def test_what_cannot_be_taken_back_before_a_search_is_refused(
    client: Database, wrote: Callable[[], int], message: str, why: str | None
) -> None:
    client.connection.execute("BEGIN")
    with pytest.raises(psycopg.Error) as raised:
        client.connection.execute(message.encode(), prepare=False)
    assert why is None or why in str(raised.value.diag.message_detail)
    client.connection.execute("ROLLBACK")
    assert wrote() == 0


def test_rows_are_copied_after_a_search_in_one_message(
    client: Database, wrote: Callable[[], int]
) -> None:
    raw = client.connection.pgconn
    for turn in range(1, 5):
        raw.send_query(f"{WROTE}; COPY pg_temp.wrote FROM STDIN".encode())
        found = [one.status for one in waiting.wait(generators.execute(raw), raw.socket)]
        assert found == [ExecStatus.COMMAND_OK, ExecStatus.COPY_IN]
        raw.put_copy_data(b"3\n")
        waiting.wait(generators.copy_end(raw, None), raw.socket)
        assert wrote() == 2 * turn


@pytest.mark.parametrize(
    "message",
    [
        "SELECT 1; EXECUTE asks",
        "SAVEPOINT a; EXECUTE asks",
        "ROLLBACK TO a; EXECUTE asks",
        "/* asks */ EXECUTE asks",
        "EXPLAIN (ANALYZE) EXECUTE asks",
        "CREATE TEMP TABLE asked ON COMMIT DROP AS EXECUTE asks",
        "REFRESH MATERIALIZED VIEW asking",
    ],
)
def test_statements_that_search_without_naming_one(client: Database, message: str) -> None:
    client.rows(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS asking AS SELECT * FROM lexical_search('x')"
    )
    client.connection.execute("DEALLOCATE ALL")
    client.connection.execute("PREPARE asks AS SELECT count(*) FROM lexical_search('wine', 3)")
    with client.connection.transaction(force_rollback=True):
        client.connection.execute("SAVEPOINT a")
        client.connection.execute(message.encode(), prepare=False)
    client.connection.execute("EXECUTE asks; DEALLOCATE asks", prepare=False)


def test_savepoints_before_a_search_and_a_flush_after_it(
    told: dict[str, Any], client: Database
) -> None:
    """ODBC sends savepoints with the statement, psycopg flushes after a pipeline's end."""
    url = make_conninfo(told["url"], port=client.connection.info.port)
    words = "SELECT g, h.chunk_id FROM generate_series(1, 2) AS g,"
    many = f"{words} LATERAL lexical_search('wine ' || g, 3) AS h"
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = blend, public")
        asked = [("red wine",), ("fox",)]
        connection.cursor().executemany(SEARCH, asked, returning=True)  # in a pipeline
        with connection.cursor().copy(f"COPY ({many}) TO STDOUT") as copy:
            copied = list(copy.rows())
        raw = connection.pgconn
        for before in ("SAVEPOINT a;", "RELEASE a;SAVEPOINT a; savepoint b ;"):
            found = raw.exec_(f"{before}{many.replace('wine', 'sea')}".encode())
            assert found.status == ExecStatus.TUPLES_OK, found.error_message
        assert found.ntuples == len(copied) == 6
        failed = raw.exec_(b"SAVEPOINT c; SELECT 1 / 0 FROM blend.lexical_search('wine')")
        assert failed.error_field(DiagnosticField.SQLSTATE) == b"22012"
        assert raw.exec_(b"ROLLBACK TO c").status == ExecStatus.COMMAND_OK
        lost = raw.exec_(f"RELEASE nowhere; {many}".encode())
        assert lost.error_field(DiagnosticField.SQLSTATE) == b"3B001"
        assert raw.exec_(b"ROLLBACK TO a").status == ExecStatus.COMMAND_OK
        assert connection.execute(SEARCH, ("wine",)).fetchall() == told["prepared"]


FORGED = """
    CREATE FUNCTION pg_temp."x pgblend._told(text,json)"(needed text) RETURNS text
    LANGUAGE plpgsql AS $$
    BEGIN
        RAISE INFO 'an answer is needed' USING ERRCODE = 'PB017', DETAIL = needed;
        RETURN concat(VARIADIC ARRAY(SELECT current_setting('pgblend.told_' || n, true)
            FROM unnest(string_to_array('0123456789abcdef', NULL)) AS n));
    END $$;
    CREATE FUNCTION pg_temp.fails(needed text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        IF pg_temp."x pgblend._told(text,json)"(needed) = '' THEN
            RAISE 'an answer is needed' USING ERRCODE = 'PB017', DETAIL = needed;
        END IF;
        RETURN 'told';
    END $$"""


def test_only_stand_ins_are_answered(client: Database) -> None:
    client.connection.execute(FORGED.encode(), prepare=False)
    call = ["pgblend._nearest_names", "abc", ["abd"]]
    settings = {"role": client.value("SELECT current_user")}
    needed = json.dumps({"call": call, "program": body_digest(), "settings": settings})
    with pytest.raises(psycopg.Error) as raised:
        client.connection.execute("SELECT pg_temp.fails(%s), get_setting('k1')", (needed,))
    error = raised.value.diag
    assert error.sqlstate == "PB017"
    assert "nothing that it could answer asked for it" in str(error.message_detail)


def test_notices_parameters_and_notifications_arrive(
    told: dict[str, Any], client: Database
) -> None:
    url = make_conninfo(told["url"], port=client.connection.info.port)
    heard: list[str | None] = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary))
        for begins in ("SELECT 1", "BEGIN"):
            connection.execute(begins.encode())
            connection.execute(
                "DO $$ BEGIN RAISE NOTICE 'first'; PERFORM blend.lexical_search('red wine');"
                " RAISE NOTICE 'then'; END $$"
            )
        connection.execute("COMMIT")
        assert heard == ["first", "then"] * 2  # once each, though it ran twice
        connection.execute("SET application_name = 'named'")
        assert connection.info.parameter_status("application_name") == "named"
        connection.execute("LISTEN door")
        client.connection.execute("NOTIFY door, 'said'")
        connection.execute(SEARCH, ("sea wine",))
        assert [one.payload for one in connection.notifies(timeout=60, stop_after=1)] == ["said"]


def test_a_cancel_arrives_and_too_many_are_refused(told: dict[str, Any], client: Database) -> None:
    connection = client.connection
    timer = threading.Timer(0.5, connection.cancel_safe)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_sleep(60)")
    timer.join()
    url = make_conninfo(told["url"], port=connection.info.port)
    others = [psycopg.connect(url) for _ in range(9)]
    with pytest.raises(psycopg.OperationalError, match="has 10 sessions already"):
        psycopg.connect(url)
    for other in others:
        other.close()


def test_certificates_are_checked_on_both_sides(told: dict[str, Any], tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(chain, key)
    trusting = ssl.create_default_context(cafile=chain)
    checks = {"host": "localhost", "sslmode": "verify-full", "sslrootcert": str(chain)}
    with door_to(told["url"], tls=own) as url:
        # A client that checks; a door that checks, before one with a certificate; one that is wary.
        with psycopg.connect(make_conninfo(url, **checks)) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute(SEARCH, ("wine",)).fetchall() == told["prepared"]
        further = make_conninfo(url, host="localhost")
        with door_to(further, trusting) as there, psycopg.connect(there) as connection:
            assert connection.execute(SEARCH, ("wine",)).fetchall() == told["prepared"]
        with (
            door_to(further, ssl.create_default_context()) as there,
            pytest.raises(psycopg.OperationalError, match="cannot reach the server"),
        ):
            psycopg.connect(there)


def test_the_command_listens_and_ends(told: dict[str, Any], tmp_path: Path) -> None:
    given, ready = conninfo_to_dict(told["url"]), tmp_path / "ready"
    server = f"{given['host']}:{given['port']}"
    options = ("--server", server, "--listen", "127.0.0.1:0", "--ready-file", str(ready))
    command = [sys.executable, "-m", "pgblend.cli.main", "door", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "pgblend door listening on 127.0.0.1:" in process.stderr.readline()
        wait_until(ready.exists, process=process)
        port = json.loads(ready.read_text())["url"].rpartition(":")[2]
        with psycopg.connect(make_conninfo(told["url"], port=port)) as connection:
            found = connection.execute(SEARCH, ("wine",)).fetchall()
            connection.commit()
            process.terminate()
            assert process.wait(20) == 0
            with pytest.raises(psycopg.OperationalError, match="the door is closed"):
                connection.execute("SELECT 1")
    assert found == told["prepared"]


def test_processes_of_a_door_share_sessions_and_end_together(told: dict[str, Any]) -> None:
    with ExitStack() as stack:
        options = ("--processes", "3", "--connections", "3")
        url, process = stack.enter_context(door_process(told["url"], *options))
        children = psutil.Process(process.pid).children()
        assert len(children) == 3
        sessions = [stack.enter_context(psycopg.connect(url)) for _ in range(3)]
        with pytest.raises(psycopg.OperationalError, match="3 sessions already"):
            psycopg.connect(url)
        for session in sessions * 2:  # whichever process has it
            cancel = threading.Timer(0.2, session.cancel_safe)
            cancel.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                session.execute("SELECT pg_sleep(60)")
            cancel.join()  # PostgreSQL 15 signals twice, and what follows would have the second
            session.rollback()
            assert session.execute(SEARCH, ("wine",)).fetchall() == told["prepared"]
        children[0].kill()
        assert process.wait(20) == 1
        for session in sessions:
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")


def test_psql_of_the_command_comes_through_a_door(told: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", told["url"], "psql"]
    asked = "SELECT count(*) FROM blend.lexical_search('wine', 3)"
    done = subprocess.run([*command, "-X", "-At", "-c", asked], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    done = subprocess.run([*command, "-X", "-c", "SELECT 1 / 0"], capture_output=True, text=True)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("options", "told_"),
    [
        (("--listen", "0.0.0.0:0"), "would cross the network in plain text"),
        (("--listen", "nowhere"), "expected HOST:PORT"),
        (("--tls-cert", __file__), "--tls-cert and --tls-key go together"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], told_: str) -> None:
    made = CliRunner().invoke(cli, ["door", "--server", "127.0.0.1:1", *options])
    assert made.exit_code != 0
    assert told_ in made.output


def test_an_error_of_the_program_is_the_statement_s(client: Database) -> None:
    error = client.error("SELECT * FROM hybrid_search('x', options => '{\"fusio\": 1}')")
    assert error.sqlstate == "22023"
    assert 'options has no setting "fusio"' in str(error.message_primary)


def test_who_asks_is_known_whatever_comes_with_the_statement(
    server: Server, two_collections: TwoCollections
) -> None:
    admin, role = two_collections.admin, two_collections.reader_role
    words = "SELECT DISTINCT split_part(content, ' ', 2) FROM blend.chunks ORDER BY 1 LIMIT 8"
    search = "SELECT array_agg(chunk_id) FROM blend.lexical_search('{}')"
    asked = [search.format(word) for word in admin.column(words)]
    expected = [two_collections.reader.value(statement) for statement in asked]
    everything = [admin.value(statement) for statement in asked]
    assert expected != everything
    take_python_away(admin.url)
    with door_to(admin.url) as url, psycopg.connect(url, autocommit=True) as connection:
        for statement, found, whole in zip(asked, expected, everything, strict=True):
            message = f"SELECT set_config('role', '{role}', true); {statement}".encode()
            cursor = connection.execute(message)
            assert cursor.nextset()
            assert cursor.fetchone() == (found,)
            assert connection.execute(statement.encode()).fetchone() == (whole,)
        # What somebody tells himself is no answer where others' rights are at work.
        connection.execute(f"SET ROLE {role}".encode())
        connection.execute("SELECT set_config('pgblend.told_' || s, '{}', false) FROM (VALUES"
                           " ('0'), ('1')) AS v (s)")  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO pgblend_data.pending DEFAULT VALUES")


@pytest.mark.slow
def test_callers_over_http_have_the_rights_of_their_token(
    told: dict[str, Any], module_url: str
) -> None:
    with (
        connect(module_url) as connection,
        door_role(connection, "managed_door", "managed_tenant") as login,
    ):
        Database(connection).rows("SELECT grant_collection('books', 'managed_tenant')")
        url = make_conninfo(module_url, user=login, password=DOOR_PASSWORD)
        token = token_of(connection, "managed_tenant")
        with ServeProcess(url, "--pool-size", "2") as process, process.client(token) as client:
            answers = [
                client.post(path, json={"query": "red fox"}).json()
                for path in ("/v1/search", "/v1/context", "/v1/explain")
            ]
            facets = client.post("/v1/facets", json={"query": "red fox", "keys": ["$collection"]})
            named = {"query": "red fox", "document": answers[0]["results"][0]["source_key"]}
            diagnosed = client.post("/v1/diagnose", json=named)
            ended = Database(connection).column(
                "SELECT query FROM pg_stat_activity WHERE application_name = 'pgblend serve'"
            )
    assert "ROLLBACK" in ended  # serve ran the program itself
    found, context, explained = answers
    assert {row["collection"] for row in found["results"]} == {"books"}
    assert context["parts"]
    assert explained["results"]
    assert [one["value"] for one in facets.json()["facets"]] == ["books"]
    assert diagnosed.status_code == 200, diagnosed.text


def test_documents_show_to_their_readers(client: Database) -> None:
    client.rows("CREATE ROLE managed_eve IN ROLE pgblend_reader")
    try:
        client.rows("SELECT add_collection('house')")
        client.rows("SELECT grant_collection('house', 'managed_eve')")
        put = "SELECT ingest_document('house', %s, %s, readers => %s)"
        client.rows(put, "rules.md", "The windows are closed at night.", None)
        client.rows(put, "salary.md", "The zirconium bonus is paid in May.", ["hr"])
        held = client.value("SELECT sign_groups('{hr}', 'managed_eve')")
        search = "SELECT array_agg(source_key) FROM lexical_search('zirconium')"
        read = "SELECT count(*) FROM documents"
        client.rows("SET ROLE managed_eve")
        assert [client.value(one) for one in (search, read)] == [None, 1]
        client.rows("SELECT set_config('pgblend.groups', %s, false)", held)
        assert [client.value(one) for one in (search, read)] == [["salary.md"], 2]
        client.rows("RESET ROLE")
        # The index cannot be made anew through the door: a right is not taken away by halves.
        for change in (
            "set_document_readers('house', 'salary.md', '{}')",
            "grant_document('house', 'rules.md', 'hr')",
        ):
            error = client.error(f"SELECT {change}")
            assert error.sqlstate == "PB003"
            assert "no right to read is taken away" in str(error.message_primary)
        client.rows("SET ROLE managed_eve")
        assert [client.value(one) for one in (search, read)] == [["salary.md"], 2]
    finally:
        client.rows("RESET ROLE")
        client.rows("SELECT set_config('pgblend.groups', '', false)")
        client.rows("SELECT remove_collection('house')")
        client.rows("DROP ROLE managed_eve")


def test_a_session_whose_role_may_no_longer_search_goes_on_as_inside(
    told: dict[str, Any], client: Database
) -> None:
    client.rows("CREATE ROLE lesser; GRANT lesser TO current_user; SET ROLE lesser")
    try:
        assert client.value("SELECT 'hybrid_search'") == "hybrid_search"
        with client.connection.transaction():
            assert client.value("SELECT 'hybrid_search' || 1") == "hybrid_search1"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="function lexical_search"):
            client.rows(LEXICAL, "wine")
    finally:
        client.rows("RESET ROLE; DROP ROLE lesser")
    assert client.connection.execute(SEARCH, ("wine",)).fetchall() == told["prepared"]


def test_a_document_s_text_is_no_answer(told: dict[str, Any], client: Database) -> None:
    search = "SELECT content FROM lexical_search('quokka', 1)"
    with psycopg.connect(told["url"]) as plain:
        plain.execute("SET search_path = blend, public; SET pgblend.answers = on")
        with pytest.raises(psycopg.Error, match="no PL/Python") as needs:
            plain.execute(search)
    digest = hashlib.md5(str(needs.value.diag.message_detail).encode()).hexdigest()
    text = f"""quokka $pgblend$, true); \\ ' "
{digest} ["{{}}", null, null]
$pgblend"""
    with client.connection.transaction(force_rollback=True):
        client.rows("SELECT ingest_document('books', 'marks', %s)", text)
        assert client.value(search) == text


def test_documents_are_stored_sealed_and_linked(told: dict[str, Any], tmp_path: Path) -> None:
    for number in range(3):
        text = f"# Note {number}\n\nThe wombat of part {number} digs; see [next](n{number + 1}.md)."
        (tmp_path / f"n{number}.md").write_text(text)

    def run(*arguments: str) -> Any:
        made = CliRunner().invoke(cli, ["--database-url", told["url"], *arguments])
        assert made.exit_code == 0, made.output
        return made

    run("ingest", str(tmp_path), "--collection", "notes")
    found = json.loads(run("search", "wombat part", "--json", "-c", "notes").stdout)
    assert len(found["results"]) == 3
    with psycopg.connect(told["url"]) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pgblend_data.pending AS p INNER JOIN pgblend_data.collection AS c"
            " ON c.id = p.collection_id WHERE c.name = 'notes'"
        ).fetchone()
        assert left == (0,)  # ingest seals at its end
        links = connection.execute("SELECT count(target_document_id) FROM pgblend_data.link")
        assert links.fetchone() == (2,)


def test_an_unnamed_statement_outlives_what_the_door_asks(
    told: dict[str, Any], client: Database
) -> None:
    # Some drivers parse without a name, and bind it in a later turn.
    url = make_conninfo(told["url"], port=client.connection.info.port)
    expected = client.rows(SEARCH, "wine")
    for begins in (b"SELECT 1", b"BEGIN"):
        with psycopg.connect(url, autocommit=True) as connection:
            sent = connection.pgconn
            sent.exec_(begins)
            statement = b"SELECT chunk_id, score FROM blend.lexical_search($1, 3)"
            for _ in range(3):
                assert sent.prepare(b"", statement).status == ExecStatus.COMMAND_OK
                for _ in range(2):
                    found = sent.exec_prepared(b"", [b"wine"])
                    rows = [[found.get_value(n, m) for m in (0, 1)] for n in range(found.ntuples)]
                    assert [(int(a or 0), float(b or 0)) for a, b in rows] == expected


CALLING = """
    CREATE FUNCTION pg_temp.calls(word text) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN RETURN (SELECT count(*) FROM blend.lexical_search(word, 3)); END $$;
    CREATE FUNCTION pg_temp.catches(word text) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN RETURN (SELECT count(*) FROM blend.lexical_search(word, 3));
    EXCEPTION WHEN OTHERS THEN RETURN -1; END $$;
    CREATE VIEW public.of_wine AS SELECT * FROM blend.lexical_search('wine', 3);
    CREATE VIEW public.of_view AS SELECT chunk_id, score FROM public.of_wine;
    CREATE TABLE public.noted (word text, hits bigint);
    CREATE PROCEDURE public.notes(word text) LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.noted SELECT word, count(*) FROM blend.lexical_search(word, 3); END $$;
"""


def test_functions_views_and_blocks_of_the_caller(told: dict[str, Any], client: Database) -> None:
    url = make_conninfo(told["url"], port=client.connection.info.port)
    expected = client.rows(SEARCH, "wine")
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(CALLING.encode())
        for begins in ("SELECT 1", "BEGIN"):  # by itself, and in a transaction
            cursor.execute(begins.encode())
            for call in ("calls", "catches"):
                found = cursor.execute(f"SELECT pg_temp.{call}('wine')".encode()).fetchall()
                assert found == [(3,)], call
            assert cursor.execute("SELECT * FROM public.of_view").fetchall() == expected
            cursor.execute("DO $$ BEGIN CALL public.notes('wine'); END $$")
            cursor.execute("CALL public.notes('fox')")
            many = "SELECT sum(n.calls) FROM generate_series(1, 50) AS g,"
            many += " LATERAL (SELECT pg_temp.calls('wine ' || g) AS calls) AS n"
            assert cursor.execute(many.encode()).fetchall() == [(150,)]
        cursor.execute("COMMIT")
        noted = cursor.execute("TABLE public.noted").fetchall()
        assert noted == [("wine", 3), ("fox", 3)] * 2
        cursor.execute("PREPARE wine AS SELECT chunk_id, score FROM blend.lexical_search($1, 3)")
        assert cursor.execute("EXECUTE wine ('wine')").fetchall() == expected
        # What ended a transaction itself before it searches cannot be sent again.
        with pytest.raises(psycopg.Error, match="invalid transaction termination"):
            cursor.execute("DO $$ BEGIN COMMIT; PERFORM blend.lexical_search('sea ' || 7); END $$")


@pytest.mark.parametrize("name", ["straße", "öffnet", '"Übersicht"', '"With Blanks"', "SMALL_2"])
def test_functions_of_any_name_search_in_a_transaction(client: Database, name: str) -> None:
    with client.connection.transaction(force_rollback=True):
        client.rows(
            f"CREATE FUNCTION public.{name}() RETURNS bigint LANGUAGE sql AS"
            " $$ SELECT count(*) FROM blend.lexical_search('wine', 3) $$"
        )
        assert client.value(f"SELECT public.{name}()") == 3


def test_a_search_in_a_parallel_plan_is_an_error_as_inside(client: Database) -> None:
    client.rows(
        "CREATE FUNCTION public.wrongly(word text) RETURNS bigint LANGUAGE sql PARALLEL SAFE AS"
        " $$ SELECT count(*) FROM blend.lexical_search(word, 3) $$;"
        " CREATE TABLE public.word AS SELECT 'wine' AS word; ANALYZE public.word"
    )
    expected = client.rows(LEXICAL, "wine")
    newer = client.connection.info.server_version >= 160000
    name = "debug_parallel_query" if newer else "force_parallel_mode"
    client.rows(
        f"SET {name} = on; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0"
    )
    try:
        with pytest.raises(psycopg.errors.InvalidTransactionState, match="parallel operation"):
            client.rows("SELECT public.wrongly(word) FROM public.word")
        # Routines of pgblend are PARALLEL UNSAFE, so their plans are not parallel.
        assert client.rows(LEXICAL, "wine") == expected
    finally:
        client.rows(f"RESET {name}; RESET parallel_setup_cost; RESET min_parallel_table_scan_size")


def test_a_search_like_the_last_is_answered_before_it_asks(told: dict[str, Any]) -> None:
    by_value = "SELECT chunk_id, score FROM hybrid_search(%s, 5, query_embedding => %s)"
    by_literal = by_value.replace("%s", "'{}'")
    vectors = [f"[{', '.join([number, *['0.1'] * 7])}]" for number in ("1e-05", "0.30000001", "3")]
    with (
        counted(told["url"]) as (there, trips),
        door_to(there) as url,
        psycopg.connect(told["url"], autocommit=True) as other,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        connection.execute("SET search_path = blend, public")
        ways: dict[str, Callable[[str, str], Any]] = {
            "prepared": lambda *given: connection.execute(by_value.encode(), given, prepare=True),
            "literal": lambda *given: connection.execute(by_literal.format(*given).encode()),
        }
        found: dict[str, list[Any]] = {way: [] for way in ways}
        least = dict.fromkeys(ways, 99)
        for given in ((word, vector) for vector in vectors for word in ("wine", "fox")):
            for way in ("prepared", "prepared", "literal", "prepared"):
                before = trips[0]
                found[way].append(ways[way](*given).fetchall())
                least[way] = min(least[way], trips[0] - before)
        assert found["prepared"][::3] == found["prepared"][1::3] == found["literal"]
        assert all(found["literal"])
        # Once more: all that the program asks, and the statement.
        assert least == dict.fromkeys(ways, 2)
        # What is sent ahead fails: the vectors are not there meanwhile.
        with connection.transaction(force_rollback=True):
            connection.execute("ALTER TABLE pgblend_data.embedding_s RENAME TO elsewhere")
            with pytest.raises(psycopg.errors.SerializationFailure, match="was dropped"):
                ways["literal"](*given)
            connection.execute("ROLLBACK")
        assert ways["literal"](*given).fetchall() == found["literal"][-1]
        # Guessed wrong: what is asked depends on rows that others change.
        other.execute("CREATE TABLE public.asked AS SELECT 'fox' AS word")
        by_row = "SELECT chunk_id, score FROM lexical_search((SELECT word FROM asked), 5), asked"
        for word in ("fox", "fox", "fox", "wine", "wine", "sea", "fox"):
            other.execute("UPDATE public.asked SET word = %s", (word,))
            rows = connection.execute(by_row.encode()).fetchall()
            assert rows == connection.execute(LEXICAL.encode(), (word,)).fetchall()
        other.execute("DROP TABLE public.asked")
        # Another role's answer is another's.
        for role in ("pgblend_reader", "none") * 3:
            connection.execute(f"SET ROLE {role}".encode())
            found_by = connection.execute(LEXICAL.encode(), ("wine",)).fetchall()
            assert bool(found_by) == (role == "none")


def test_cursors_and_portals_give_rows_bit_by_bit(told: dict[str, Any], client: Database) -> None:
    url = make_conninfo(told["url"], port=client.connection.info.port)
    many = "SELECT g, h.chunk_id FROM generate_series(1, 9) AS g,"
    many += " LATERAL blend.lexical_search('wine ' || %s || g, 3) AS h"
    # A search that is logged asks once more, when it is answered.
    client.rows("SELECT set_setting('log_address', '\"127.0.0.1:9\"')")
    with psycopg.connect(url) as connection:
        expected = connection.execute(many.encode(), ("x",)).fetchall()
        with connection.cursor("bits") as cursor:
            cursor.execute(many.encode(), ("x",))
            found = cursor.fetchmany(4)
            # Another statement of the transaction, the same search among them, is in between.
            assert connection.execute(many.encode(), ("x",)).fetchall() == expected
            assert found + cursor.fetchall() == expected
        assert len(expected) == 27
        with connection.cursor("stays", withhold=True) as cursor:
            cursor.execute(many.encode(), ("y",))
            connection.commit()
            assert cursor.fetchall() == expected
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM bits")
    client.rows("SELECT reset_setting('log_address')")


def test_nothing_runs_under_a_name_that_somebody_took(
    told: dict[str, Any], client: Database
) -> None:
    url = make_conninfo(told["url"], port=client.connection.info.port)
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(3):
            connection.execute(SEARCH, ("wine",))
        taken = "SELECT name FROM pg_prepared_statements WHERE name ~ '^pgblend_' AND NOT from_sql"
        for (name,) in connection.execute(taken.encode()).fetchall():
            connection.execute(f"DEALLOCATE {name}".encode())
            connection.execute(f"PREPARE {name} AS SELECT set_config('a.b', 'ran', false)".encode())
        with pytest.raises(psycopg.Error, match="somebody prepared in SQL what pgblend named"):
            connection.execute(SEARCH, ("fox",))
        assert connection.execute("SELECT current_setting('a.b', true)").fetchone() == (None,)
        connection.execute("DISCARD ALL")  # as session poolers send it
        found = connection.execute(SEARCH, ("wine",)).fetchall()
        assert found == client.rows(SEARCH, "wine")


def test_a_url_that_names_the_server_s_address_leads_through_a_door(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in (make_conninfo(told["url"], hostaddr="127.0.0.1"), told["url"]):
        with connect(url) as connection:
            assert connection.execute(LEXICAL.encode(), ("wine",)).fetchall()
        monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
