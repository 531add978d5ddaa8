"""Errors for people: what is wrong, what to do, and a documented exit code."""

from enum import IntEnum
from typing import IO, Any

import click


class ExitCode(IntEnum):
    """Exit codes of the command `pgblend`; docs/errors.md lists them."""

    OK = 0
    ERROR = 1
    USAGE = 2
    DATABASE = 3
    PARTIAL = 4
    VECTORS_UNAVAILABLE = 5
    BELOW_GATE = 6
    INTERRUPTED = 130


def echo_hint(hint: str, file: IO[Any] | None = None) -> None:
    """Print a hint on standard error; of one with several ways each is a line of its own."""
    for line in hint.splitlines():
        click.echo(f"hint: {line}", file=file, err=True)


class UserError(click.ClickException):
    """A failure that its reader can mend: no traceback, an exit code, a hint.

    Each line of the hint is a way to mend it.
    """

    def __init__(self, message: str, hint: str = "", exit_code: int = ExitCode.ERROR) -> None:
        super().__init__(" ".join(message.split()))
        self.hint = "\n".join(" ".join(line.split()) for line in hint.splitlines())
        # click keeps it on the class, where its own kinds of error differ; ours differ one by one.
        vars(self)["exit_code"] = int(exit_code)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, and the hint where there is one, on standard error."""
        click.echo(f"pgblend: error: {self.message}", file=file, err=True)
        echo_hint(self.hint, file)


class ModelUnavailableError(UserError):
    """A model failed where the option strict lets nothing go on without it."""
