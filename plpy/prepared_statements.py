"""Statements that a session prepares once."""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from typing import Any

from pgblend.plpy.keep_value import keep_value

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
