"""What a gateway can do wrong: a clear error (PB008), one deadline at most, nothing left behind."""

import json
import re
import socket
import tempfile
import time
from pathlib import Path

import pytest

from support.backend import held
from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import Behaviour, ModelProvider, embed
from support.raw_server import RawServer, http_answer

pytestmark = pytest.mark.extended

CALL = "SELECT embed_text(ARRAY['one', 'two'], timeout_ms => 60000)"
HASTY = CALL.replace("60000", "300")


def vectors(*values: object) -> bytes:
    return http_answer(
        json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(values)]}).encode()
    )


def failure(client: Database, call: str = CALL) -> str:
    """Call, and return the message; checks what every failure must be."""
    before = held(client)
    error = client.error(call)
    message = str(error.message_primary)
    assert error.sqlstate == "PB008", message
    assert error.message_hint
    assert "\n" not in message
    assert "plpy" not in message
    assert "Traceback" not in f"{message}{error.message_detail}"
    assert held(client)[0] == 0
    assert held(client)[1] <= before[1] + 1  # at most a connection to use again
    return message


@pytest.mark.fault(
    "the gateway answers wrongly, late or not at all",
    "an error of SQLSTATE PB008 that says which; the next call works",
)
@pytest.mark.parametrize(
    ("behaviour", "part"),
    [
        (Behaviour(status=500), "answered 500: told to fail"),
        (Behaviour(status=429, retry_after=1), "answered 429: told to fail"),
        (Behaviour(status=401, error_message="bad\nkey"), "answered 401: bad key"),
        (Behaviour(garbage=True), "is not JSON"),
        (Behaviour(drop=True), "cannot be reached"),
        (Behaviour(missing_vectors=1), "gave 1 vectors for 2 texts"),
        (Behaviour(missing_vectors=2), "gave 0 vectors for 2 texts"),
        (Behaviour(not_a_number=True), "is not JSON"),
        (Behaviour(hang=True), "no answer within 300 ms"),
        (Behaviour(delay_seconds=0.5), "no answer within 300 ms"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults(client: Database, provider: ModelProvider, behaviour: Behaviour, part: str) -> None:
    provider.behaviour = behaviour
    assert part in failure(client, HASTY if "300 ms" in part else CALL)
    provider.reset()
    assert client.value("SELECT cardinality(embed_text(ARRAY['x']))") == 1


@pytest.mark.fault(
    "bytes that are no answer of a model", "an error of SQLSTATE PB008, no traceback, nothing kept"
)
@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (b"nonsense\r\n\r\n", "cannot be reached"),
        (b"", "cannot be reached"),
        (http_answer(b""), "is not JSON"),
        (http_answer(b"[]"), "is not JSON"),
        (http_answer(b"{}"), "gave 0 vectors"),
        (http_answer(b'{"data": {}}'), "has no vectors"),
        (http_answer(b'{"data": 5}'), "has no vectors"),
        (http_answer(b'{"data": "\\u0000"}'), "has no vectors"),
        (http_answer(b'{"data": "\\ud800"}'), "has no vectors"),
        (vectors("x", "y"), "has no vectors"),
        (vectors([], []), "has no vectors"),
        (vectors([1, "a"], [1, 2]), "has no vectors"),
        (vectors([1e400, 1], [1, 2]), "is not JSON"),
        (vectors([1e99, 1], [1, 2]), "has no vectors"),
        (vectors([[1]], [[2]]), "has no vectors"),
        (vectors(None, [1]), "lacks a vector"),
        (http_answer(b'{"data": [1, 2]}'), "lacks a vector"),
        (vectors([1, 2], [1, 2, 3]), "gave 3 dimensions and 2 in one answer"),
        (http_answer(b"\xff\xfe", "500 Oops"), "answered 500"),
        (http_answer(b'{"error": {"message": "a\\u0000b"}}', "500 Oops"), "answered 500: ab"),
        (http_answer(b"", "301 Moved", "Location: http://127.0.0.1:1/"), "answered 301"),
        (http_answer(b"x" * 3_000_000, "503 Busy"), "answered 503"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "no answer within 300 ms"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "cannot be reached"),
    ],
)
def test_answers_that_are_wrong(client: Database, point_to, answer: bytes, part: str) -> None:
    with RawServer(
        lambda _: answer, keep_alive=bool(answer) and b"nonsense" not in answer
    ) as server:
        point_to(server.url)
        message = failure(client, HASTY if "300 ms" in part else CALL)
    assert part in message


@pytest.mark.fault("a model whose dimensions changed", "an error that names both numbers")
def test_wrong_dimensions(client: Database, provider: ModelProvider) -> None:
    provider.behaviour = Behaviour(dimensions=3)
    with client.connection.transaction(force_rollback=True):
        add_space(client)
        message = failure(client)
    assert message == (
        'the gateway gave 3 dimensions for model "openai/test-embedding",'
        ' embedding space "test_space" holds 384'
    )


@pytest.mark.fault("nobody listens at the gateway's address", "an error at once")
def test_nobody_listens(client: Database, point_to) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        point_to(f"http://127.0.0.1:{probe.getsockname()[1]}")
        message = failure(client)
    assert "cannot be reached" in message
    assert "Connection refused" in message


@pytest.mark.fault("the gateway's machine does not accept", "an error within the limit")
def test_nobody_accepts(client: Database, point_to) -> None:
    """A listener whose queue is full: connecting itself hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        point_to(f"http://127.0.0.1:{port}")
        assert "300 ms" in failure(client, HASTY)
        for filler in fillers:
            filler.close()
    assert held(client)[0] == 0


@pytest.mark.fault("no gateway is set", "an error that says how to set one")
def test_no_gateway_is_set(client: Database) -> None:
    client.rows("SELECT reset_setting('gateway_url')")
    error = client.error(CALL)
    assert (error.sqlstate, error.message_primary) == ("PB008", "no model gateway is set")
    assert "pgblend config set gateway_url" in str(error.message_hint)


@pytest.mark.fault("a gateway's address of another form", "an error that says what is expected")
def test_an_address_of_another_form(client: Database) -> None:
    with client.connection.transaction(force_rollback=True):
        client.rows("INSERT INTO pgblend_data.setting VALUES ('gateway_url', '\"ftp://x\"')")
        message = failure(client)
    assert "expected http://host:port or unix:/path" in message


@pytest.mark.fault(
    "the gateway dies or hangs during searches",
    "rows by words, degraded says why, one limit is lost",
)
@pytest.mark.parametrize("fault", ["hanging", "dead"])
def test_hybrid_search_loses_one_deadline_and_goes_on(
    client: Database, provider: ModelProvider, point_to, fault: str
) -> None:
    provider.behaviour = Behaviour(hang=True)
    if fault == "dead":
        point_to("http://127.0.0.1:1")
    with client.connection.transaction(force_rollback=True):
        client.rows("SELECT add_collection('c')")
        add_documents(client, "c", [("k", "", "word")])
        add_space(client)
        embed_waiting(client)
        client.warnings()
        options = '{"timeouts_ms": {"embed": 200}}'
        row = client.row(
            "SELECT source_key, degraded FROM hybrid_search('word', options => %s)", options
        )
        assert row[0] == "k"
        (note,) = row[1]
        assert note.startswith("vector: the model gateway at http://127.0.0.1:")
        assert client.warnings() == [f"searching without the vector arm: {note[8:]}"]
        error = client.error("SELECT * FROM vector_search('word', options => %s)", options)
        assert error.sqlstate == "PB008"


@pytest.mark.fault("models slower than the limit of the whole search", "the total limit holds")
def test_the_total_deadline_counts_too(client: Database, provider: ModelProvider) -> None:
    provider.behaviour = Behaviour(hang=True)
    with client.connection.transaction(force_rollback=True):
        add_space(client)
        options = '{"timeouts_ms": {"embed": 60000, "total": 200}}'
        client.warnings()
        client.rows("SELECT * FROM hybrid_search('word', options => %s)", options)
        warnings = client.warnings()  # a slow machine may leave out an arm as well
        limit_ms = re.search(r"no answer within (\d+) ms", " ".join(warnings))
        assert limit_ms is not None, warnings
        assert int(limit_ms[1]) <= 200


def test_one_connection_is_used_again(client: Database, point_to) -> None:
    with RawServer(lambda _: vectors([1, 2], [3, 4])) as server:
        point_to(server.url)
        for _ in range(5):
            client.rows(CALL)
        assert server.connections == 1


@pytest.mark.fault("a kept connection that was closed", "a new one, no error")
def test_a_connection_that_the_server_closed_is_replaced(client: Database, point_to) -> None:
    with RawServer(lambda _: vectors([1, 2], [3, 4])) as server:
        point_to(server.url)
        for count in (1, 2, 3):
            client.rows(CALL)
            assert server.connections == count
            server.close_connections()


@pytest.mark.fault("a server that keeps no connection", "each call works")
def test_a_server_without_keep_alive(client: Database, point_to) -> None:
    with RawServer(lambda _: vectors([1, 2], [3, 4]), keep_alive=False) as server:
        point_to(server.url)
        for _ in range(3):
            client.rows(CALL)
        assert server.connections == 3


def test_a_kept_connection_takes_the_new_deadline(client: Database, point_to) -> None:
    def slowly(body: bytes) -> bytes:
        time.sleep(2.5 if b"slow" in body else 0)
        return vectors([1, 2])

    with RawServer(slowly) as server:
        point_to(server.url)
        client.rows("SELECT embed_text(ARRAY['fast'], timeout_ms => 2000)")
        client.rows("SELECT embed_text(ARRAY['slow'], timeout_ms => 60000)")
        assert server.connections == 1


def test_unix_socket(client: Database, point_to) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = f"{folder}/gateway.sock"
        with RawServer(lambda _: vectors([1, 2], [3, 4]), path) as server:
            Path(path).chmod(0o777)
            point_to(server.url)
            assert client.value(f"{CALL}::text") == '{"[1,2]","[3,4]"}'
        point_to(f"unix:{folder}/nothing.sock")
        message = failure(client)
        assert "cannot be reached" in message


def test_order_follows_the_index(client: Database, point_to) -> None:
    body = {"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]}
    with RawServer(lambda _: http_answer(json.dumps(body).encode())) as server:
        point_to(server.url)
        assert client.value(f"{CALL}::text") == "{[1],[2]}"


def test_a_large_request_and_a_large_answer(client: Database, provider: ModelProvider) -> None:
    texts = [f"text {i} " * 500 for i in range(200)]
    found = client.column("SELECT vector_dims(unnest(embed_text(%s, timeout_ms => 20000)))", texts)
    assert found == [384] * 200


def test_vectors_are_the_models(client: Database, provider: ModelProvider) -> None:
    found = client.value("SELECT (embed_text(ARRAY['a b', 'c']))[2]")
    assert found.to_list() == pytest.approx(embed("c"), abs=1e-6)
    assert provider.bodies[-1] == {"input": ["a b", "c"], "model": "local/all-minilm-l6-v2"}


@pytest.mark.fault("arguments that are wrong", "an error before the gateway is asked")
@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("ARRAY['x', NULL]", "22004"),
        ("ARRAY['x'], timeout_ms => 0", "22023"),
        ("ARRAY['x'], timeout_ms => -5", "22023"),
        ("ARRAY['x'], 'no_such_space'", "22023"),
    ],
)
def test_wrong_arguments_reach_no_gateway(
    client: Database, provider: ModelProvider, arguments: str, sqlstate: str
) -> None:
    error = client.error(f"SELECT embed_text({arguments})")
    assert error.sqlstate == sqlstate
    assert error.message_hint
    assert provider.requests == 0


@pytest.mark.parametrize("texts", ["NULL", "'{}'"])
def test_no_texts_no_vectors(client: Database, provider: ModelProvider, texts: str) -> None:
    assert client.value(f"SELECT cardinality(embed_text({texts}))") == 0
    assert provider.requests == 0


@pytest.mark.fault("a read-only transaction", "models are asked all the same")
def test_read_only(client: Database, provider: ModelProvider) -> None:
    with client.connection.transaction():
        client.rows("SET TRANSACTION READ ONLY")
        assert client.value("SELECT cardinality(embed_text(ARRAY['x']))") == 1
        client.rows("SELECT * FROM hybrid_search('x')")


@pytest.mark.fault("a reader who wants another gateway", "no way to name one")
def test_a_role_reaches_only_the_gateway_that_is_set(
    committed: Database, connect_as, model_provider: ModelProvider
) -> None:
    committed.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", model_provider.url)
    reader = Database(connect_as("pgblend_reader"))
    assert reader.value("SELECT cardinality(embed_text(ARRAY['x']))") == 1
    reader.rows("SET pgblend.gateway_url = 'http://127.0.0.1:1'")
    reader.rows("CREATE TEMP TABLE setting (name text, value jsonb)")
    reader.rows("INSERT INTO setting VALUES ('gateway_url', '\"http://127.0.0.1:1\"')")
    reader.rows("SET search_path = pg_temp, blend, pgblend, pgblend_data, public")
    assert reader.value("SELECT cardinality(embed_text(ARRAY['x']))") == 1
    assert model_provider.requests == 2
    assert reader.error("SELECT pgblend._post_to_gateway('{}')").sqlstate == "42501"
