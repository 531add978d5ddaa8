"""What a search's candidates must pass: a filter, and a condition on their words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

DOCUMENTS = "pgblend_data.document AS d WHERE d.id = ANY($1) AND {on_document}"
JOINED = "pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d ON d.id = c.document_id"
CHUNKS = JOINED + " WHERE c.id = ANY($1) AND {on_chunk} AND coalesce(c.lexemes @@ $3, true)"
DECIDE = "pgblend._documents_decide(f.on_document, f.keys, $2) AS documents_decide"
READ = "pgblend._documents_read(f.on_document, f.alternatives) AS documents_read"
CONDITION = "pgblend._filter_condition(coalesce($1, '{}'), 2) AS f"


def candidate_filter(
    collection_ids: Sequence[int],
    filter_: str | None,
    words: str | None,
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> dict[str, Any] | None:
    """Return how to tell the candidates that pass a filter (JSON) and a tsquery; None where all do.

    The result has the `column` whose ids decide, "document_ids" where nothing else is looked at,
    else "chunk_ids"; `passing`, which returns those of some ids that pass, ascending; and
    `look_up`, which returns all that pass the filter, ascending, but None where these are more than
    a number; and `documents_read`, about how many documents that reads, 0 where an index finds
    them. `run` executes (statement, types, *values).
    """
    if filter_ is None and words is None:
        return None
    compiled = run(
        f"SELECT f.*, {DECIDE}, {READ} FROM {CONDITION}",
        ["jsonb", "bigint[]"],
        filter_,
        collection_ids,
    )[0]
    operands = compiled["operands"]
    name, column, source = "_filter_chunks", "chunk_ids", CHUNKS
    types, values = ["bigint[]", "text[]", "tsquery"], [operands, words]
    if words is None and compiled["documents_decide"]:
        name, column, source = "_filter_documents", "document_ids", DOCUMENTS
        types, values = ["bigint[]", "text[]"], [operands]
    statement = (
        f"SELECT string_agg(int8send({column[0]}.id), '') AS ids FROM {source.format(**compiled)}"
    )

    def passing(ids: Sequence[int]) -> Any:
        packed = run(statement, types, sorted(ids), *values)[0]["ids"] or b""
        return np.sort(np.frombuffer(packed, ">i8").astype(np.int64))

    def look_up(most: int) -> Any | None:
        if filter_ is None:
            return None
        found = run(
            f"SELECT pgblend.{name}($1, $2, $3) AS ids",
            ["jsonb", "bigint[]", "integer"],
            filter_,
            collection_ids,
            most,
        )[0]["ids"]
        return None if found is None else np.sort(np.array(found, np.int64))

    return {
        "column": column,
        "passing": passing,
        "look_up": look_up,
        "documents_read": compiled["documents_read"],
    }
