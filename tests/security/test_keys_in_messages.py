"""What a gateway says is shown to readers, and stored, without the keys that it quotes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.plpy.models.gateway import GatewayCall
from pgblend.plpy.models.outcome import mask_secrets
from support.database import SPACE, Database, add_documents, add_space
from support.fake_database import FakeDatabase
from support.raw_server import RawServer, http_answer

RUN = "a1b2c3d4e5f6" * 4
# The text, and what of it nobody may see.
QUOTED = {
    "Incorrect API key provided: sk-proj-Ab12Cd34Ef56Gh78.": "Ab12Cd34Ef56Gh78",
    "refused sk-ant-api03-xyzzyxyzzy": "xyzzyxyzzy",
    "refused key=AIzaSyA1234567890abcdefg": "A1234567890abcdefg",
    "the header was Authorization: Bearer abc.DEF-123456": "abc.DEF-123456",
    "the header was {'Authorization': 'Basic dXNlcjpwYXNz'}": "dXNlcjpwYXNz",
    '{"x-api-key": "0a1b2c3d"}': "0a1b2c3d",
    "https://api.example/v1?key=abc123def&x=1": "abc123def",
    "proxy http://ann:hunter2@10.0.0.1:8080 failed": "hunter2",
    "password=letmein; host=db": "letmein",
    "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl is over": "c2lnbmF0dXJl",
    "credentials AKIAIOSFODNN7EXAMPLE": "IOSFODNN7",
    f"key {RUN} is unknown": RUN,
}
HARMLESS = (
    "This model's maximum context length is 8192 tokens: you asked for 9000",
    "openai has no embedding model 'sentence-transformers/all-MiniLM-L6-v2'",
    "no key for openai: set OPENAI_API_KEY in the gateway's environment or --env-file",
    "max_tokens: 100000 is above 4096; request 0b5c6f3e-9f57-4d5e-8a25-6f1f5a9f0c11",
    "the risk-averse sky-high task-force of pa and hf",
)
ASKED = (
    "embed_text(ARRAY['wine'])",
    "expand_query('wine')",
    "rerank_passages('wine', ARRAY['red wine'])",
    "ask('wine')",
    "hybrid_search('wine', options => '{\"strict\": true}')",
)


@pytest.mark.parametrize(("message", "secret"), QUOTED.items())
def test_what_looks_like_a_key_is_masked(message: str, secret: str) -> None:
    assert secret in message
    masked = mask_secrets(message)
    assert secret not in masked
    assert "***" in masked


@pytest.mark.parametrize("message", HARMLESS)
def test_other_words_stay(message: str) -> None:
    assert mask_secrets(message) == message


class Talker:
    """A gateway that says a message in every way that it has; `answer` makes its bytes."""

    def __init__(self) -> None:
        self.answer: Callable[[str], bytes] = WAYS["error"]
        self.message = ""

    def respond(self, _: bytes) -> bytes:
        return self.answer(self.message)


def as_json(value: object, status: str = "200 OK") -> bytes:
    return http_answer(json.dumps(value).encode(), status)


WAYS: dict[str, Callable[[str], bytes]] = {
    "error": lambda said: as_json({"error": {"message": said}}, "400 Bad Request"),
    "text": lambda said: http_answer(said.encode(), "503 Unavailable"),
    "long": lambda said: http_answer(f"{'x ' * 240}{said}".encode(), "500 Error"),
    "no HTTP": lambda said: f"{said}\r\n\r\n".encode(),
    "other shape": lambda said: as_json(
        {"data": said, "results": [{"index": said}], "hyde": 1, "choices": said}
    ),
    "no vectors": lambda said: as_json({"data": [{"embedding": said}]}),
    "no numbers": lambda said: as_json({
        "data": [{"embedding": [said]}],
        "results": [{"index": 0, "relevance_score": said}],
    }),
}  # fmt: skip


@pytest.fixture
def talker(committed: Database) -> Iterator[Talker]:
    """The database's gateway; there is a collection to search, and a model for each stage."""
    talker = Talker()
    add_space(committed)
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [("k", "Wine", "Red wine and white wine.")])
    with RawServer(talker.respond) as server:
        for name, value in {
            "gateway_url": server.url, "expansion_model": "m", "rerank_model": "m",
            "answer_model": "m", "embedding_model": "m", "expand": "on", "rerank": "on",
        }.items():  # fmt: skip
            committed.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, value)
        yield talker


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_reader_sees_a_key(
    committed: Database,
    talker: Talker,
    connect_as: Callable[..., psycopg.Connection],
    way: str,
) -> None:
    reader = Database(connect_as("pgblend_reader"))
    committed.rows("SELECT grant_collection('c', %s)", reader.connection.info.user)
    talker.answer = WAYS[way]
    for message, secret in QUOTED.items():
        talker.message = message
        told = [failure(reader, f"SELECT * FROM blend.{call}") for call in ASKED]
        told += [failure(committed, f"SELECT probe_embedding_space('{SPACE}')")]
        for call in ("hybrid_search", "search_explain"):
            told.append(str(reader.rows(f"SELECT * FROM blend.{call}('wine')")))
        told += [str(reader.rows("SELECT * FROM blend.last_search()")), *reader.warnings()]
        assert [text for text in told if secret in text] == [], message
        assert any("gateway" in text for text in told)


