"""Statements that a session prepares once."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
MOST_PLANS = 100


def prepared_statements(
    prepare: Callable[[str, list[str]], Any], kept: MutableMapping[str, Any]
) -> Callable[..., Rows]:
    """Return a function that runs (statement, types, *values) and gives its rows.

    `prepare` makes a plan of a statement and the types of its values; `kept` remembers plans, a
    hundred at most, since filters make statements of their own.
    """

    def run(statement: str, types: list[str], *values: object) -> Rows:
        plan = kept.get(statement)
        if plan is None:
            if len(kept) > MOST_PLANS:
                kept.clear()
            plan = kept[statement] = prepare(statement, types)
        rows: Rows = plan.execute(list(values))
        return rows

    return run
