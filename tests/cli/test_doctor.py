"""doctor: each part, healthy and broken, with its mend."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from psycopg import sql
from psycopg.conninfo import make_conninfo

from support.model_provider import GatewayProcess
from support.sampled import sampled

Pgblend = Callable[..., Result]
Examine = Callable[..., dict[str, dict[str, str]]]
ALWAYS = {"connection", "server version", "extension vector", "extension pg_trgm"}
ALWAYS |= {"extension plpython3u", "server's Python", "migrations", "extras"}


@pytest.fixture
def examine(pgblend: Pgblend, parse_valid: Callable[[Result, str], Any]) -> Examine:
    """Run the doctor; its checks by name, after holding exit code and advice to the findings."""

    def run(**options: Any) -> dict[str, dict[str, str]]:
        result = pgblend("doctor", "--json", **options)
        report = parse_valid(result, "doctor")
        checks = {check["name"]: check for check in report["checks"]}
        assert len(checks) == len(report["checks"])
        has_problem = any(check["status"] == "problem" for check in checks.values())
        assert report["healthy"] is not has_problem
        assert result.exit_code == int(has_problem), result.output
        for check in checks.values():
            assert bool(check["mend"]) is (check["status"] != "ok"), check
        return checks

    return run


@pytest.mark.usefixtures("vectors")
def test_all_is_well(pgblend: Pgblend, examine: Examine, gateway: GatewayProcess) -> None:
    checks = examine()
    rest = {"search_path", "program", "indexes", "row security", "gateway", "embedding"}
    rest |= {"memory", "vector index", "indexed words", "lexical index"}
    spaces = {"embedding space test", "embedding queue", "model of test"}
    assert set(checks) == ALWAYS | rest | spaces
    assert [check for check in checks.values() if check["status"] != "ok"] == []
    assert gateway.url in checks["gateway"]["found"]
    assert "384 dimensions" in checks["embedding"]["found"]
    assert "numpy" in checks["server's Python"]["found"]
    written = pgblend("doctor")
    assert (written.exit_code, written.stderr) == (0, "")
    assert "✓ ok       indexes: all valid\n" in written.stdout


def test_an_unreachable_server(examine: Examine) -> None:
    checks = examine(url="postgresql://postgres@127.0.0.1:1/x")
    assert set(checks) == {"extras", "connection"}
    assert checks["connection"]["status"] == "problem"


def test_a_database_without_pgblend(examine: Examine, new_database: Callable[..., str]) -> None:
    checks = examine(url=new_database())
    assert set(checks) == ALWAYS
    for name in ("extension vector", "extension pg_trgm", "migrations"):
        assert checks[name]["status"] == "problem"
        assert checks[name]["mend"] == "run: pgblend migrate up"


def test_without_a_gateway_searches_go_without_vectors(examine: Examine) -> None:
    checks = examine()
    assert checks["gateway"]["status"] == "warning"
    assert "gateway_url" in checks["gateway"]["mend"]
    assert checks["embedding space"]["status"] == "warning"


@pytest.mark.usefixtures("gateway_connection")
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_missing_file_of_certificates(
    examine: Examine,
    gateway: GatewayProcess,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "gone.pem"))
    checks = examine()
    assert checks["gateway"]["status"] == "ok"  # searches do not ask it by the environment either
    check = checks["certificates"]
    assert check["status"] == "problem"
    assert check["found"] == f"{variable} names {tmp_path}/gone.pem, which is not there"
    assert "unset the variable" in check["mend"]
    monkeypatch.delenv(variable)
    assert "certificates" not in examine()


def test_a_gateway_that_is_gone(examine: Examine, connection: psycopg.Connection) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}", "unix:/nowhere/gateway.sock"):
        connection.execute("SELECT set_setting('gateway_url', to_jsonb(%s::text))", [url])
        checks = examine()
        assert checks["gateway"]["status"] == "warning"
        assert url in checks["gateway"]["found"]
        assert checks["embedding"]["status"] == "problem"
        assert url in checks["embedding"]["found"]


@pytest.mark.usefixtures("vectors")
def test_a_model_of_another_size(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute(
        "SELECT create_embedding_space('other', (SELECT model FROM embedding_spaces), 100,"
        " probe => false)"
    )
    checks = examine()
    assert checks["embedding"]["status"] == "problem"
    assert "384" in checks["embedding"]["found"]
    assert checks["embedding space other"]["status"] == "warning"
    assert "3 chunks wait" in checks["embedding space other"]["found"]
    assert "gives 384 dimensions, the space holds 100" in checks["model of other"]["found"]
    assert checks["model of test"]["status"] == "ok"


@pytest.mark.usefixtures("vectors")
def test_drift(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute("DELETE FROM pgblend_data.embedding_test WHERE chunk_id = 1")
    connection.execute(
        "UPDATE pgblend_data.embedding_space SET probe[1:16] = array_fill(0.3::real, '{16}')"
    )
    checks = examine()
    assert checks["embedding space test"]["status"] == "problem"
    assert "1 chunks have no vector" in checks["embedding space test"]["found"]
    assert checks["model of test"]["status"] == "problem"
    assert "other vectors than when the space was made" in checks["model of test"]["found"]


@pytest.mark.usefixtures("vectors")
def test_another_precision_of_the_same_model(
    examine: Examine, connection: psycopg.Connection
) -> None:
    connection.execute(
        "UPDATE pgblend_data.embedding_space AS s SET probe = ("
        "    SELECT array_agg((p.value * (1 + 0.03 * (-1) ^ p.place))::real ORDER BY p.place)"
        "    FROM unnest(s.probe) WITH ORDINALITY AS p (value, place))"
    )
    check = examine()["model of test"]
    assert check["status"] == "ok"
    assert "nearly what the space holds (cosine 0.9996)" in check["found"]
    assert "another precision" in check["found"]


def test_a_search_path_without_blend(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute(
        sql.SQL("ALTER DATABASE {} RESET search_path").format(
            sql.Identifier(connection.info.dbname)
        )
    )
    check = examine()["search_path"]
    assert check["status"] == "warning"
    assert check["found"].endswith(": without blend")
    assert "pgblend migrate up" in check["mend"]


def test_changed_routines(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute("DROP FUNCTION blend.reset_setting")
    check = examine()["migrations"]
    assert check["status"] == "warning"
    assert "pgblend migrate apply" in check["mend"]


def test_a_program_that_is_not_compiled(examine: Examine, connection: psycopg.Connection) -> None:
    assert examine()["program"]["status"] == "ok"
    connection.execute(
        "CREATE OR REPLACE FUNCTION pgblend._program_code() RETURNS bytea LANGUAGE sql"
        " RETURN NULL::bytea"
    )
    check = examine()["program"]
    assert (check["status"], "migrate up" in check["mend"]) == ("warning", True)


def test_an_invalid_index(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'pgblend_data.collection_name_key'::regclass"
    )
    check = examine()["indexes"]
    assert check["status"] == "problem"
    assert check["mend"] == "REINDEX INDEX CONCURRENTLY pgblend_data.collection_name_key"
    connection.execute(check["mend"].encode())
    assert examine()["indexes"]["status"] == "ok"


def test_each_mend_is_a_line_of_its_own(
    pgblend: Pgblend, examine: Examine, connection: psycopg.Connection
) -> None:
    for table in ("chunk", "document"):
        connection.execute(f"ALTER TABLE pgblend_data.{table} DISABLE ROW LEVEL SECURITY")
    connection.execute("GRANT CREATE ON SCHEMA blend, pgblend TO pg_monitor")
    mends = [
        *(f"ALTER TABLE pgblend_data.{t} ENABLE ROW LEVEL SECURITY" for t in ("chunk", "document")),
        *(f"REVOKE CREATE ON SCHEMA {s} FROM pg_monitor" for s in ("blend", "pgblend")),
    ]
    shown = [line.partition("→ ")[2] for line in pgblend("doctor").stdout.splitlines()]
    assert set(mends) <= set(shown)
    assert set(mends) <= {m for c in examine().values() for m in c["mend"].splitlines()}


def test_row_security_that_is_off(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute("ALTER TABLE pgblend_data.chunk DISABLE ROW LEVEL SECURITY")
    check = examine()["row security"]
    assert check["status"] == "problem"
    connection.execute(check["mend"].encode())
    assert examine()["row security"]["status"] == "ok"


def test_many_sets_of_readers_are_told(examine: Examine, connection: psycopg.Connection) -> None:
    """Searches read those of their reader, so documents are for groups rather than people."""
    connection.execute("SELECT add_collection('house')")
    add = (
        "INSERT INTO pgblend_data.collection"
        " (name, text_search_config, settings, buckets, parent_id, readers_digest)"
        " SELECT c.name, c.text_search_config, c.settings, c.buckets, c.id, %s || n"
        " FROM pgblend_data.collection AS c, generate_series(1, %s) AS n WHERE c.parent_id IS NULL"
    )
    connection.execute(add, ["a", 1000])
    assert "sets of readers in house" not in examine()
    connection.execute(add, ["b", 1])
    check = examine()["sets of readers in house"]
    assert (check["status"], check["found"][:6]) == ("warning", "1,001:")


def test_a_schema_in_which_others_may_create(
    examine: Examine, connection: psycopg.Connection
) -> None:
    assert "schemas" not in examine()
    connection.execute("GRANT CREATE ON SCHEMA blend TO pgblend_reader")
    connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")  # vector is there
    check = examine()["schemas"]
    assert check["status"] == "warning"
    assert check["found"] == (
        "pgblend_reader may create objects in blend, PUBLIC may create objects in public"
    )
    for mend in check["mend"].splitlines():
        connection.execute(mend.encode())
    assert "schemas" not in examine()


def test_a_reader_gets_what_it_may_know(
    examine: Examine, connect_as: Callable[..., psycopg.Connection], database_url: str
) -> None:
    reader = connect_as("pgblend_reader").info
    url = make_conninfo(database_url, user=reader.user, password=reader.password)
    checks = examine(url=url)
    assert checks["server's Python"]["status"] == "skipped"
    assert checks["indexes"]["status"] == "ok"
    assert checks["search_path"]["status"] == "ok"


def test_the_doctor_changes_nothing(examine: Examine, connection: psycopg.Connection) -> None:
    count = "SELECT count(*) FROM pg_proc"
    before = connection.execute(count).fetchone()
    examine()
    assert connection.execute(count).fetchone() == before


def test_words_of_other_rules(examine: Examine, connection: psycopg.Connection) -> None:
    connection.execute("SELECT blend.add_collection('dated')")
    texts = ["node"] * 60 + ["of 1,250 nodes"] + ["node"] * 60
    ingest = "SELECT blend.ingest_document('dated', place::text, text) FROM unnest(%s::text[])"
    connection.execute(f"{ingest} WITH ORDINALITY AS t (text, place)", [texts])
    assert examine()["indexed words"]["status"] == "ok"
    connection.execute("ALTER TABLE pgblend_data.chunk DISABLE TRIGGER USER")
    stale = "UPDATE pgblend_data.chunk SET lexemes = $$'1':1 '250':2 'node':3$$"
    connection.execute(f"{stale} WHERE content = 'of 1,250 nodes'")
    connection.execute("ALTER TABLE pgblend_data.chunk ENABLE TRIGGER USER")
    check = examine()["indexed words"]
    assert check["status"] == "warning"
    assert "dated" in check["found"]
    assert "pgblend reindex --rebuild" in check["mend"]


BROKEN_INDEXES = {
    "none at all": ("DELETE FROM pgblend_data.segment", "uninitialized: ", True),
    "damaged": ("DELETE FROM pgblend_data.posting", "error: segment ", True),
    "incomplete": (
        "DELETE FROM pgblend_data.pending",
        "error: the index holds 1 of 3 chunks",
        False,
    ),
    "failed": (
        "INSERT INTO pgblend_data.lexical_failure (collection_id, message, failed_at)"
        " SELECT id, 'the disk is full', now() FROM pgblend_data.collection",
        "error: the disk is full",
        True,
    ),
}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "case", sampled({name: (case,) for name, case in BROKEN_INDEXES.items()}, 2)
)
def test_a_broken_lexical_index_is_told_and_its_mend_mends_it(
    pgblend: Pgblend, examine: Examine, connection: psycopg.Connection, case: tuple[str, str, bool]
) -> None:
    statement, found, seals_all = case
    if not seals_all:  # what came since waits beside one document that is sealed
        connection.execute("DELETE FROM pgblend_data.document WHERE source_key <> 'sea.md'")
    connection.execute("SELECT blend.lexical_seal('library')")
    if not seals_all:
        for key in ("a", "b"):
            text = f"A walrus {key}."
            connection.execute("SELECT blend.ingest_document('library', %s, %s)", [key, text])
    assert examine()["lexical index"]["status"] == "ok"
    connection.execute(statement)
    check = examine()["lexical index of library"]
    assert check["status"] == "problem"
    assert check["found"].startswith(found)
    assert check["mend"] == "run: pgblend reindex --rebuild -c library"
    assert pgblend("reindex", "--rebuild", "-c", "library").exit_code == 0
    assert examine()["lexical index"]["status"] == "ok"
    assert connection.execute("SELECT count(*) FROM blend.lexical_search('ships')").fetchone() == (
        1,
    )


def test_dictionaries_that_nothing_uses(examine: Examine, connection: psycopg.Connection) -> None:
    installed = connection.execute(
        "SELECT count(*) FROM pg_config AS c, pg_ls_dir(c.setting || '/tsearch_data') AS f"
        " WHERE c.name = 'SHAREDIR' AND f = 'pl_pl.affix'"
    ).fetchone()
    if installed == (0,):
        pytest.skip("the Hunspell dictionary pl_pl is not installed")
    assert "dictionaries" not in examine()
    connection.execute("SELECT add_collection('plain')")
    connection.execute("SELECT ingest_document('plain', 'k', 'tekst', language => 'simple')")
    found = examine()["dictionaries"]
    assert "pl_pl" in found["found"]
    assert "create_hunspell_config" in found["mend"]
    connection.execute("SELECT create_hunspell_config('polish', 'pl_pl')")
    assert "pl_pl" not in examine().get("dictionaries", {"found": ""})["found"]
