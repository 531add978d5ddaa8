"""Names that a lesser role's code could give another meaning within a greater role's session."""

from pgblend.cli.base.database import connect


def test_nothing_is_prepared_by_name(database_url: str) -> None:
    """Code of an attached table's owner may PREPARE in the session that fills or checks it."""
    with connect(database_url) as connection:
        for _ in range(20):
            connection.execute("SELECT %s::integer", [1]).fetchone()
        count = "SELECT count(*) FROM pg_prepared_statements"
        assert connection.execute(count).fetchone() == (0,)
