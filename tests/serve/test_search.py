"""POST /v1/search and its siblings: what comes back is what SQL and the command line give."""

import json
import re
import uuid
from collections.abc import Callable
from time import sleep
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from pgblend.cli.doors.operations import ENDPOINTS
from pgblend.cli.main import cli
from support.database import vector_of
from support.serve_process import told

Post = Callable[..., Any]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/search": {"query": "wine"},
    "/v1/context": {"query": "wine"},
    "/v1/ask": {"query": "where is wine made?"},
    "/v1/facets": {"query": "wine", "keys": ["$collection"]},
    "/v1/explain": {"query": "wine"},
    "/v1/diagnose": {"query": "wine", "document": "sea"},
}


def test_a_search_gives_the_rows_of_sql(door: Any, post: Post) -> None:
    vector = vector_of("wine")
    answer = post("/v1/search", query="wine", query_embedding=json.loads(vector))
    with door.admin.connection.transaction(force_rollback=True):
        door.admin.rows(f"SET LOCAL ROLE {door.roles['open']}")
        rows = door.admin.rows(
            "SELECT rank, score, relevance, chunk_id, source_key, arms"
            " FROM hybrid_search('wine', query_embedding => %s::vector)",
            vector,
        )
    told = [
        tuple(r[n] for n in ("rank", "score", "relevance", "chunk_id", "source_key", "arms"))
        for r in answer["results"]
    ]
    assert told == rows
    assert {"lexical", "vector"} <= answer["results"][0]["arms"].keys()
    assert answer["degraded"] == [] == answer["warnings"]


def test_the_program_answers_alike_in_the_server_and_here(door: Any, client: httpx.Client) -> None:
    """The setting holds a second later; what a session ran last says where a search ran."""
    more = {"query_embedding": json.loads(vector_of("wine")), "options": {"fuzzy": "on"}}
    bodies = [(path, body | given) for path, body in BODIES.items() for given in ({}, more)]
    bodies.append(("/v1/search", {"query": "sea", "purpose": "typed", "facts": True}))
    bodies.append(("/v1/search", {"query": "nowhere", "filter": {"$title": {"prefix": "W"}}}))
    answers = {}
    for place in ("inside", "outside"):
        door.admin.rows("SELECT set_setting('serve_program', %s)", json.dumps(place))
        sleep(1.2)
        answers[place] = [told(client, *each) for each in bodies]
        ended = door.admin.column(
            "SELECT query FROM pg_stat_activity WHERE application_name = 'pgblend serve'"
            " ORDER BY query_start"
        )
        assert (ended[-1] == "ROLLBACK") == (place == "outside")
    assert answers["outside"] == answers["inside"]
    assert any(each.get("results") for each in answers["inside"])


@pytest.mark.parametrize(
    "endpoint", [e for e in ENDPOINTS if e.path in BODIES], ids=lambda endpoint: endpoint.path
)
def test_answers_have_the_schema_of_the_command_line(endpoint: Any, post: Post) -> None:
    answer = post(endpoint.path, **BODIES[endpoint.path])
    Draft202012Validator(endpoint.response()).validate(answer)
    assert answer["query"] == BODIES[endpoint.path]["query"]
    # No model is set: the vectors are missed, and told of.
    if endpoint.path != "/v1/facets":
        assert any(note.startswith("vector: no model gateway") for note in answer["degraded"])


def test_facets_by_buckets(post: Post) -> None:
    asked = {"query": "wine", "keys": ["$ingested_at"], "buckets": {"$ingested_at": "year"}}
    (row,) = post("/v1/facets", **asked)["facets"]
    assert set(row["value"]) == {"gte", "lt"}


def test_facets_count_what_the_caller_may_read(post: Post) -> None:
    answer = post("/v1/facets", query="wine", keys=["$collection"])
    assert {row["value"] for row in answer["facets"]} == {"open"}


def test_a_search_without_rows_says_what_it_went_without(post: Post) -> None:
    answer = post("/v1/search", query="zzzzqq")
    assert answer["results"] == []
    assert answer["degraded"]
    assert answer["warnings"]


@pytest.mark.parametrize("path", BODIES)
def test_an_empty_query_is_an_error(client: httpx.Client, path: str) -> None:
    for query in ("", " \n", "\u200b\xa0"):
        response = client.post(path, json={**BODIES[path], "query": query})
        assert response.status_code == 400
        assert "query: is empty: expected words" in response.json()["detail"]


VECTOR = vector_of("wine")
NUMBERS = json.loads(VECTOR)


