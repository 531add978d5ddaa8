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
        cursor.execute(f"PREPARE served ({', '.join(types)}) AS {statement}".encode())
        call = f"EXECUTE served ({', '.join(['%s'] * len(types))})"
        rows = cursor.execute(call.encode(), values).fetchall()
        cursor.execute("DEALLOCATE served")
        return rows
