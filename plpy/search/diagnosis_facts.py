"""What is known of a document and a search: by statements, the search itself and its arms."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, NamedTuple

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.session import Database, Json, error_state
from pgblend.plpy.base.settings import write_json
from pgblend.plpy.lexical.query import asked_of, query_groups
from pgblend.plpy.search.arms import VectorScope, vector_request
from pgblend.plpy.search.plan import read_state
from pgblend.plpy.search.query import IndexState
from pgblend.plpy.search.rule_patterns import for_query, without_hidden
from pgblend.plpy.search.store import StorePort, WordLists, WordScope

# Where an arm has a document in its whole list.

_CHUNKS = "SELECT greatest(sum(s.chunks)::bigint, 1) AS n FROM pgblend._collection_sizes($1) AS s"
LONG_MS = 600_000


class AskedArm(NamedTuple):
    """An arm, and the document and search that it is asked for; JSON and vectors are texts."""

    arm: str
    document_id: int
    query: str
    query_embedding: str | None
    space: str | None
    collection_ids: Sequence[int]
    filter: str | None
    settings: str


def place_in_arm(
    db: Database, asked: AskedArm, store: StorePort
) -> tuple[int | None, float | None]:
    """Return rank and score of a document's best passage; None where the arm lacks it.

    The arm itself is run, to the depth of all passages that there are, without a deadline of its
    own. Vectors are compared exactly: what an approximate index misses is found here. Operators
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
    db: Database, asked: AskedArm, settings: SearchSettings, depth: int, store: StorePort
) -> CandidateList:
    """Return an arm's list."""
    ids = asked.collection_ids
    if asked.arm == "vector":
        stated = read_state(db, None, None, ids)
        space = stated.space(asked.space)
        if space is None:
            return CandidateList()
        store.note_spaces(stated.spaces)
        binding = asked.query if settings.weights["lexical"] > 0 else None
        exact = replace(settings, vector_scan="exact")
        scope = VectorScope(space, ids, stated.is_everywhere, binding, asked.filter)
        return store.nearest(vector_request(asked.query_embedding, scope, exact, depth))
    everything = replace(settings, timeouts_ms={**settings.timeouts_ms, "lexical": LONG_MS})
    state = IndexState("incomplete")
    lists = WordLists(db, store, WordScope(ids, asked.filter, inf), everything, state)
    return lists.find(asked.arm, asked.query, depth).found


Facts = dict[str, Any]
Trace = Mapping[str, Any]
_ARMS = ("lexical", "vector", "fuzzy")

_SCOPE = """
SELECT
    s.collection_ids,
    s.settings::text,
    pgblend._find_document($5, s.collection_ids) AS document_id,
    pgblend._search_filter($4, s.settings, s.collection_ids)::text AS filter,
    (pgblend._searched_space(s.settings ->> 'space')).name AS space
FROM (
    SELECT i.collection_ids, pgblend._search_settings($1, $2, i.collection_ids) AS settings
    FROM (SELECT pgblend._searched_collections($3) AS collection_ids) AS i
) AS s
"""
_DOCUMENT = "SELECT d.* FROM pgblend._document_facts($1) AS d"
_NAMES = (
    "SELECT DISTINCT c.name FROM pgblend_data.collection AS c WHERE c.id = ANY($1) ORDER BY c.name"
)
_PASSES = "SELECT pgblend._document_passes($1, $2) AS passes"
_HOLDS = "SELECT pgblend._document_holds($1, $2, $3) AS holds"
_EMBEDDED = "SELECT (blend.embed_text(ARRAY[$1], $2, $3))[1]::text AS vector"
_SEARCH = """
SELECT s.trace::text, (s.results[1]).rank AS first_rank
FROM pgblend._search($1, $2, $3, $4, $5, $6, $7, traced => 'pool') AS s
"""
_SEARCH_TYPES = ["text", "integer", "text[]", "jsonb", "text", "jsonb", "vector"]
_TITLE = """
SELECT coalesce(nullif(r.title, ''), r.source_key) AS title
FROM pgblend._passage_rows(ARRAY[$1]) AS r
"""
_WAITING = "SELECT pgblend._waiting_vectors($1, $2) AS waiting"
_WORDS = """
SELECT w.word, w.is_there
FROM pgblend._document_words($1, $2, $4, ARRAY(
    SELECT DISTINCT l.language FROM pgblend._used_languages($3) AS l ORDER BY 1)) AS w
"""


