"""Vectors that a table of the database has, taken over to an embedding space."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.base.output import StartBar

_TABLES = """
    SELECT a.relation, a.pages FROM pgblend._adoptable(
        %(space)s::text, %(table)s::text, %(key)s::text, %(vectors)s::text, %(collection)s::text
    ) AS a
"""
_REPEATED = "SELECT r.keys, r.examples FROM pgblend._repeated_keys(%(table)s, %(key)s) AS r"
_ADOPT = """
    SELECT a.* FROM pgblend._adopt_vectors(
        %(space)s::text, %(relation)s::regclass, %(key)s::text, %(vectors)s::text,
        %(collection)s::text, %(first_page)s::bigint, %(pages)s::bigint, %(replace)s::boolean
    ) AS a
"""
_BATCH_ROWS = 1000
_FIRST_PAGES = 4
_MOST_PAGES = 4096
_MOST_EXAMPLES = 5


@dataclass
class Adopted:
    """What became of the rows of the table, with the first of those that are wrong.

    Keys are `repeated` that more than one row has: their passages get the vector of one of them.
    """

    found: int = 0
    stored: int = 0
    present: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    repeated: int = 0
    repeated_keys: list[str] = field(default_factory=list)

    def add(self, batch: Mapping[str, Any]) -> None:
        """Count a batch."""
        self.found += batch["looked_at"]
        self.stored += batch["stored"]
        self.present += batch["present"]
        self.wrong += batch["wrong"]
        self.examples = [*self.examples, *(batch["examples"] or ())][:_MOST_EXAMPLES]


def adopt_vectors(
    connection: Connection, given: Mapping[str, Any], start_bar: StartBar, adopted: Adopted
) -> None:
    """Take over all vectors, some pages in a transaction of their own, and count them.

    The server moves them: none comes here. Pages are read by their numbers, which needs no index.
    """
    tables = fetch_rows(connection, _TABLES, dict(given))
    (repeated,) = fetch_rows(connection, _REPEATED, dict(given))
    adopted.repeated, adopted.repeated_keys = repeated["keys"], repeated["examples"] or []
    move_bar = start_bar(
        f"Vectors of {given['table']}", sum(row["pages"] for row in tables), "pages"
    )
    for row in tables:
        page, pages = 0, _FIRST_PAGES
        while page < row["pages"]:
            place = {"relation": row["relation"], "first_page": page, "pages": pages}
            (batch,) = fetch_rows(connection, _ADOPT, {**given, **place})
            adopted.add(batch)
            move_bar(min(pages, row["pages"] - page))
            page += pages
            wanted = pages * _BATCH_ROWS // max(batch["looked_at"], 1)
            pages = max(1, min(wanted, 4 * pages, _MOST_PAGES))
