"""What people and programs reach a coordinator by: the HTTP door, the doctor, the page, vectors."""

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import LIBRARIES, Server
from scale.conftest import Originals, made_scale

from pgblend.cli.base.places import push_changes
from support.gateway_process import GatewayProcess
from support.model_library import WEAK
from support.model_provider import DEFAULT_DIMENSIONS, ModelProvider
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.shards import Scale, kill_at, run_command

pytestmark = pytest.mark.slow

OTHER = {
    *("ms", "start_ms", "total_ms", "models_ms"),
    *("created_at", "ingested_at", "search_id", "usage"),
}
SEARCHES = {
    "/v1/search": {"query": "red wine", "limit": 3},
    "/v1/search in collections": {"query": "wien", "collections": ["books"]},
    "/v1/context": {"query": "wine"},
    "/v1/ask": {"query": "where is wine from?"},
    "/v1/facets": {"query": "wine", "keys": ["$collection", "$title"]},
    "/v1/explain": {"query": "wine"},
    "/v1/diagnose": {"query": "wine", "document": "sea", "collections": ["books"]},
    "/page/overview": {},
}


@pytest.fixture(scope="module")
def filled(
    originals: Originals, session_gateway: GatewayProcess, session_provider: ModelProvider
) -> Iterator[Scale]:
    """One node and two shards; a space of each was made, filled and put in the other's place."""
    session_provider.reset()
    with made_scale(originals, 2) as made:
        for collection, library in zip(("books", "rest"), LIBRARIES.values(), strict=True):
            for key, title, content in library:
                made.add(collection, key, content, title)
        for database in (made.one, made.coordinator):
            settings = {
                "gateway_url": session_gateway.url,
                "answer_model": session_provider.plain_chat_model,
                **WEAK,
            }
            for name, value in settings.items():
                database.rows("SELECT set_setting(%s, %s)", name, psycopg.types.json.Jsonb(value))
        run_command(made.coordinator.url, "shards", "push")
        yield made


def spaces(scale: Scale) -> list[Any]:
    """Return what the one node and the coordinator say of embedding spaces."""
    query = (
        "SELECT s.name, s.active, s.model, c.chunks, c.vectors, c.waiting, c.missing"
        " FROM embedding_spaces AS s CROSS JOIN LATERAL count_vectors(s.name) AS c ORDER BY 1"
    )
    return [database.rows(query) for database in (scale.one, scale.coordinator)]


@pytest.fixture(scope="module")
def spaced(filled: Scale, session_provider: ModelProvider) -> Scale:
    """Put a space of the provider's model in the place of the first one, by commands."""
    made = ("--model", session_provider.model, "--dimensions", str(DEFAULT_DIMENSIONS))
    for database in (filled.one, filled.coordinator):
        run_command(database.url, "space", "create", "real", *made)
    one, coordinator = spaces(filled)
    assert coordinator == one
    for database in (filled.one, filled.coordinator):
        run_command(database.url, "space", "fill", "real")
    one, coordinator = spaces(filled)
    assert coordinator == one
    assert [row[4] for row in coordinator if row[0] == "real"] == [6]
    for database in (filled.one, filled.coordinator):
        run_command(database.url, "space", "switch", "real")
        run_command(database.url, "space", "drop", "s", "--yes")
    one, coordinator = spaces(filled)
    assert coordinator == one
    assert [row[:2] for row in coordinator] == [("real", True)]
    return filled


def test_vectors_of_a_filled_space_are_searched(spaced: Scale) -> None:
    query = "SELECT chunk_id, score FROM vector_search('a ship on the sea', 10)"
    found = spaced.coordinator.rows(query)
    assert len(found) == 6
    assert found == spaced.one.rows(query)


def test_the_worker_makes_the_vectors_of_all_shards(spaced: Scale) -> None:
    for place in range(8):
        spaced.add("briefe", f"n{place}", f"ein neuer Wein {place}")
    waiting = "SELECT waiting FROM count_vectors()"
    assert spaced.coordinator.value(waiting) == 8
    for database in (spaced.one, spaced.coordinator):
        run_command(database.url, "worker", "--once")
        assert database.value(waiting) == 0
    query = "SELECT chunk_id, score FROM vector_search('neuer Wein', 20)"
    found = spaced.coordinator.rows(query)
    assert len(found) == 14
    assert found == spaced.one.rows(query)
    for place in range(8):
        spaced.forget("briefe", f"n{place}")


def test_a_worker_that_is_killed_between_shards_leaves_the_rest_to_the_next(spaced: Scale) -> None:
    url, keys = spaced.coordinator.url, [f"r{place}" for place in range(12)]
    for key in keys:
        spaced.add("briefe", key, f"ein roter Wein {key}")
    vectors, first = "SELECT count(*) FROM pgblend_data.embedding_real", spaced.shards[0]
    before = first.value(vectors)
    kill_at(
        spaced.shards[1].url,
        "embedding_real",
        lambda: first.value(vectors) > before,
        *(url, "worker", "--once"),
    )
    assert spaced.coordinator.value("SELECT waiting FROM count_vectors()") > 0
    run_command(url, "worker", "--once")
    run_command(spaced.one.url, "worker", "--once")
    assert spaced.coordinator.row("SELECT waiting, missing FROM count_vectors()") == (0, 0)
    query = "SELECT chunk_id, score FROM vector_search('roter Wein', 50)"
    assert spaced.coordinator.rows(query) == spaced.one.rows(query)
    for key in keys:
        spaced.forget("briefe", key)