@pytest.mark.parametrize(
    "body",
    [
        f'{{"query": "wine", "query_embedding": {VECTOR}}}',
        f'{{"query_embedding" :\n{VECTOR.replace(",", " , ")}, "query": "wine"}}',
        # The name written with an escape; and once more, in a filter.
        f'{{"query": "wine", "query_\\u0065mbedding": {VECTOR}}}',
        f'{{"query": "wine", "profile": null, "query_embedding": {VECTOR}, "limit": 10}}',
        json.dumps(
            {
                "query": "wine",
                "filter": {"query_embedding": {"exists": False}},
                "query_embedding": NUMBERS,
            }
        ),
    ],
)
def test_a_vector_is_handed_on_however_it_is_written(
    client: httpx.Client, post: Post, body: str
) -> None:
    headers = {"Content-Type": "application/json"}
    rows = client.post("/v1/search", content=body, headers=headers).json()["results"]
    expected = post("/v1/search", query="wine", query_embedding=NUMBERS)["results"]
    assert "vector" in rows[0]["arms"]
    assert [(r["chunk_id"], r["score"]) for r in rows] == [
        (r["chunk_id"], r["score"]) for r in expected
    ]


@pytest.mark.parametrize("more", [{}, {"query_embedding": [0]}])
def test_what_is_named_like_the_vector_is_none(client: httpx.Client, more: dict[str, Any]) -> None:
    given = {"query": "wine", "filter": {"query_embedding": [0.5]}, **more}
    detail = client.post("/v1/search", json=given).json()["detail"]
    assert '"query_embedding" is [0.5]: expected' in detail


def test_documents_by_id_and_span(client: httpx.Client, post: Post) -> None:
    row = post("/v1/search", query="wine")["results"][0]
    path = f"/v1/documents/{row['document_id']}"
    shown = client.get(path).json()
    assert shown["document"]["source_key"] == row["source_key"]
    assert row["chunk_id"] in [chunk["chunk_id"] for chunk in shown["chunks"]]
    assert shown["degraded"] == []
    assert client.get(path, params={"lines": "1"}).json()["chunks"] == shown["chunks"]
    assert client.get(path, params={"lines": "900-950"}).json()["chunks"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/documents/999999", 404),
        ("/v1/documents/x", 400),
        ("/v1/documents/99999999999999999999", 400),
        ("/v1/documents/1?lines=x", 400),
        ("/v1/documents/1?lines=5-2", 400),
        ("/v1/documents/1?lines=1&colour=red", 400),
        ("/v1/nothing", 404),
        ("/v1/search", 405),
    ],
)
def test_a_path_that_cannot_be_shown(client: httpx.Client, path: str, status: int) -> None:
    response = client.get(path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:pgblend:problem:")
    assert problem["detail"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"query": 5}', 'query: 5 is not of type "string"'),
        ('{"query": "x", "colour": 1}', "no 'colour': the nearest are collections and query"),
        ('{"quer": "x"}', "no 'quer': the nearest are query and "),
        ("{}", '"query" is a required property'),
        ("[]", 'not of type "object"'),
        ("{", "not JSON"),
        ('{"query": NaN}', "not JSON"),
        ('{"query": "x", "limit": 0}', "limit: 0 is less than the minimum"),
        ('{"query": "x", "options": {"rrf_q": 1}}', "rrf_q"),
        ('{"query": "x", "options": {"rrf_k": -1}}', "rrf_k"),
        ('{"query": "x", "options": {"columns": ["uri"]}}', "columns is of calls in SQL"),
        ('{"query": "x", "collections": ["secret"]}', "secret"),
        ('{"query": "x", "profile": "none"}', "none"),
        ('{"query": "x", "query_embedding": [1, 2]}', "dimensions"),
        ('{"query": "x", "query_embedding": []}', "query_embedding: [] has less than 1 item"),
        ('{"query": "x", "query_embedding": [01, 2]}', "not JSON"),
        ('{"query": "x", "query_embedding": [1,, 2]}', "not JSON"),
        ('{"query": "x", "query_embedding": [.5, +1]}', "not JSON"),
        (
            '{"query": "x", "query_embedding": [1e999, 2]}',
            "query_embedding[0]: the number is out of range",
        ),
        ('{"query": "x", "query_embedding": [1, "2"]}', 'query_embedding[1]: "2" is not of'),
        ('{"query": "x", "query_embedding": [1, [2]]}', "query_embedding[1]: [2] is not of"),
        ('{"query": "x", "query_embedding": "[1, 2]"}', "query_embedding"),
        ('{"query": "a\\u0000b"}', "NUL"),
        ('{"query": "\\ud800"}', "UTF-8"),
    ],
)
def test_a_body_that_cannot_be_taken(client: httpx.Client, body: str, said: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = client.post("/v1/search", content=body, headers=headers)
    assert response.status_code == 400, response.text
    assert said in response.json()["detail"]
    assert "plpy" not in response.json()["detail"]


@pytest.mark.parametrize(
    "text",
    [
        {"filter": '{"$source_key": "wine"}', "limit": "5"},
        {"filter": "null", "collections": '["open"]', "history": "[]", "facts": "false"},
        {"options": '{"mode": "fast"}', "limit": None, "history": None},
        {"query_embedding": json.dumps(NUMBERS)},
    ],
)
def test_json_as_text_is_what_it_says(post: Post, text: dict[str, Any]) -> None:
    said = {
        name: json.loads(value) if isinstance(value, str) else value
        for name, value in text.items()
        if value is not None
    }
    found, expected = (post("/v1/search", query="wine", **given) for given in (text, said))
    assert rows_of(found) == rows_of(expected)
    assert rows_of(found)


@pytest.mark.parametrize("one", ["open", '"open"'])
def test_one_name_is_a_list_of_it(post: Post, one: str) -> None:
    found, expected = (post("/v1/search", query="wine", collections=c) for c in (one, ["open"]))
    assert rows_of(found) == rows_of(expected) != []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"filter": "team a"}, 'filter: "team a" is not of types'),
        ({"filter": "[1]"}, 'filter: "[1]" is not of types'),
        ({"collections": '["open"'}, 'there is no collection "["open""'),
        ({"collections": "[5]"}, "collections[0]: 5 is not of type"),
        ({"limit": "many"}, 'limit: "many" is not of type "integer"'),
        ({"limit": "0", "filter": "{}"}, "limit: 0 is less than the minimum"),
        ({"limit": "true"}, 'limit: "true" is not of type "integer"'),
        ({"query": None}, 'query: null is not of type "string"'),
    ],
)
def test_text_that_says_nothing_of_the_kind(
    client: httpx.Client, given: dict[str, Any], said: str
) -> None:
    response = client.post("/v1/search", json={"query": "wine", **given})
    assert response.status_code == 400
    assert said in response.json()["detail"]


