"""What is known of a document and a search: by statements, the search itself and its arms."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.plpy.rules.patterns import without_hidden
from pgblend.plpy.search.place import Asked, place_in_arm
from pgblend.plpy.session import Database, Json, error_state
from pgblend.plpy.settings.check import write_json
from pgblend.plpy.text.parse import asked_of
from pgblend.plpy.text.query import query_groups

Facts = dict[str, Any]
Trace = Mapping[str, Any]
_ARMS = ("lexical", "vector", "fuzzy")

_SCOPE = """
SELECT
    s.collection_ids,
    s.settings::text,
    pgblend._find_document($5, s.collection_ids) AS document_id,
    pgblend._search_filter($4, s.settings)::text AS filter,
    (pgblend._searched_space(s.settings ->> 'space')).name AS space
FROM (
    SELECT i.collection_ids, pgblend._search_settings($1, $2, i.collection_ids) AS settings
    FROM (SELECT pgblend._searched_collections($3) AS collection_ids) AS i
) AS s
"""
_DOCUMENT = """
SELECT
    d.id, d.source_key, d.uri, d.title, c.name AS collection, d.text_search_config AS language,
    (SELECT count(*) FROM pgblend_data.chunk AS h WHERE h.document_id = d.id) AS passages
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
WHERE d.id = $1
"""
_NAMES = "SELECT c.name FROM pgblend_data.collection AS c WHERE c.id = ANY($1) ORDER BY c.name"
_PASSES = """
SELECT cardinality(pgblend._filter_candidates(ARRAY(
    SELECT c.id FROM pgblend_data.chunk AS c WHERE c.document_id = $1), $2)) > 0 AS passes
"""
_HELD = """
SELECT EXISTS (
    SELECT FROM pgblend_data.chunk AS c WHERE c.document_id = d.id AND c.lexemes @@ b.condition
) AS held
FROM pgblend_data.document AS d
INNER JOIN pgblend._binding_conditions($2, $3) AS b ON b.config_name = d.text_search_config
WHERE d.id = $1
"""
_EMBEDDED = "SELECT (blend.embed_text(ARRAY[$1], $2, $3))[1]::text AS vector"
_SEARCH = """
SELECT s.trace::text, (s.results[1]).rank AS first_rank
FROM pgblend._search($1, $2, $3, $4, $5, $6, $7, traced => 'pool') AS s
"""
_SEARCH_TYPES = ["text", "integer", "text[]", "jsonb", "text", "jsonb", "vector"]
_TITLE = """
SELECT coalesce(nullif(d.title, ''), d.source_key) AS title
FROM pgblend_data.chunk AS c
INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
WHERE c.id = $1
"""
_WAITING = """
SELECT count(*) AS waiting FROM pgblend_data.embedding_queue AS q
WHERE q.document_id = $1 AND q.space = $2
"""
# As the lexical arm parses them, in the document's language. An identifier as a whole is left out:
# its words tell as much.
_WORDS = """
SELECT
    l.word,
    EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.document_id = d.id AND c.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme])
    ) AS is_there
FROM pgblend_data.document AS d
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT i.text_search_config) AS names
    FROM pgblend_data.collection_language AS i WHERE i.collection_id = ANY($3)
) AS configs
CROSS JOIN LATERAL pgblend._parse_query($2, d.text_search_config, CASE
    WHEN cardinality(configs.names) > 1 THEN pgblend._query_stop_words($4, configs.names)
    ELSE '{}' END) AS p
CROSS JOIN LATERAL unnest(
    p.lexemes, pgblend._words_of_lexemes($2, d.text_search_config, p.lexemes)
) WITH ORDINALITY AS l (lexeme, word, place)
WHERE d.id = $1 AND l.lexeme NOT LIKE '=%'
ORDER BY l.place
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


def gathered_facts(db: Database, call: Call) -> Facts:
    """Return what is said of a document and a search.

    {"document": None} for one that the caller cannot read. Else "document", "collections" (names of
    those that are searched), "settings", "failed_conditions" and "operators". failed_conditions are
    None without a filter. operators are None where the query has neither phrases nor exclusions, or
    words do not count. Where the document's collection is searched, the very search is run:
    "stages", "arms" (arm_facts), the document's "candidates" in the whole pool, "start" (how many
    results come before the page) and "result_limit".
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

    filter_ = without_hidden(scope["filter"], settings["hidden"], call.query)
    facts = {
        "document": document,
        "collections": names,
        "settings": settings,
        "failed_conditions": filter_ and failed_conditions(passes, json.loads(filter_)),
        "operators": _operators(db, id_, call.query, ids, settings),
    }
    if document["collection"] not in names:
        return facts
    vector = call.query_embedding or _query_vector(db, call.query, scope["space"], settings)
    asked = Asked("", id_, call.query, vector, scope["space"], ids, filter_, scope["settings"])
    return facts | _search_facts(db, call, asked, settings)


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
    rows = db.run(_HELD, ["bigint", "text", "bigint[]"], *values)
    groups = query_groups(query)["groups"]
    told = {
        name: [text for group in groups for text in group[name]] for name in ("phrases", "excluded")
    }
    return {**told, "held": rows[0]["held"]} if rows else None


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


def _search_facts(db: Database, call: Call, asked: Asked, settings: Facts) -> Facts:
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
        "arms": {arm: arm_facts(db, asked._replace(arm=arm), settings, trace) for arm in _ARMS},
        "stages": trace["stages"],
        "candidates": own,
        "start": settings["offset"] if first is None else first - 1,
        "result_limit": call.result_limit,
    }


def arm_facts(db: Database, asked: Asked, settings: Facts, trace: Trace) -> Facts:
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
    rank, score = place_in_arm(db, asked)
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
        return "no word had to be put right"
    return None
