"""The program's Database over a psycopg connection: statements are a real server's to answer."""

import re
from typing import Any, LiteralString, cast

import psycopg
from psycopg.rows import dict_row

from support.fake_database import FakeDatabase


class ServedDatabase(FakeDatabase):
    """Runs each statement as prepared ones are: values have the types that are named."""

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__({})
        self.connection = connection

    def run(self, statement: str, types: list[str], *values: Any) -> list[dict[str, Any]]:
        typed = re.sub(r"\$(\d+)", lambda mark: f"{mark[0]}::{types[int(mark[1]) - 1]}", statement)
        with psycopg.RawCursor(self.connection, row_factory=dict_row) as cursor:
            cursor.execute(cast(LiteralString, typed), values)
            return cursor.fetchall()
