"""Where an arm has a document in its whole list."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from math import inf
from typing import NamedTuple

from pgblend.plpy.ports import CandidateList
from pgblend.plpy.search.arms import vector_request
from pgblend.plpy.search.lexical import IndexState, WordLists
from pgblend.plpy.search.state import read_state
from pgblend.plpy.search.store import StorePort
from pgblend.plpy.session import Database
from pgblend.plpy.settings.catalog import SearchSettings

_CHUNKS = "SELECT greatest(sum(s.chunks)::bigint, 1) AS n FROM pgblend._collection_sizes($1) AS s"
LONG_MS = 600_000


class Asked(NamedTuple):
    """An arm, and the document and search that it is asked for; JSON and vectors are texts."""

    arm: str
    document_id: int
    query: str
    query_embedding: str | None
    space: str | None
    collection_ids: Sequence[int]
    filter: str | None
    settings: str


def place_in_arm(db: Database, asked: Asked, store: StorePort) -> tuple[int | None, float | None]:
    """Return rank and score of a document's best passage; None where the arm lacks it.

    The arm itself is run, to the depth of all passages that there are, without a deadline of its
    own, and vectors are compared exactly: what an approximate index misses is found here. Operators
    bind the vectors where words count, as in a search.
    """
    read = json.loads(asked.settings)
    settings = SearchSettings(**{one.name: read[one.name] for one in fields(SearchSettings)})
    depth = db.run(_CHUNKS, ["bigint[]"], asked.collection_ids)[0]["n"]
    found = whole_list(db, asked, settings, depth, store)
    for place, (document_id, score) in enumerate(
        zip(found.document_ids, found.scores, strict=True), 1
    ):
        if document_id == asked.document_id:
            return place, score
    return None, None


def whole_list(
    db: Database, asked: Asked, settings: SearchSettings, depth: int, store: StorePort
) -> CandidateList:
    """Return an arm's list."""
    ids = asked.collection_ids
    if asked.arm == "vector":
        stated = read_state(db, None, None, ids)
        space = stated.space(asked.space)
        if space is None:
            return CandidateList()
        binding = asked.query if settings.weights["lexical"] > 0 else None
        exact = replace(settings, vector_scan="exact")
        where = asked.query_embedding, space, ids, stated.is_everywhere
        return store.nearest(vector_request(*where, binding, asked.filter, exact, depth))
    everything = replace(settings, timeouts_ms={**settings.timeouts_ms, "lexical": LONG_MS})
    state = IndexState("incomplete")
    lists = WordLists(db, store, ids, asked.filter, everything, inf, state)
    return lists.find(asked.arm, asked.query, depth).found
