"""What is said of a lexical index that cannot be read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn


def report_damage(
    run: Callable[..., Sequence[Mapping[str, Any]]], source: str, id_: int, reason: str
) -> NoReturn:
    """Raise what names the collection and how to mend its index (pgblend._damaged_index).

    `source` is segment or pending, `id_` that of the segment or of the pending chunk. `run`
    executes (statement, types, *values).
    """
    run(
        "SELECT pgblend._damaged_index($1, $2, $3)", ["text", "bigint", "text"], source, id_, reason
    )
    raise ValueError(reason)
