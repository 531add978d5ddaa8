"""A reader keeps no place of model calls, and slows nobody down who shares its session."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from support.database import Database
from support.places import places_taken
from support.raw_server import RawServer, http_answer

Connect = Callable[..., psycopg.Connection]
VECTOR = b'{"data": [{"index": 0, "embedding": [1, 0]}]}'
ASK = "SELECT pgblend._request_model('embed', '{\"input\": [\"x\"]}', NULL, 200)"


class Gateway(RawServer):
    """Answers, or is late."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.is_late = False
        self.asked = 0

    def _answer(self, body: bytes) -> bytes | None:
        self.asked += 1
        return None if self.is_late else http_answer(VECTOR)


@pytest.fixture
def gateway(committed: Database) -> Iterator[Gateway]:
    with Gateway() as server:
        committed.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", server.url)
        yield server


def test_no_call_is_left_for_later(
    committed: Database, connect_as: Connect, gateway: Gateway
) -> None:
    reader = Database(connect_as("pgblend_reader"))
    for given in ("NULL, 60000, true", "timeout_ms => 60000, later => true"):
        call = f"SELECT pgblend._request_model('embed', '{{\"input\": [\"x\"]}}', {given})"
        assert reader.error(call).sqlstate == "42883"
    # Nor by what a search that fails leaves behind.
    reader.rows("SELECT * FROM hybrid_search('x', options => '{\"timeouts_ms\": {\"total\": 1}}')")
    for _ in range(20):
        assert "answer" in reader.value(ASK)
    assert places_taken(committed) == 0


def test_what_a_session_knows_of_a_late_gateway_is_its_roles(
    committed: Database, connect_as: Connect, gateway: Gateway
) -> None:
    session = Database(committed.connection)
    committed.rows("CREATE ROLE late_one IN ROLE pgblend_reader")
    committed.rows("CREATE ROLE other_one IN ROLE pgblend_reader")
    try:
        session.rows("SET ROLE late_one")
        gateway.is_late = True
        for _ in range(3):
            assert "gave no answer within" in session.value(ASK)["problem"]
        assert "is left alone" in session.value(ASK)["problem"]
        session.rows("SET ROLE other_one")
        gateway.is_late = False
        asked = gateway.asked
        assert "answer" in session.value(ASK)
        assert gateway.asked == asked + 1
        # Nor of one that is made later under the name of another.
        session.rows("RESET ROLE")
        committed.rows("DROP ROLE late_one")
        committed.rows("CREATE ROLE late_one IN ROLE pgblend_reader")
        session.rows("SET ROLE late_one")
        assert "answer" in session.value(ASK)
    finally:
        session.rows("RESET ROLE")
        committed.rows("DROP ROLE late_one, other_one")