def rows_of(found: dict[str, Any]) -> list[Any]:
    return [(row["chunk_id"], row["score"]) for row in found["results"]]


def test_a_body_in_another_shape(client: httpx.Client) -> None:
    assert client.post("/v1/search", content="query=x").status_code == 415
    big = {"query": "x", "filter": {"a": "x" * 1_100_000}}
    assert client.post("/v1/search", json=big).status_code == 413


def test_health_and_metrics(door: Any, client: httpx.Client) -> None:
    with door.process.client() as nobody:
        assert nobody.get("/health").json()["status"] == "ok"
        assert nobody.get("/metrics").status_code == 401
    client.post("/v1/search", json={"query": "wine"})
    text = client.get("/metrics").text
    assert 'pgblend_serve_requests_total{path="/v1/search",status="200"}' in text
    assert "pgblend_serve_pool_max 2.0" in text
    (memory,) = re.findall(r"^pgblend_serve_process_resident_memory_bytes (\S+)$", text, re.M)
    assert float(memory) > 2**24


def test_a_click_is_noted_for_the_caller(door: Any, client: httpx.Client) -> None:
    row = client.post("/v1/search", json={"query": "wine"}).json()["results"][0]
    body = {"search_id": str(uuid.uuid4()), "chunk_id": row["chunk_id"]}
    for _ in range(2):
        answer = client.post("/v1/click", json=body)
        assert (answer.status_code, answer.json()) == (200, {"degraded": [], "warnings": []})
    noted = door.admin.rows("SELECT search_id::text, chunk_id, role_name FROM pgblend_data.click")
    assert noted == [(body["search_id"], row["chunk_id"], door.roles["open"])]
    assert client.post("/v1/click", json=body | {"chunk_id": None}).status_code == 400


