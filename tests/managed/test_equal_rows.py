"""The program outside the backend answers as inside: rows, warnings, errors, rights."""

import json
from typing import Any

import pytest
from conftest import TwoCollections

from pgblend.cli.base.database import connect
from pgblend.cli.search.calls_outside import SearchArguments, context, search
from pgblend.cli.search.connection import Connection
from pgblend.cli.search.outside import StatementError
from pgblend.plpy.base.session import ProgramError
from support.database import Database
from support.outside import rows_outside
from support.random_searches import VECTOR
from support.raw_server import RawServer, http_answer

EXPLAINED = ("query", "profile", "meta", "collections", "settings", "degraded")
PLACES = ("rank", "chunk_id", "score", "arms", "parts", "places")


def test_an_explanation_is_the_same(library: Database, outside: Connection) -> None:
    told = library.value("SELECT search_explain('red fox', query_embedding => %s)", VECTOR)
    answer = search(outside, SearchArguments("red fox", query_embedding=VECTOR, traced="page"))
    found = json.loads(answer["trace"] or "")
    for trace in (told, found):
        trace["results"] = [{name: row.get(name) for name in PLACES} for row in trace["results"]]
        trace["stages"] = [
            {name: value for name, value in stage.items() if "ms" not in name}
            for stage in trace["stages"]
        ]
    assert {name: found[name] for name in (*EXPLAINED, "results", "stages")} == {
        name: told[name] for name in (*EXPLAINED, "results", "stages")
    }


@pytest.mark.parametrize("output_format", ["json", "markdown", "messages"])
def test_a_context_is_the_same(library: Database, outside: Connection, output_format: str) -> None:
    told = library.value(
        "SELECT get_context('red fox', query_embedding => %s, output_format => %s)",
        VECTOR,
        output_format,
    )
    found = context(outside, SearchArguments("red fox", 20, query_embedding=VECTOR), output_format)
    for made in (told, found):
        assert made["stats"].pop("ms").keys() == {"search", "assembly"}
    assert found == told
    assert told["parts"]


def test_only_a_search_heeds_the_columns_that_are_named(
    library: Database, outside: Connection
) -> None:
    named = '{"columns": ["title"]}'
    statement = "SELECT to_jsonb(r) FROM hybrid_search('red fox', options => %s) AS r"
    inside = library.column(statement, named)
    found = search(outside, SearchArguments("red fox", options=named))["results"]
    assert [row._asdict() for row in found] == inside
    assert {row["content"] for row in inside} == {None}
    contexts = [
        context(outside, SearchArguments("red fox", options=options))["parts"]
        for options in (named, "{}")
    ]
    assert contexts[0] == contexts[1] != []


WRONG = [
    (SearchArguments("x", -1), "result_limit => -1"),
    (SearchArguments("x", options='{"fusio": "rrf"}'), """options => '{"fusio": "rrf"}'"""),
    (SearchArguments("x", collections=["none"]), "collections => '{none}'"),
    (SearchArguments("x", filter='{"a": {"above": 1}}'), """filter => '{"a": {"above": 1}}'"""),
    (SearchArguments("x", profile="none"), "profile => 'none'"),
    (SearchArguments("x", query_embedding="[1,2]"), "query_embedding => '[1,2]'"),
    (
        SearchArguments("x", query_embedding="[0,0,0,0,0,0,0,0]"),
        "query_embedding => '[0,0,0,0,0,0,0,0]'",
    ),
    (SearchArguments("x", options="[]"), "options => '[]'"),
    (SearchArguments("y" * 100_001), None),
]


@pytest.mark.parametrize(("asked", "argument"), WRONG)
def test_wrong_calls_end_with_the_same_error(
    library: Database, outside: Connection, asked: SearchArguments, argument: str | None
) -> None:
    more = f", {argument}" if argument else ""
    diagnosis = library.error(f"SELECT * FROM hybrid_search(%s{more})", asked.query)
    with pytest.raises((StatementError, ProgramError)) as raised:
        search(outside, asked)
    error: Any = raised.value
    message = error.message if isinstance(error, ProgramError) else str(error)
    expected = diagnosis.sqlstate, diagnosis.message_primary, diagnosis.message_hint
    assert (error.sqlstate, message, error.hint) == expected
    # The connection is as good as before.
    assert search(outside, SearchArguments("red fox", query_embedding=VECTOR))["results"]


@pytest.mark.parametrize(
    "answer",
    [
        http_answer(json.dumps({"data": [{"embedding": json.loads(VECTOR)}]}).encode()),
        http_answer(b'{"error": {"message": "no such model"}}', "404 Not Found"),
        http_answer(b'{"data": []}'),
        None,
    ],
    ids=["vector", "error", "nonsense", "hung up"],
)
def test_the_gateway_is_asked_the_same(
    library: Database, outside: Connection, answer: bytes | None
) -> None:
    bodies: list[bytes] = []

    def respond(body: bytes) -> bytes | None:
        bodies.append(body)
        return answer

    statement = "SELECT * FROM hybrid_search('red fox', 5, options => %s)"
    options = json.dumps({"expand": "off", "timeouts_ms": {"embed": 300}})
    with RawServer(respond) as gateway:
        library.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
        try:
            library.warnings()
            expected = library.rows(statement, options)
            inside, asked = library.warnings(), bodies.copy()
            bodies.clear()
            asked_outside = SearchArguments("red fox", 5, options=options)
            assert rows_outside(outside, library, asked_outside) == expected
        finally:
            library.rows("SELECT reset_setting('gateway_url')")
    assert [message for message, _ in outside.warnings] == inside
    assert list(map(json.loads, bodies)) == list(map(json.loads, asked))
    assert bodies
    assert outside.kept("calls") == {}


def test_a_reader_sees_what_it_sees_inside(two_collections: TwoCollections) -> None:
    admin, reader, role, only_open = (
        two_collections.admin,
        two_collections.reader,
        two_collections.reader_role,
        two_collections.only_open,
    )
    words = admin.column("SELECT DISTINCT split_part(content, ' ', 2) FROM blend.chunks LIMIT 20")
    with connect(admin.url) as connection:
        as_reader = Connection(connection)
        for word in words:
            expected = reader.rows("SELECT * FROM lexical_search(%s)", word)
            asked = SearchArguments(word, only_arm="lexical")
            assert rows_outside(as_reader, admin, asked, role) == expected
            scores = [row[1] for row in expected]
            assert scores == only_open.column("SELECT score FROM lexical_search(%s)", word)
        with pytest.raises((StatementError, ProgramError)) as raised:
            search(as_reader, SearchArguments("x", collections=["secret"]), role)
        named = reader.error("SELECT * FROM hybrid_search('x', collections => '{secret}')")
        error: Any = raised.value
        assert error.sqlstate == named.sqlstate
        # Whoever comes next over this connection is who logged in.
        assert connection.execute("SELECT current_user = session_user").fetchone() == (True,)


def test_a_connection_that_begins_transactions_is_refused(library: Database) -> None:
    with connect(library.url) as connection:
        connection.autocommit = False
        with pytest.raises(ValueError, match="autocommit"):
            Connection(connection)


def test_warnings_are_those_of_the_last_call(outside: Connection) -> None:
    for _ in range(2):
        search(outside, SearchArguments("red fox"))
        assert len(outside.warnings) == 1  # no gateway makes the query's vector
    search(outside, SearchArguments("red fox", only_arm="lexical"))
    assert outside.warnings == []
