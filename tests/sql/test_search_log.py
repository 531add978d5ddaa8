"""Each search is reported by one datagram; users say what they think of its rows."""

import hashlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.search.datagram import send_datagram
from support.database import Database, add_documents, add_space, embed_waiting, vector_of

Receive = Callable[[], dict[str, Any] | None]


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("one", "", "a red fox"), ("two", "", "a brown fox")])
    return db


@pytest.fixture
def receiver(library: Database) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(5)
        address = f"127.0.0.1:{opened.getsockname()[1]}"
        library.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        yield opened


def received(receiver: socket.socket) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(receiver.recv(65536))
    return report


def test_a_search_is_reported(library: Database, receiver: socket.socket) -> None:
    rows = library.rows(
        "SELECT chunk_id, document_id, score, details FROM hybrid_search('red fox', options => %s)",
        '{"mode": "fast"}',
    )
    report = received(receiver)
    assert report["search_id"] == rows[0][3]["search_id"]
    assert report["role"] == library.value("SELECT session_user::text")
    assert {name: report[name] for name in ("query", "collections", "profile", "mode", "rows")} == {
        "query": "red fox",
        "collections": ["c"],
        "profile": "balanced",
        "mode": "fast",
        "rows": 2,
    }
    assert report["top_score"] == rows[0][2]
    assert report["results"] == [
        {"rank": rank, "chunk_id": row[0], "document_id": row[1], "score": row[2]}
        for rank, row in enumerate(rows, 1)
    ]
    names = [stage["name"] for stage in report["stages"]]
    assert names[-5:] == [  # before these, what a session's first search does
        *("lexical", "fuse", "dedup", "page", "fetch"),  # fuzzy: no word is unknown
    ]
    assert names[:-5] in ([], ["warm_up"])
    assert all(stage["ms"] >= 0 for stage in report["stages"])
    assert report["degraded"][0].startswith("vector: no embedding space yet")
    assert report["ms"] > 0


def traced(library: Database, receiver: socket.socket, call: str, **options: Any) -> Any:
    """What the log gets of a call beside what every search has."""
    patient = {"mode": "fast", "timeouts_ms": {"lexical": 60000}}
    library.rows(f"SELECT * FROM {call}", Jsonb({**patient, **options}))
    report = received(receiver)
    assert report["purpose"] == "search"
    trace = report["trace"]
    assert trace.pop("time_to_first_result_ms") == report["ms"]
    return trace


def embed(library: Database) -> None:
    add_space(library)
    embed_waiting(library)


WORDS = {"bm25_status": "ready", "attempts": 1, "timeout_ms": 60000}
SEARCH = {"query_len": 7, "top_k": 10, "strict": False, "fallback_used": False}


@pytest.mark.parametrize(
    ("call", "options", "expected"),
    [
        (
            "hybrid_search('red fox', options => %s)",
            {"fusion": "rrf", "rrf_k": 20, "mmr": {"lambda": 0.5},
             "timeouts_ms": {"lexical": 59000}},
            {"strategy": "hybrid", "rrf_k": 20, "mmr_lambda": 0.5, "files_touched": 2,
             "dedup_ratio": 0, "bm25_results": 2, "dense_results": 2} | WORDS
            | {"timeout_ms": 59000},
        ),
        (
            "hybrid_search('red fox', 1, options => %s)",
            {"strict": True, "dedup": "off"},
            {"strategy": "hybrid", "top_k": 1, "strict": True, "files_touched": 1,
             "bm25_results": 2, "dense_results": 2} | WORDS,
        ),
        (
            "lexical_search('red fox', options => %s)", {},
            {"strategy": "sparse", "files_touched": 2, "dedup_ratio": 0, "bm25_results": 2} | WORDS,
        ),
        (
            "lexical_search('unknown', options => %s, filter => '{\"$source_key\": \"none\"}')", {},
            {"strategy": "sparse", "files_touched": 0, "bm25_results": 0} | WORDS,
        ),
        (
            "vector_search('red fox', options => %s)", {},
            {"strategy": "dense", "files_touched": 2, "dedup_ratio": 0, "dense_results": 2},
        ),
        (
            "fuzzy_search('red fox', options => %s)", {},
            {"strategy": "fuzzy", "files_touched": 2, "dedup_ratio": 0},
        ),
    ],
)  # fmt: skip
def test_what_is_known_of_a_search(
    library: Database, receiver: socket.socket, call: str, options: dict[str, Any], expected: Any
) -> None:
    embed(library)
    if "hybrid" in call or "vector" in call:
        call = call.replace("options", f"query_embedding => '{vector_of('red fox')}', options")
    assert traced(library, receiver, call, **options) == SEARCH | expected


