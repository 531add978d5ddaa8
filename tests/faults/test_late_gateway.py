"""A gateway that hangs costs a session its full limit a few times, not with every search."""

from collections.abc import Iterator

import pytest

from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import Behaviour, ModelProvider

OPTIONS = '{"timeouts_ms": {"embed": 150}}'
SEARCH = "SELECT source_key, degraded FROM hybrid_search('word', options => %s)"


@pytest.fixture
def library(client: Database, provider: ModelProvider) -> Iterator[Database]:
    """A passage with its vector; the gateway, which has answered last, hangs."""
    client.rows("SELECT embed_text('{x}', timeout_ms => 60000)")
    provider.reset()
    provider.behaviour = Behaviour(hang=True)
    with client.connection.transaction(force_rollback=True):
        client.rows("SELECT add_collection('c')")
        add_documents(client, "c", [("k", "", "word")])
        add_space(client)
        embed_waiting(client)
        yield client


@pytest.mark.fault(
    "a gateway that is late again and again", "left alone for a moment; degraded says so"
)
def test_searches_leave_a_late_gateway_alone(library: Database, provider: ModelProvider) -> None:
    notes = [library.row(SEARCH, OPTIONS)[1] for _ in range(6)]
    assert all("gave no answer within 150 ms" in note for (note,) in notes[:3])
    assert all(
        note.startswith("vector: the model gateway at http://127.0.0.1:")
        and "gave no answer in time 3 times in a row and is left alone for" in note
        for (note,) in notes[3:]
    )
    assert provider.requests == 3
    error = library.error("SELECT * FROM vector_search('word', options => %s)", OPTIONS)
    assert error.sqlstate == "PB008"
    assert "left alone" in str(error.message_primary)


@pytest.mark.fault("a late gateway that answers again", "asked again")
def test_who_has_more_time_asks_it_and_an_answer_ends_the_rest(
    library: Database, provider: ModelProvider
) -> None:
    for _ in range(4):
        library.row(SEARCH, OPTIONS)
    provider.behaviour = Behaviour()
    assert library.value("SELECT cardinality(embed_text('{x}', timeout_ms => 30000))") == 1
    assert library.row(SEARCH, '{"timeouts_ms": {"embed": 9000}}') == ("k", [])
    assert provider.requests == 5
