"""How many sessions an ingest opens: one that looks up, and writers as there is work for them."""

import pytest

from support.waiting import wait_until

OPENED = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
ALONE = """
    SELECT count(*) = 1 FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
"""


@pytest.fixture
def sessions(pgblend, connection, tmp_path):
    """Ingest texts and return how many sessions that took; all of them have ended."""

    def value(statement):
        return connection.execute(statement).fetchone()[0]

    def run(*texts):
        for text in texts:
            (tmp_path / f"{text.replace(' ', '-')}.txt").write_text(text)
        before = value(OPENED)
        result = pgblend("ingest", str(tmp_path), "--collection", "c")
        assert result.exit_code == 0, result.stderr
        wait_until(lambda: value(ALONE))
        return value(OPENED) - before

    return run


def test_one_writer_writes_one_batch_and_none_where_nothing_changed(sessions):
    assert sessions("a walrus", "a whale") == 2
    assert sessions() == 1


def test_one_writer_embeds_one_batch(sessions, gateway_connection, model_provider):
    gateway_connection.execute(
        "SELECT create_embedding_space('s', %s, 384, probe => false)", [model_provider.model]
    )
    assert sessions("a walrus") == 2
    assert sessions(*(f"whale {number}" for number in range(101))) == 3