@dataclass(frozen=True)
class Call:
    """Arguments of search_diagnose; JSON and vectors are texts."""

    query: str
    document: str
    result_limit: int
    collections: Sequence[str] | None
    filter: str | None
    profile: str | None
    options: str | None
    query_embedding: str | None


def gathered_facts(db: Database, call: Call, store: StorePort) -> Facts:
    """Return what is said of a document and a search.

    {"document": None} for one that the caller cannot read. Else "document", "collections" (names of
    those that are searched), "settings", "failed_conditions", "hidden" and "operators". The
    failed_conditions are None without a filter, hidden is the pattern of a rule that hides it. The
    operators are None where the query has neither phrases nor exclusions, or words do not count.
    Where the document's collection is searched, the very search is run: "stages", "arms"
    (arm_facts), the document's "candidates" in the whole pool, "start" (how many results come
    before the page) and "result_limit".
    """
    values = call.options, call.profile, call.collections, call.filter, call.document
    scope = db.run(_SCOPE, ["jsonb", "text", "text[]", "jsonb", "text"], *values)[0]
    ids, id_ = scope["collection_ids"], scope["document_id"]
    settings = json.loads(scope["settings"])
    names = [row["name"] for row in db.run(_NAMES, ["bigint[]"], ids)]
    found = db.run(_DOCUMENT, ["bigint"], id_)
    if not found:
        return {"document": None}
    document = dict(found[0])

    def passes(condition: Json) -> bool:
        row = db.run(_PASSES, ["bigint", "jsonb"], id_, write_json(condition))[0]
        return bool(row["passes"])

    filter_ = scope["filter"]
    hidden = for_query(settings["hidden"], call.query)
    facts = {
        "document": document,
        "collections": names,
        "settings": settings,
        "failed_conditions": filter_ and failed_conditions(passes, json.loads(filter_)),
        "hidden": hidden.get(document["source_key"]) or hidden.get(document["uri"]),
        "operators": _operators(db, id_, call.query, ids, settings),
    }
    if document["collection"] not in names:
        return facts
    vector = call.query_embedding or _query_vector(db, call.query, scope["space"], settings)
    shown = without_hidden(filter_, settings["hidden"], call.query)
    asked = AskedArm("", id_, call.query, vector, scope["space"], ids, shown, scope["settings"])
    return facts | _search_facts(db, call, asked, settings, store)


def failed_conditions(passes: Callable[[Json], bool], condition: Mapping[str, Any]) -> list[str]:
    """Return those parts of a filter that the document does not pass, as JSON; none if it passes.

    All entries of a filter must hold, and so must all of "and": each is tried alone. Where the
    document passes each, but no chunk of it all, the filter fails as a whole.
    """
    if passes(condition):
        return []
    parts = [{name: value} for name, value in condition.items() if name != "and"]
    failed = []
    for part in [*parts, *condition.get("and", ())]:
        if len(part) > 1 or "and" in part:
            failed += failed_conditions(passes, part)
        elif not passes(part):
            failed.append(write_json(part))
    return failed or [write_json(condition)]


def _operators(
    db: Database, document_id: int, query: str, collection_ids: Sequence[int], settings: Facts
) -> Facts | None:
    if settings["weights"]["lexical"] <= 0:
        return None
    values = document_id, query, collection_ids
    holds = db.run(_HOLDS, ["bigint", "text", "bigint[]"], *values)[0]["holds"]
    groups = query_groups(query)["groups"]
    told = {
        name: [text for group in groups for text in group[name]] for name in ("phrases", "excluded")
    }
    return None if holds is None else {**told, "held": holds}


