"""Which candidates of the lexical arm pass: a filter, and a condition on their words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.conditions import Condition, filter_condition, passing_ids

Ids = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

DOCUMENTS = "pgblend_data.document AS d WHERE d.id = ANY($1) AND {on_document}"
JOINED = "pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d ON d.id = c.document_id"
CHUNKS = JOINED + " WHERE c.id = ANY($1) AND {on_chunk} AND coalesce(c.lexemes @@ $3, true)"
DECIDE = "pgblend._documents_decide($1, $2, $3) AS documents_decide"
READ = "pgblend._documents_read($1, $4) AS documents_read"
KNOWN_TYPES = ["text", "text[]", "bigint[]", "jsonb[]"]


class CandidateFilter(NamedTuple):
    """How to tell the candidates that pass a condition and a tsquery.

    `column` says whose ids decide, "document_ids" where nothing else is looked at, else
    "chunk_ids". `documents_read` is about how many documents look_up reads, 0 where an index finds
    them.
    """

    db: Database
    collection_ids: Sequence[int]
    has_filter: bool
    words: str | None
    condition: Condition
    column: str
    documents_read: float

    def passing(self, ids: Sequence[int]) -> Ids:
        """Return those of some ids that pass, ascending."""
        id_ = "d.id" if self.column == "document_ids" else "c.id"
        source = DOCUMENTS if self.column == "document_ids" else CHUNKS
        where = source.format(**self.condition._asdict())
        statement = f"SELECT string_agg(int8send({id_}), '') AS ids FROM {where}"
        types, values = ["bigint[]", "text[]"], (sorted(ids), self.condition.operands)
        if self.column == "chunk_ids":
            (row,) = self.db.run(statement, [*types, "tsquery"], *values, self.words)
        else:
            (row,) = self.db.run(statement, types, *values)
        packed = row["ids"] or b""
        return np.sort(np.frombuffer(packed, ">i8").astype(np.int64))

    def look_up(self, most: int) -> Ids | None:
        """Return all that pass the filter, ascending; None where these are more than `most`."""
        if not self.has_filter:
            return None
        of_documents = self.column == "document_ids"
        found = passing_ids(self.db, self.condition, self.collection_ids, most, of_documents)
        return None if found is None else np.sort(np.array(found, np.int64))


def candidate_filter(
    db: Database, collection_ids: Sequence[int], filter_: str | None, words: str | None
) -> CandidateFilter | None:
    """Return how to tell the candidates that pass; None where all do."""
    if filter_ is None and words is None:
        return None
    condition = filter_condition(db, filter_, 2)
    values = condition.on_document, condition.keys, collection_ids, condition.alternatives
    known = db.run(f"SELECT {DECIDE}, {READ}", KNOWN_TYPES, *values)[0]
    column = "document_ids" if words is None and known["documents_decide"] else "chunk_ids"
    has_filter = filter_ is not None
    return CandidateFilter(
        db, collection_ids, has_filter, words, condition, column, known["documents_read"]
    )
