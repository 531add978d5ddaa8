"""One arm's list of candidates."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_WORDS = {
    "rank": "ranks",
    "chunk_id": "chunk_ids",
    "document_id": "document_ids",
    "chunk_index": "chunk_indexes",
    "score": "scores",
}
_COSINES = {"cosine" if name == "score" else name: column for name, column in _WORDS.items()}
_ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
_NAMED_SPACE = "(SELECT s FROM pgblend_data.embedding_space AS s WHERE s.name = $6)"


def _statement(source: str, arrays: Mapping[str, str], more: str) -> str:
    """Return the statement that gives an arm's rows as one row of arrays."""
    columns = [f"array_agg(a.{name}) AS {column}" for name, column in arrays.items()]
    return f"SELECT {', '.join(columns)}{more} FROM pgblend.{source} AS a"


_PERFECT = ", max(a.perfect_score) AS perfect"
_ARMS = {
    "lexical": (_statement("_lexical_arm($1, $2, $3, $4)", _WORDS, _PERFECT), _ASKED),
    "vector": (
        _statement(f"_vector_arm($5, {_NAMED_SPACE}, $2, $1, $3, $4)", _COSINES, ""),
        [*_ASKED, "vector", "text"],
    ),
    "fuzzy": (
        _statement(
            "_fuzzy_arm($1, $2, $3, $4)", {**_WORDS, "corrections": "corrections"}, _PERFECT
        ),
        _ASKED,
    ),
}


def arm_list(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    kind: str,
    arm: str,
    weight: float,
    values: Sequence[object],
) -> dict[str, Any]:
    """Return the candidates of one arm (lexical, vector, fuzzy), best first, as columns.

    `run` executes (statement, types, *values); `values` are query (for vectors the one whose
    phrases and exclusions bind, or None), collection ids, filter and settings, for vectors also the
    vector and the space's name. `arm` is what the list is called (an expanded query has several of
    a kind) and `weight` what it counts in fusion. The list has `ranks` (from 1), `chunk_ids`,
    `document_ids`, `chunk_indexes` and `scores`; `perfect`, what no passage can reach, is None for
    cosines.
    """
    row = run(*_ARMS[kind], *values)[0]
    columns = {name: value or [] for name, value in row.items() if name != "perfect"}
    return {
        "arm": arm,
        "kind": kind,
        "by_vector": kind == "vector",
        "weight": weight,
        "perfect": row.get("perfect"),
        **columns,
    }
