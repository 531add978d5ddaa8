"""The program's Database over a psycopg connection: statements are a real server's to answer."""

from typing import Any

import psycopg
from psycopg.rows import dict_row

from support.fake_database import FakeDatabase


class ServedDatabase(FakeDatabase):
    """Runs each statement as prepared ones are: values have the types that are named."""

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__({})
        self.connection = connection

    def run(self, statement: str, types: list[str], *values: Any) -> list[dict[str, Any]]:
        cursor = psycopg.ClientCursor(self.connection, row_factory=dict_row)
        of_types = f" ({', '.join(types)})" if types else ""
        cursor.execute(f"PREPARE served{of_types} AS {statement}".encode())
        given = f" ({', '.join(['%s'] * len(types))})" if types else ""
        call = f"EXECUTE served{given}"
        rows = cursor.execute(call.encode(), values).fetchall()
        cursor.execute("DEALLOCATE served")
        return rows
