"""What a search's candidates must pass: a filter, and a condition on their words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database, Row

Ids = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

DOCUMENTS = "pgblend_data.document AS d WHERE d.id = ANY($1) AND {on_document}"
JOINED = "pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d ON d.id = c.document_id"
CHUNKS = JOINED + " WHERE c.id = ANY($1) AND {on_chunk} AND coalesce(c.lexemes @@ $3, true)"
DECIDE = "pgblend._documents_decide(f.on_document, f.keys, $2) AS documents_decide"
READ = "pgblend._documents_read(f.on_document, f.alternatives) AS documents_read"
FILTERED = "SELECT pgblend._filtered_ids($1, $2, $3, $4) AS ids"
FILTERED_TYPES = ["jsonb", "bigint[]", "integer", "boolean"]
CONDITION = "pgblend._filter_condition(coalesce($1, '{}'), 2) AS f"


class CandidateFilter(NamedTuple):
    """How to tell the candidates that pass a filter (JSON) and a tsquery.

    `column` says whose ids decide, "document_ids" where nothing else is looked at, else
    "chunk_ids". `documents_read` is about how many documents look_up reads, 0 where an index finds
    them.
    """

    db: Database
    collection_ids: Sequence[int]
    filter: str | None
    words: str | None
    compiled: Row
    column: str

    @property
    def documents_read(self) -> float:
        """Return about how many documents look_up reads."""
        read: float = self.compiled["documents_read"]
        return read

    def passing(self, ids: Sequence[int]) -> Ids:
        """Return those of some ids that pass, ascending."""
        id_ = "d.id" if self.column == "document_ids" else "c.id"
        source = DOCUMENTS if self.column == "document_ids" else CHUNKS
        where = source.format(**self.compiled)
        statement = f"SELECT string_agg(int8send({id_}), '') AS ids FROM {where}"
        types, values = ["bigint[]", "text[]"], [sorted(ids), self.compiled["operands"]]
        if self.column == "chunk_ids":
            types, values = [*types, "tsquery"], [*values, self.words]
        packed = self.db.run(statement, types, *values)[0]["ids"] or b""
        return np.sort(np.frombuffer(packed, ">i8").astype(np.int64))

    def look_up(self, most: int) -> Ids | None:
        """Return all that pass the filter, ascending; None where these are more than `most`."""
        if self.filter is None:
            return None
        of_documents = self.column == "document_ids"
        values = self.filter, self.collection_ids, most, of_documents
        found = self.db.run(FILTERED, FILTERED_TYPES, *values)[0]["ids"]
        return None if found is None else np.sort(np.array(found, np.int64))


def candidate_filter(
    db: Database, collection_ids: Sequence[int], filter_: str | None, words: str | None
) -> CandidateFilter | None:
    """Return how to tell the candidates that pass; None where all do."""
    if filter_ is None and words is None:
        return None
    statement = f"SELECT f.*, {DECIDE}, {READ} FROM {CONDITION}"
    compiled = db.run(statement, ["jsonb", "bigint[]"], filter_, collection_ids)[0]
    decide = words is None and compiled["documents_decide"]
    column = "document_ids" if decide else "chunk_ids"
    return CandidateFilter(db, collection_ids, filter_, words, compiled, column)