def failure(db: Database, statement: str) -> str:
    """Return all that a statement says, which may fail."""
    try:
        return str(db.rows(statement))
    except psycopg.Error as error:
        said = error.diag
        return f"{said.message_primary} {said.message_detail} {said.message_hint} {said.context}"


def test_no_key_is_stored_that_a_worker_was_told(committed: Database) -> None:
    message, secret = next(iter(QUOTED.items()))
    worker = committed.value("SELECT pgblend._start_worker('host', 1)")
    add_space(committed)
    committed.rows("SELECT add_collection('c')")
    (document,) = add_documents(committed, "c", [("k", "Wine", "Red wine.")])
    (chunk,) = committed.column(
        "SELECT chunk_id FROM pgblend._next_embeddings(%s, 1, %s)", SPACE, worker
    )
    committed.rows(
        "SELECT pgblend._fail_embeddings(%s, %s, %s, %s)", SPACE, worker, [chunk], [message]
    )
    committed.rows("SELECT set_summary(%s, 'x')", document)
    committed.rows("SELECT pgblend._fail_summary(%s, %s, true)", document, message)
    stored = committed.column(
        "SELECT last_error FROM pgblend_data.embedding_queue"
        " UNION ALL SELECT reason FROM pgblend_data.document_summary"
    )
    assert len(stored) == 2
    assert all("***" in text and secret not in text for text in stored)


def test_commands_show_no_key() -> None:
    for message, secret in QUOTED.items():
        with (
            RawServer(lambda _, said=message: WAYS["error"](said)) as server,  # type: ignore[misc]
            GatewayClient(server.url) as client,
            pytest.raises(GatewayUnavailableError) as raised,
        ):
            client.embed("m", ["wine"])
        assert secret not in f"{raised.value} {raised.value.reason}"
        assert "***" in raised.value.reason


def test_the_gateway_s_own_token_is_in_no_message(tmp_path: Path) -> None:
    """Whatever it looks like."""
    token = "correct horse"
    file = tmp_path / "pgblend_gateway_token"
    file.touch(0o600)
    file.write_text(token)
    with RawServer(lambda _: http_answer(f"bad: {token}".encode(), "401 No")) as server:
        request = {
            "url": server.url, "path": "/", "body": "{}", "timeout_ms": 60_000,
            "most_bytes": 10_000, "data_directory": str(tmp_path),
            "places": {"most": 0, "wait_ms": 0}, "role": "reader",
        }  # fmt: skip
        outcome = GatewayCall(FakeDatabase({"SELECT": lambda: []}), request).answer()
    assert outcome["problem"] == "the model gateway answered 401: bad: ***"


@pytest.mark.parametrize(
    "url", ["http://ann:hunter2@localhost:1", "http://localhost?key=abc", "http://h/v1?key=abc"]
)
def test_an_address_holds_no_key(committed: Database, url: str) -> None:
    error = committed.error("SELECT set_setting('gateway_url', to_jsonb(%s::text))", url)
    assert error.sqlstate == "22023"
    assert "without a password or a key" in f"{error.message_primary} {error.message_hint}"
