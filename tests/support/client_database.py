"""The server as the program sees it, from a client: so the program runs in the tests' process."""

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from pgblend.plpy.base.session import ProgramError, sent_by_server
from pgblend.plpy.shards.shard_answers import answered
from support.shards import Scale

_AS_TEXT = ("json", "jsonb", "uuid", "timestamptz")  # as PL/Python has them


class ClientDatabase:
    """Runs statements by a connection of its own; those with values are prepared as their types."""

    Problem: tuple[type[Exception], ...] = (psycopg.Error, ProgramError)

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)
        for name in _AS_TEXT:
            self.connection.adapters.register_loader(name, TextLoader)
        self.session: MutableMapping[str, Any] = {}
        self.warnings: list[str] = []

    def kept(self, name: str) -> dict[Any, Any]:
        kept: dict[Any, Any] = self.session.setdefault(f"pgblend_{name}", {})
        return kept

    def run(self, statement: str, types: list[str], *values: object) -> Sequence[dict[str, Any]]:
        cursor = psycopg.ClientCursor(self.connection, row_factory=dict_row)
        if values:
            names = self.kept("statements")
            if statement not in names:
                name = f"statement_{len(names)}"
                self.connection.execute(
                    f"PREPARE {name} ({', '.join(types)}) AS {statement}".encode()
                )
                names[statement] = name
            places = ", ".join(["%s"] * len(values))
            given = [list(one) if isinstance(one, tuple) else one for one in values]
            cursor.execute(f"EXECUTE {names[statement]} ({places})".encode(), given)
        else:
            cursor.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def send_model(self, task: str, question: str, space: str | None, ms: int) -> Any:
        return sent_by_server(self, task, question, space, ms)

    def run_within(
        self, ms: float, statement: str, types: list[str], *values: object
    ) -> Sequence[dict[str, Any]]:
        return self.run(statement, types, *values)

    def warn(self, message: str, hint: str | None = None) -> None:
        self.warnings.append(message)


class CoordinatorDatabase(ClientDatabase):
    """A coordinator whose shards answer in this process as well."""

    def __init__(self, url: str, shards: Sequence[ClientDatabase]) -> None:
        super().__init__(url)
        self.shards = shards

    def run(self, statement: str, types: list[str], *values: object) -> Sequence[dict[str, Any]]:
        if "_ask_shards" not in statement:
            return super().run(statement, types, *values)
        numbers: Any
        calls: Any
        trip: Any
        numbers, calls, trip = values
        return [
            {"shard": number, "answer": answered(self.shards[number], trip, further)}
            for number, further in zip(numbers, calls, strict=True)
        ]


@contextmanager
def coordinator_here(scale: Scale) -> Iterator[CoordinatorDatabase]:
    """A coordinator and its shards, in this process."""
    with ExitStack() as stack:
        shards = [ClientDatabase(one.url) for one in scale.shards]
        coordinator = CoordinatorDatabase(scale.coordinator.url, shards)
        for one in (coordinator, *shards):
            stack.enter_context(one.connection)
        yield coordinator
