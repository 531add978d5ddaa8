"""A server for unit tests: what the program asks of one, answered from lists."""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from pgblend.plpy.base.session import ProgramError, sent_by_server

Answer = Callable[..., Sequence[dict[str, Any]]]


class StatementError(Exception):
    """What a statement ends with; `spidata` has the SQLSTATE as the server's number."""

    def __init__(self, sqlstate: str, hint: str | None = None, table: str | None = None) -> None:
        super().__init__(sqlstate)
        self.spidata = (spidata_of(sqlstate)[0], None, hint, None, None, None, table)


def spidata_of(sqlstate: str) -> tuple[int]:
    """Return what PL/Python tells of an error: first its SQLSTATE as the server's number."""
    return (sum((ord(sign) - ord("0")) << 6 * place for place, sign in enumerate(sqlstate)),)


class FakeDatabase:
    """Answers a statement by the first of `answers` whose key is a part of it."""

    Problem: tuple[type[Exception], ...] = (StatementError, ProgramError)

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.session: MutableMapping[str, Any] = {}
        self.asked: list[str] = []
        self.warnings: list[str] = []

    def kept(self, name: str) -> dict[Any, Any]:
        kept: dict[Any, Any] = self.session.setdefault(f"pgblend_{name}", {})
        return kept

    def run(self, statement: str, types: list[str], *values: object) -> Sequence[dict[str, Any]]:
        assert len(types) == len(values), statement
        for part, answer in self.answers.items():
            if part in statement:
                self.asked.append(part)
                return answer(*values)
        raise AssertionError(f"no answer to {statement}")

    def send_model(self, task: str, question: str, space: str | None, ms: int) -> Any:
        return sent_by_server(self, task, question, space, ms)

    def run_within(
        self, ms: float, statement: str, types: list[str], *values: object
    ) -> Sequence[dict[str, Any]]:
        return self.run(statement, types, *values)

    def warn(self, message: str, hint: str | None = None) -> None:
        self.warnings.append(f"{message} | {hint}" if hint else message)