def test_feedback_is_a_judgement_of_the_caller(door: Any, client: httpx.Client) -> None:
    search_id = str(uuid.uuid4())
    role, admin = door.roles["open"], door.admin
    admin.rows(
        "INSERT INTO pgblend_data.search_log (search_id, searched_at, role_name, query,"
        " collections, result_count, milliseconds, stages, degraded, results, trace)"
        " VALUES (%s, now(), %s, 'wine of france', '{open}', 1, 1, '[]', '{}', '[]', '{}')",
        search_id,
        role,
    )
    chunk = admin.value("SELECT chunk_id FROM blend.chunks WHERE content LIKE '%%wine in France%%'")
    body = {"search_id": search_id, "chunk_id": chunk, "grade": 2}
    assert client.post("/v1/feedback", json=body).status_code == 403  # a reader
    admin.rows(f"GRANT pgblend_writer TO {role}")
    admin.rows("SELECT grant_collection('open', %s, 'write')", role)
    answer = client.post("/v1/feedback", json=body)
    assert answer.status_code == 200, answer.text
    told = admin.rows(
        "SELECT j.grade, j.judged_by FROM pgblend_data.judgement AS j WHERE j.query_id = %s",
        answer.json()["judged_query"],
    )
    assert told == [(2, role)]
    assert answer.json()["degraded"] == []
    admin.rows("SELECT revoke_collection('open', %s, 'write')", role)
    admin.rows(f"REVOKE pgblend_writer FROM {role}")


@pytest.mark.parametrize(
    ("condition", "is_found"),
    [
        ("s2", True),
        ({"in": ["s2", "s7"]}, True),
        ({"in": ["s7"]}, False),
        ({"ne": "s2"}, False),
        ({"ne": "s7"}, True),
        ({"gt": "s1"}, True),
        ({"gt": "s2"}, False),
        ({"gt": "s1", "lt": "s2"}, False),
    ],
)
def test_a_filter_looks_into_arrays_of_objects(
    door: Any, post: Post, condition: Any, is_found: bool
) -> None:
    items = {"items": [{"sku": "s1"}, {"sku": "s2"}]}
    stored = "SELECT status FROM ingest_document('open', 'order', 'Zebus sleep.', metadata => %s)"
    door.admin.rows(stored, json.dumps(items))
    found = post("/v1/search", query="zebus", filter={"items.sku": condition})["results"]
    assert [row["source_key"] for row in found] == ["order"] * is_found


def test_a_bucket_of_an_array_s_values_is_a_filter(door: Any, post: Post) -> None:
    """Whatever a facet counts in a range, the range finds as a filter."""
    stored = "SELECT status FROM ingest_document('open', %s, %s, metadata => %s)"
    values: dict[str, list[Any]] = {"low": [1, 5], "high": [9, 30], "both": [2, 40], "none": []}
    for key, prices in values.items():
        items = [{"price": price} for price in prices]
        door.admin.rows(
            stored, key, f"Okapis {key}.", json.dumps({"prices": prices, "items": items})
        )
    for key in ("prices", "items.price"):
        counted = door.admin.rows(
            "SELECT value, count FROM search_facets('okapis', ARRAY[%s], buckets => %s)"
            " WHERE value IS NOT NULL",
            key,
            json.dumps({key: [0, 4, 10, 35]}),
        )
        assert [count for _, count in counted] == [2, 2, 1, 1]
        for value, count in counted:
            found = post("/v1/search", query="okapis", filter={key: value})["results"]
            assert len(found) == count


def test_rules_show_what_the_caller_may_read_alone(door: Any, post: Post) -> None:
    """A pinned document of another collection is not shown; a boost is told in its row."""
    keys = door.admin.column("SELECT source_key FROM blend.documents")
    options = {
        "pinned": [{"query": "*", "documents": keys}],
        "boosts": [{"filter": {"$collection": "open"}, "factor": 2}],
    }
    found = post("/v1/search", query="wine", options=options)["results"]
    assert {row["collection"] for row in found} == {"open"}
    own = [row["source_key"] for row in found]
    assert len(own) == len({*own}) > 1
    assert all({"pinned": "*"} in row["details"]["rules"] for row in found)
    assert all(row["score"] == 1 for row in found)


def test_doctor_tells_where_searches_run_and_what_that_holds(
    door: Any, client: httpx.Client
) -> None:
    client.post("/v1/search", json={"query": "wine"})
    result = CliRunner().invoke(cli, ["--database-url", door.admin.url, "doctor", "--json"])
    (check,) = [one for one in json.loads(result.stdout)["checks"] if one["name"] == "serve"]
    assert check["status"] == "ok"
    assert check["found"].startswith("searches run in ")
    (size,) = re.findall(rf"process {door.process.pid} holds (\d+) MiB", check["found"])
    assert int(size) > 16


@pytest.mark.parametrize("depth", [150, 5000, 100_000])
@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_nests_too_deep_is_refused(client: httpx.Client, path: str, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    begun = json.dumps(BODIES[path]).removesuffix("}")
    for name in ("filter", "options", "query", "collections", "query_embedding"):
        answer = client.post(path, content=f'{begun}, "{name}": {nested}}}')
        assert 400 <= answer.status_code < 500, (name, answer.text[:200])
        assert "Recursion" not in answer.text