def plain(value: Any) -> Any:
    """Return an answer without what differs between any two databases."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in OTHER}
    return [plain(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module", params=["inside", "outside"])
def doors(
    spaced: Scale, server: Server, request: pytest.FixtureRequest
) -> Iterator[list[tuple[ServeProcess, str]]]:
    """A door to the one node and one to the coordinator, each with a reader's token.

    Outside, the first runs the program itself; the other asks PostgreSQL, which asks the shards.
    """
    admin, reader = spaced.one.connection, f"scale_reader_{os.getpid()}"
    databases = spaced.one, spaced.coordinator
    with door_role(admin, f"scale_door_{os.getpid()}", reader) as login:
        spaced.one.rows(f"ALTER ROLE {reader} LOGIN PASSWORD 'x'")
        try:
            run_command(spaced.coordinator.url, "shards", "grant", reader, "--password", "x")
            for database in databases:
                run_command(database.url, "collection", "grant", "books", reader)
                database.rows("SELECT set_setting('serve_program', %s)", json.dumps(request.param))
            push_changes(spaced.coordinator.connection)
            urls = [
                server.url(one.connection.info.dbname, user=login, password=DOOR_PASSWORD)
                for one in databases
            ]
            with ServeProcess(urls[0]) as one, ServeProcess(urls[1]) as other:
                tokens = [token_of(each.connection, reader) for each in databases]
                yield [(one, tokens[0]), (other, tokens[1])]
        finally:
            for database in databases:
                database.rows("SELECT reset_setting('serve_program')")
            push_changes(spaced.coordinator.connection)
            for database in (*databases, *spaced.shards):
                database.rows(f"DROP OWNED BY {reader}")
                database.rows(f"DROP OWNED BY {login}")
                database.rows("SELECT revoke_collection('books', %s)", reader)
            spaced.coordinator.rows(
                f"DROP USER MAPPING IF EXISTS FOR {reader} SERVER pgblend_shards"
            )


@pytest.mark.parametrize("name", SEARCHES)
def test_an_endpoint_answers_as_one_node_s(
    doors: list[tuple[ServeProcess, str]], name: str
) -> None:
    said = []
    for process, token in doors:
        with process.client(token) as client:
            path, body = name.split()[0], SEARCHES[name]
            answer = client.post(path, json=body)
            assert answer.status_code == 200, answer.text
            said.append(plain(answer.json()))
    assert said[1] == said[0]
    assert "secret" not in json.dumps(said[1]).lower()


def test_a_coordinator_s_door_asks_postgresql(
    spaced: Scale, doors: list[tuple[ServeProcess, str]]
) -> None:
    ran = (
        "SELECT query FROM pg_stat_activity WHERE application_name = 'pgblend serve'"
        " AND datname = current_database() AND query LIKE '%ROLLBACK%'"
    )
    for process, token in doors:
        with process.client(token) as client:
            assert client.post("/v1/search", json={"query": "red wine"}).status_code == 200
    place = spaced.one.value("SELECT get_setting('serve_program')")
    assert bool(spaced.one.rows(ran)) == (place == "outside")  # its program ran in the door
    assert spaced.coordinator.rows(ran) == []


def test_a_document_is_shown_by_its_id(
    spaced: Scale, doors: list[tuple[ServeProcess, str]]
) -> None:
    shown = "SELECT document_id FROM documents WHERE collection = %s ORDER BY 1 LIMIT 1"
    for collection, status in (("books", 200), ("rest", 404)):
        path = f"/v1/documents/{spaced.one.value(shown, collection)}"
        said = []
        for process, token in doors:
            with process.client(token) as client:
                answer = client.get(path)
            assert answer.status_code == status
            said.append(plain(answer.json()))
        assert said[1] == said[0]


def test_a_strict_search_without_a_shard_is_unavailable(
    spaced: Scale, doors: list[tuple[ServeProcess, str]]
) -> None:
    process, token = doors[1]
    lacks = "UPDATE pgblend_data.shard_self SET front_version = front_version + %s"
    spaced.shards[1].rows(lacks, -1)
    try:
        with process.client(token) as client:
            body = {"query": "red wine", "options": {"strict": True}}
            answer = client.post("/v1/search", json=body)
    finally:
        spaced.shards[1].rows(lacks, 1)
    assert answer.status_code == 503, answer.text
    assert answer.json()["type"] == "urn:pgblend:problem:shards-unavailable"
    assert "b1" in answer.json()["detail"]


def test_doctor_finds_a_coordinator_well_and_names_a_shard_that_is_not(spaced: Scale) -> None:
    url, shard = spaced.coordinator.url, spaced.shards[1]
    told = run_command(url, "doctor", "--json")
    checks = {one["name"]: one for one in json.loads(told[told.index("{") :])["checks"]}
    assert {name: one for name, one in checks.items() if one["status"] != "ok"} == {}
    assert checks["shards"]["found"] == "b0, b1 answer and have all changes"
    shard.rows("UPDATE pgblend_data.shard_self SET front_version = front_version - 1")
    try:
        told = run_command(url, "doctor", fails=True)
    finally:
        shard.rows("UPDATE pgblend_data.shard_self SET front_version = front_version + 1")
    assert "problem  shard b1: lacks changes" in told.replace("✗ ", "").replace("   ", " ")
