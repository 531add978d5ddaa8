"""What a session keeps: prepared statements and bounded values."""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def keep_value(kept: MutableMapping[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Keep a value and return it; where `most` are kept, those are forgotten first."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value


Rows = Sequence[Mapping[str, Any]]
MOST_PLANS = 100


def prepared_statements(
    prepare: Callable[[str, list[str]], Any], kept: MutableMapping[Hashable, Any]
) -> Callable[..., Rows]:
    """Return a function that runs (statement, types, *values) and gives its rows.

    `prepare` makes a plan of a statement and the types of its values; `kept` remembers plans, a
    hundred at most, since filters make statements of their own.
    """

    def run(statement: str, types: list[str], *values: object) -> Rows:
        plan = kept.get(statement)
        if plan is None:
            plan = keep_value(kept, statement, prepare(statement, types), MOST_PLANS)
        rows: Rows = plan.execute(list(values))
        return rows

    return run


def error_state(error: Any) -> str:
    """Return the SQLSTATE of a plpy.SPIError, "" where it has none.

    Only exceptions of states that PostgreSQL names have an attribute `sqlstate`; ours (PB001 …)
    have the number that the server holds: five characters of six bits each.
    """
    if getattr(error, "spidata", None) is None:
        return ""
    number = error.spidata[0]
    return "".join(chr((number >> shift & 0x3F) + ord("0")) for shift in range(0, 30, 6))