@pytest.mark.parametrize(
    ("damage", "status", "attempts", "found"),
    [
        ("DELETE FROM pgblend_data.document", "empty", 1, 0),
        # Once more, since it may have been built meanwhile, and once without it.
        (
            "DELETE FROM pgblend_data.pending; DELETE FROM pgblend_data.segment",
            *("uninitialized", 3, 2),
        ),
    ],
)
def test_words_that_cannot_be_searched(
    library: Database,
    receiver: socket.socket,
    damage: str,
    status: str,
    attempts: int,
    found: int,
) -> None:
    embed(library)
    library.rows(damage)
    call = f"hybrid_search('red fox', query_embedding => '{vector_of('red fox')}', options => %s)"
    trace = traced(library, receiver, call)
    assert (trace["bm25_status"], trace["bm25_results"]) == (status, 0)
    assert (trace["dense_results"], trace["fallback_used"]) == (found, found > 0)
    assert trace["attempts"] == attempts
    assert [trace.get(name) for name in ("bm25_len", "dense_len")] == (
        [0, found] if found else [None, None]
    )


def test_a_context_says_what_it_took(library: Database, receiver: socket.socket) -> None:
    add_documents(library, "c", [("three", "", "a red fox and a dog")])
    options = Jsonb({"mode": "fast"})
    stats = library.value("SELECT get_context('fox', options => %s) -> 'stats'", options)
    trace = received(receiver)["trace"]
    assert (trace["budget_used"], trace["files_touched"]) == (stats["tokens"], 3)
    assert trace["dedup_ratio"] == stats["duplication_ratio"]
    meta = library.value("SELECT ask('fox', options => %s, answer => false) -> 'meta'", options)
    trace = received(receiver)["trace"]
    assert (trace["budget_used"], trace["files_touched"]) == (meta["tokens"], 3)


def test_evaluations_are_marked(library: Database, receiver: socket.socket) -> None:
    library.rows("SELECT add_judged_set('mine', 'c')")
    library.rows("SELECT record_judgement('mine', 'red', 'one', 1)")
    run = library.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 10)")
    library.rows("SELECT evaluate_queries(%s)", run)
    assert received(receiver)["purpose"] == "evaluation"
    library.rows("SELECT * FROM lexical_search('fox')")
    assert received(receiver)["purpose"] == "search"


@pytest.mark.parametrize(
    ("call", "purpose"),
    [
        ("* FROM hybrid_search('fox', options => %s)", "search"),
        ("get_context('fox', options => %s)", "search"),
        ("ask('fox', answer => false, options => %s)", "search"),
        ("* FROM search_facets('fox', ARRAY['$language'], options => %s)", "facets"),
        ("search_explain('fox', options => %s)", "explain"),
        ("search_diagnose('fox', 'one', options => %s)", "diagnose"),
    ],
)
def test_each_has_its_purpose(
    library: Database, receiver: socket.socket, call: str, purpose: str
) -> None:
    library.rows(f"SELECT {call}", Jsonb({"mode": "fast"}))
    assert received(receiver)["purpose"] == purpose
    library.rows("SELECT set_config('pgblend.purpose', 'typed', false)")
    library.rows(f"SELECT {call}", Jsonb({"mode": "fast"}))
    library.rows("RESET pgblend.purpose")
    while (told := received(receiver)["purpose"]) == purpose:  # a diagnosis may search again
        pass
    assert told == "typed"


def test_the_largest_report_fits_a_datagram(library: Database, receiver: socket.socket) -> None:
    for number in range(60):
        library.rows("SELECT add_collection(%s)", f"{number:02}" + "\N{GRINNING FACE}" * 98)
    library.rows("SELECT * FROM hybrid_search(repeat(%s, 9000))", "\N{GRINNING FACE}")
    report = received(receiver)
    assert (len(report["query"]), len(report["collections"])) == (4000, 50)
    assert report["trace"]["query_len"] == 9000


