"""Names that a lesser role's code could give another meaning within a greater role's session."""

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.search.calls_outside import SearchArguments, search
from pgblend.cli.search.connection import Connection
from support.database import Database


def test_nothing_is_prepared_by_name(database_url: str) -> None:
    """Code of an attached table's owner may PREPARE in the session that fills or checks it."""
    with connect(database_url) as connection:
        for _ in range(20):
            connection.execute("SELECT %s::integer", [1]).fetchone()
        count = "SELECT count(*) FROM pg_prepared_statements"
        assert connection.execute(count).fetchone() == (0,)


@pytest.mark.parametrize("other", [False, True])
def test_code_of_one_caller_prepares_nothing_for_the_next(database_url: str, other: bool) -> None:
    """The program's own names may be gone, but stand for nothing else; no search is answered so."""
    with connect(database_url) as connection:
        own, program = Database(connection), Connection(connection)
        own.rows("SELECT add_collection('made')")
        own.rows("SELECT ingest_document('made', 'wine', 'red wine of France')")
        asked = SearchArguments("wine", only_arm="lexical")
        expected = search(program, asked)["results"]
        assert [row.source_key for row in expected] == ["wine"]
        for name in own.column("SELECT name FROM pg_prepared_statements"):
            connection.execute(f"DEALLOCATE {name}")
            if other:
                connection.execute(f"PREPARE {name} AS SELECT 'forged'")
        said = "somebody prepared in SQL" if other else "does not exist"
        with pytest.raises(psycopg.Error, match=said):
            search(program, asked)
        assert search(program, asked)["results"] == expected
