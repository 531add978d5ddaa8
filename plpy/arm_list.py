"""One arm's list of candidates."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NAMED_SPACE = "(SELECT s FROM pgblend_data.embedding_space AS s WHERE s.name = $6)"
_ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
_STATEMENT = "SELECT a.* FROM pgblend.{} AS a"
_COLUMNS = ("chunk_ids", "document_ids", "chunk_indexes", "scores")
_ARMS = {
    "lexical": (_STATEMENT.format("_lexical_arm($1, $2, $3, $4)"), _ASKED),
    "vector": (
        _STATEMENT.format(f"_vector_arm($5, {_NAMED_SPACE}, $2, $1, $3, $4)"),
        [*_ASKED, "vector", "text"],
    ),
    "fuzzy": (_STATEMENT.format("_fuzzy_arm($1, $2, $3, $4)"), _ASKED),
}


def arm_list(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    kind: str,
    arm: str,
    weight: float,
    values: Sequence[object],
    handed: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the candidates of one arm (lexical, vector, fuzzy), best first, as columns.

    `run` executes (statement, types, *values); `values` are query (for vectors the one whose
    phrases and exclusions bind, or None), collection ids, filter and settings, for vectors also the
    vector and the space's name. `arm` is what the list is called (an expanded query has several of
    a kind) and `weight` what it counts in fusion. Where the arm has put its `columns` into
    `handed`, what the statement gives is left aside: numbers that Python has need not be written
    and read. The list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`; `perfect`,
    what no passage can reach, is None for cosines.
    """
    row = run(*_ARMS[kind], *values)[0]
    if handed["columns"] is None:
        columns = {name: value or [] for name, value in row.items() if name != "perfect_score"}
    else:
        columns = dict(zip(_COLUMNS, handed["columns"], strict=True))
    return {
        "arm": arm,
        "kind": kind,
        "by_vector": kind == "vector",
        "weight": weight,
        "perfect": row.get("perfect_score"),
        **columns,
    }