@pytest.mark.parametrize(
    ("setting", "told"), [("off", None), ("hash", hashlib.sha256(b"red fox").hexdigest())]
)
def test_queries_may_be_kept_out(
    library: Database, receiver: socket.socket, setting: str, told: str | None
) -> None:
    library.rows("SELECT set_setting('log_queries', %s)", Jsonb(setting))
    library.rows("SELECT * FROM lexical_search('red fox')")
    assert received(receiver)["query"] == told


def test_what_is_no_search_is_not_reported(library: Database, receiver: socket.socket) -> None:
    library.rows("SELECT * FROM hybrid_search('  ')")
    library.rows("SELECT * FROM rerank_candidates('fox')")
    library.rows("SELECT * FROM hybrid_search('last')")
    assert received(receiver)["query"] == "last"


def test_a_long_query_is_cut(library: Database, receiver: socket.socket) -> None:
    library.rows("SELECT * FROM lexical_search(repeat('fox ', 20000))")
    assert len(received(receiver)["query"]) == 4000


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "[::1]:1", "unix:/nowhere/at/all", "localhost:1"]
)
def test_nobody_need_listen(library: Database, address: str) -> None:
    library.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
    assert len(library.rows("SELECT * FROM lexical_search('fox')")) == 2
    assert library.warnings() == []


def test_nothing_is_reported_without_an_address(library: Database) -> None:
    (row, *_) = library.rows("SELECT details FROM lexical_search('fox')")
    assert "search_id" not in row[0]


def test_datagrams_to_nowhere_are_no_errors(tmp_path: Any) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"{tmp_path}/log")
        assert send_datagram(f"unix:{tmp_path}/log", "one") is True
        assert receiver.recv(10) == b"one"
    assert send_datagram("127.0.0.1:99999", "x") is False
    assert send_datagram("999.0.0.1:1", "x") is False
    assert send_datagram("127.0.0.1:9", "x" * 100_000) is False


def log(db: Database, role: str, query: str | None = "red fox") -> str:
    """Put a search into the log as the gateway would; return its id."""
    search_id: str = db.value(
        """INSERT INTO pgblend_data.search_log (
            search_id, searched_at, role_name, query, collections, result_count, milliseconds,
            stages, degraded, results, trace)
        VALUES (gen_random_uuid(), now(), %s, %s, '{c}', 2, 1, '[]', '{}', '[]', '{}')
        RETURNING search_id::text""",
        role,
        query,
    )
    return search_id


def test_feedback_is_a_judgement(library: Database) -> None:
    search_id = log(library, library.value("SELECT session_user::text"))
    (chunk, *_) = library.column("SELECT chunk_id FROM lexical_search('red')")
    for grade in (2, 1):
        library.rows("SELECT feedback(%s, %s, %s)", search_id, chunk, grade)
    judged = "SELECT judged_set, query, source_key, grade FROM judgements"
    assert library.rows(judged) == [("feedback: c", "red fox", "one", 1)]
    library.rows("SELECT feedback(%s, %s, NULL)", search_id, chunk)
    assert library.rows(judged) == []


@pytest.mark.parametrize("case", ["unknown", "hidden", "no query", "no passage", "NULL"])
def test_feedback_that_cannot_be(library: Database, case: str) -> None:
    own = library.value("SELECT session_user::text")
    search_id = log(library, own, None if case == "no query" else "red fox")
    chunk: int = library.value("SELECT min(id) FROM pgblend_data.chunk")
    given: str | None = {"unknown": "00000000-0000-0000-0000-000000000000", "NULL": None}.get(
        case, search_id
    )
    if case == "hidden":
        library.rows("UPDATE pgblend_data.search_log SET role_name = 'nobody there'")
    if case == "no passage":
        chunk = -1
    error = library.error("SELECT feedback(%s, %s, 1)", given, chunk)
    assert error.sqlstate == "22023"
    assert error.message_hint


def test_a_reader_gives_no_feedback_and_reads_no_log(committed: Database, connect_as: Any) -> None:
    reader: psycopg.Connection = connect_as("pgblend_reader")
    for statement in (
        "SELECT feedback(gen_random_uuid(), 1, 1)",
        "SELECT pgblend._logged_search(gen_random_uuid())",
        "SELECT pgblend._send_report('{}', 'x', 'on', '127.0.0.1:9', '/')",
        "SELECT * FROM pgblend_data.search_log",
    ):
        assert Database(reader).error(statement).sqlstate == "42501"
