"""What one list says of the candidates of all lists."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any


def list_column(
    of_list: Mapping[str, Any], values: Iterable[Any], chunk_ids: Sequence[int], missing: Any
) -> list[Any]:
    """Return the list's values, in its order, by item of a pool; `missing` where it lacks one."""
    value_of = dict(zip(of_list["chunk_ids"], values, strict=False))  # counts are endless
    return list(map(value_of.get, chunk_ids, repeat(missing)))