def _query_vector(db: Database, query: str, space: str | None, settings: Facts) -> str | None:
    """Return the query's vector; None where none counts, or is to be had in time."""
    if space is None or settings["weights"]["vector"] <= 0:
        return None
    limits = settings["timeouts_ms"]
    timeout_ms = int(min(limits["embed"], limits["total"]))
    try:
        rows = db.run(_EMBEDDED, ["text", "text", "integer"], query, space, timeout_ms)
    except db.Problem as error:
        if error_state(error) != "PB008":
            raise
        return None
    vector: str | None = rows[0]["vector"]
    return vector


def _search_facts(
    db: Database, call: Call, asked: AskedArm, settings: Facts, store: StorePort
) -> Facts:
    given = call.query, call.result_limit, call.collections, call.filter, call.profile, call.options
    found = db.run(_SEARCH, _SEARCH_TYPES, *given, asked.query_embedding)[0]
    trace = json.loads(found["trace"])
    own = [one for one in trace["candidates"] if one["document_id"] == asked.document_id]
    for candidate in own:
        dropped = candidate.get("dropped")
        if dropped:
            rows = db.run(_TITLE, ["bigint"], dropped.get("duplicate_of"))
            dropped["of"] = rows[0]["title"] if rows else None
    first = found["first_rank"]
    return {
        "arms": {
            arm: arm_facts(db, asked._replace(arm=arm), settings, trace, store) for arm in _ARMS
        },
        "stages": trace["stages"],
        "candidates": own,
        "start": settings["offset"] if first is None else first - 1,
        "result_limit": call.result_limit,
    }


def arm_facts(
    db: Database, asked: AskedArm, settings: Facts, trace: Trace, store: StorePort
) -> Facts:
    """Return whether an arm ran in a traced search, and where it has the document.

    {"ran", "reason", "rank", "score", "measure", "candidates", "cut", "is_candidate", "found",
    "lacking", "waiting"}: cut is the last candidate's score. An arm that did not run has a reason
    and no rank.
    """
    arm = asked.arm
    stage = next((one for one in trace["stages"] if one["name"] == arm), None)
    reason = _why_not(arm, stage, trace["degraded"])
    if stage is None or reason is not None:
        return {"ran": False, "reason": reason, "rank": None}
    rank, score = place_in_arm(db, asked, store)
    scores = [one["arms"][arm]["score"] for one in trace["candidates"] if arm in one["arms"]]
    own = [one["arms"] for one in trace["candidates"] if one["document_id"] == asked.document_id]
    facts = {
        "ran": True,
        "candidates": stage["rows"],
        "rank": rank,
        "score": score,
        "measure": "cosine" if arm == "vector" else "score",
        "cut": min(scores, default=None),
        "is_candidate": any(arm in arms for arms in own),
    }
    if arm == "vector":
        rows = db.run(_WAITING, ["bigint", "text"], asked.document_id, asked.space)
        return facts | dict(rows[0])
    if arm == "lexical":
        values = asked.document_id, asked.query, asked.collection_ids, asked_of(asked.query).words
        words = db.run(_WORDS, ["bigint", "text", "bigint[]", "text"], *values)
        facts["found"] = [row["word"] for row in words if row["is_there"]]
        facts["lacking"] = [row["word"] for row in words if not row["is_there"]]
        facts["measure"] = "BM25" if settings["lexical_method"] == "bm25" else "score"
    return facts


def _why_not(arm: str, stage: Facts | None, degraded: Sequence[str]) -> str | None:
    """Return why an arm gave nothing that could be looked at; None where it did."""
    skipped = "the settings leave it out" if stage is None else stage.get("skipped")
    if skipped is not None:
        notes = (note.partition(": ") for note in degraded)
        return next((why for name, _, why in notes if name == arm), skipped)
    if arm == "fuzzy" and stage and stage["rows"] == 0:
        return "no word had to be corrected"
    return None
