"""What a check finds, and how checks are run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pgblend.cli import output
from pgblend.cli.database import Connection, translate
from pgblend.cli.errors import UserError

Status = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True)
class Check:
    """One finding: what was looked at, how it stands, what was found, how to mend it.

    Several mends, or steps of one, are a sequence.
    """

    name: str
    status: Status
    found: str
    mend: str | Sequence[str] = ""

    @property
    def mends(self) -> list[str]:
        """The mends, each on a line of its own."""
        each = [self.mend] if isinstance(self.mend, str) else self.mend
        return [output.one_line(mend) for mend in each if mend]


CheckFunction: TypeAlias = Callable[[Connection], Iterable[Check]]


def run(functions: Iterable[CheckFunction], connection: Connection) -> list[Check]:
    """Run the checks one by one; one that fails is a finding, and the next ones go on."""
    checks: list[Check] = []
    for function in functions:
        try:
            checks += function(connection)
        except Exception as error:
            checks.append(_failed(function.__name__.replace("_", " "), error))
    return checks


def _failed(name: str, error: Exception) -> Check:
    """Say why a check could not be made; a missing right is no fault of the installation."""
    advice = error if isinstance(error, UserError) else translate(error)
    if advice is None:
        raise error
    lacks_right = getattr(getattr(error, "orig", error), "sqlstate", None) == "42501"
    status: Status = "skipped" if lacks_right else "problem"
    return Check(name, status, advice.message, advice.hint.splitlines())
