"""The program outside the backend: what the routines of the same names are inside.

`search` does what `_search` and `_run_search` do: checks, one snapshot, beginning again. All run
over a Connection, as the caller's role. None of them needs PL/Python in the server.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from pgblend.cli.search.connection import Connection
from pgblend.cli.search.outside import StatementError, report_search
from pgblend.plpy.answers.answer import ask_document
from pgblend.plpy.answers.render import context_of
from pgblend.plpy.base.filters import parsed_filter
from pgblend.plpy.base.session import ProgramError, Rows
from pgblend.plpy.lexical.query import check_query
from pgblend.plpy.models.outcome import mask_secrets
from pgblend.plpy.search.bridge import BridgedNode
from pgblend.plpy.search.call import search as run_search
from pgblend.plpy.search.candidates import StoredPassages
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.plan import context_settings, read_state, told_plan
from pgblend.plpy.search.query import Request, Tries, go_on_without
from pgblend.plpy.search.rows import Answer

Value = TypeVar("Value")

_CHECKED = """
    SELECT $1 AS query, $2 AS result_limit, $3 AS collections, $4::text AS filter, $5 AS profile,
        $6::text AS options, CASE WHEN vector_norm($7) BETWEEN 1e-3 AND 1e3 THEN $7
        ELSE l2_normalize($7) END::text AS query_embedding, pgblend._check_result_limit($2)"""
_CHECKED_TYPES = ["text", "integer", "text[]", "jsonb", "text", "jsonb", "vector"]
_CHECK_KEYS = "SELECT pgblend._check_result_limit($1), pgblend._check_keys($2)"
_CHECK_BUCKETS = "SELECT pgblend._check_buckets($1, $2)"
# No stages that could only reorder the pool.
_UNORDERED = """
    SELECT (coalesce($1, '{}') || '{"expand": "off", "rerank": "off"}')::text AS options"""
_FACETS = """
    SELECT f.* FROM pgblend._facets_of(
        $1, $2, $3, $4, pgblend._searched_collections($5)) AS f"""
_START = "SELECT pgblend._walk_start($1, $2, $3, $4, $5) AS start"
_STEPS = "SELECT s.* FROM pgblend._steps_of($1, $2, $3, $4, $5, $6, $7) AS s"
_STEP_TYPES = [
    *("bigint", "bigint[]", "integer[]", "bigint[]", "boolean[]", "text[]", "real[]"),
]
_HAS_MODEL = "SELECT blend.get_setting('answer_model') <> 'null' AS found"
_MODEL = "SELECT blend.get_setting('answer_model') #>> '{}' AS name"
_LANGUAGE = "SELECT pgblend._query_language($1) AS code"
_PURPOSE = """
    SELECT left(coalesce(nullif(current_setting('pgblend.purpose', true), ''), 'search'), 40)
        AS purpose"""
_NOT_TOLD = {"content", "metadata", "context_before", "context_after", "degraded", "details"}
# Failures after which a search begins again; the program's own PB012 says how often.
_AGAIN = {"PB012", "40001", "40P01"}
_MOST_TRIES = 3  # after another failure


class SearchArguments(NamedTuple):
    """What hybrid_search is called with, JSON and vectors as texts; and an arm that runs alone."""

    query: str | None
    result_limit: int | None = 10
    collections: list[str] | None = None
    filter: str | None = None
    profile: str | None = None
    options: str | None = "{}"
    query_embedding: str | None = None
    only_arm: str | None = None
    traced: str = "none"


def search(db: Connection, asked: SearchArguments, role: str | None = None) -> Answer:
    """Return what _search returns, by the program in this process, as a role."""

    def attempt(started_at: float, tries: Tries) -> Answer:
        return _reported(db, _searched(db, asked, started_at, tries))

    return _repeated(db, role, attempt, *asked)


def _of_whole_rows(options: str | None) -> str:
    """Return options (JSON) under which rows have all columns; wrong ones stay wrong."""
    given = json.loads(options or "{}")
    return json.dumps(given | {"columns": []}) if isinstance(given, dict) else options or ""


def context(
    db: Connection, asked: SearchArguments, output_format: str = "json", role: str | None = None
) -> dict[str, Any]:
    """Return what get_context returns; all of it is of one snapshot."""
    if output_format not in ("json", "markdown", "messages"):
        given = "'" + output_format[:200].replace("'", "''") + "'"
        raise ProgramError(
            f"output_format is {given}: expected json, markdown or messages",
            "Leave it out for json.",
        )

    whole = asked._replace(options=_of_whole_rows(asked.options))

    def attempt(started_at: float, tries: Tries) -> dict[str, Any]:
        settings = context_settings(db, asked.options, asked.profile, asked.collections)
        answer = _searched(db, whole, started_at, tries)
        searched_at = time.time()
        passages = [found._asdict() for found in answer["results"]]
        made = context_of(db, asked.query, passages, settings, output_format)
        _, _, facts = db.session["pgblend_last_search"]
        made["degraded"] = facts["degraded"]
        ms = {"search": searched_at - started_at, "assembly": time.time() - searched_at}
        _report_context(db, answer, made["stats"])
        made["stats"]["ms"] = {name: round(taken * 1000, 1) for name, taken in ms.items()}
        return made

    return _repeated(db, role, attempt, *asked, output_format)


def explain(db: Connection, asked: SearchArguments, role: str | None = None) -> Any:
    """Return what search_explain returns."""
    trace = search(db, asked._replace(traced="page"), role)["trace"]
    return trace and json.loads(trace)


def facets(
    db: Connection,
    asked: SearchArguments,
    keys: Sequence[str],
    buckets: str = "{}",
    role: str | None = None,
) -> Rows:
    """Return what search_facets returns; `asked` says how many values a key has at most."""

    def attempt(started_at: float, tries: Tries) -> Rows:
        db.run(_CHECK_KEYS, ["integer", "text[]"], asked.result_limit, keys)
        for key in keys:
            _check_field(db, key)
        db.run(_CHECK_BUCKETS, ["jsonb", "text[]"], buckets, keys)
        (row,) = db.run(_UNORDERED, ["jsonb"], asked.options)
        pool = asked._replace(options=row["options"], result_limit=0, traced="facets")
        trace = _reported(db, _searched(db, pool, started_at, tries))["trace"]
        values = trace, keys, asked.result_limit, buckets, asked.collections
        rows = db.run(_FACETS, ["jsonb", "text[]", "integer", "jsonb", "text[]"], *values)
        return [{**row, "value": row["value"] and json.loads(row["value"])} for row in rows]

    return _repeated(db, role, attempt, *asked, keys, buckets)


def _check_field(db: Connection, key: str) -> None:
    """Raise unless a key is one of metadata, or a field that filters know."""
    if not (key.startswith("$") or "." in key):
        return
    try:
        parsed_filter(db, json.dumps({key: {"exists": True}}))
    except ProgramError as error:
        message = error.message
        if message.startswith("filter"):
            message = "keys" + message.removeprefix("filter")
        raise ProgramError(message, error.hint) from None


def neighbours(
    db: Connection,
    node: str,
    depth: int = 1,
    direction: str = "both",
    edge_types: Sequence[str] | None = None,
    node_limit: int = 1000,
    role: str | None = None,
) -> Rows:
    """Return what graph_neighbors returns."""

    def attempt(_: float, __: Tries) -> Rows:
        values = node, depth, direction, edge_types, node_limit
        (row,) = db.run(_START, ["text", "integer", "text", "text[]", "integer"], *values)
        way: Any = {
            "depth": depth,
            "direction": direction,
            "edge_types": edge_types,
            "node_limit": node_limit + 1,
        }
        walk = StoredPassages(StoreNode(db)).walk([row["start"]], 1, way)
        *columns, is_cut = walk.columns
        if is_cut:
            db.warn(
                f"there are more than {node_limit} nodes: those of the heaviest edges are shown",
                "Raise node_limit, or name edge_types.",
            )
        return db.run(_STEPS, _STEP_TYPES, row["start"], *columns)

    return _repeated(db, role, attempt, node, depth, direction, edge_types, node_limit)


def ask(
    db: Connection, asked: SearchArguments, answer: bool | None = None, role: str | None = None
) -> dict[str, Any]:
    """Return what ask returns."""
    _check_question(asked.query)

    def attempt(started_at: float, tries: Tries) -> dict[str, Any]:
        settings = context_settings(db, asked.options, asked.profile, asked.collections)
        found = _passages(db, asked, settings, started_at, tries)
        wanted = answer
        if wanted is None:
            wanted = db.run(_HAS_MODEL, [])[0]["found"]
        read = json.loads(settings)
        reply = None
        if wanted and found["parts"]:
            try:
                reply = _reply(db, found["messages"], read)
            except ProgramError as error:
                if error.sqlstate != "PB008":
                    raise
                told = error.message, error.hint, error.sqlstate, bool(read["strict"])
                found["degraded"] = [*found["degraded"], go_on_without(db, "answer", *told)]
        return ask_document(found, reply)

    return _repeated(db, role, attempt, *asked)


class Passages(NamedTuple):
    """What an answer is made from: what _ask_passages found, and the settings."""

    found: dict[str, Any]
    settings: dict[str, Any]


def ask_passages(db: Connection, asked: SearchArguments, role: str | None = None) -> Passages:
    """Return what _ask_passages and _context_settings return, of one snapshot."""

    def attempt(started_at: float, tries: Tries) -> Passages:
        settings = context_settings(db, asked.options, asked.profile, asked.collections)
        found = _passages(db, asked, settings, started_at, tries)
        return Passages(found, json.loads(settings))

    _check_question(asked.query)
    return _repeated(db, role, attempt, *asked)


def _check_question(query: str | None) -> None:
    if not (query or "").strip(" \t\r\n"):
        given = "NULL" if query is None else "'" + query + "'"
        hint = "For example: ask('how do I deploy?')"
        raise ProgramError(f"query is {given}: expected a question", hint)


def _passages(
    db: Connection, asked: SearchArguments, settings: str, started_at: float, tries: Tries
) -> dict[str, Any]:
    answer = _searched(db, asked._replace(traced="page"), started_at, tries)
    rows, trace = answer["results"], json.loads(answer["trace"] or "{}")
    details = [stage.get("details") or {} for stage in trace["stages"]]
    questions = next((one["subQuestions"] for one in details if "subQuestions" in one), None)
    languages = (one.get("queryLanguage") for one in details)
    language = next((one for one in languages if one not in (None, "und")), None)
    relevances = [row.relevance for row in rows if row.relevance is not None]
    least = json.loads(settings).get("abstain_below")
    abstains = least is not None and bool(relevances) and least > max(relevances)
    passages = [] if abstains else [row._asdict() for row in rows]
    context = context_of(db, asked.query, passages, settings, "messages", questions)
    _report_context(db, answer, context["stats"])
    meta = {name: value for name, value in trace["meta"].items() if name != "mode"}
    return {
        "query": asked.query,
        "queryLanguage": language or db.run(_LANGUAGE, ["text"], asked.query)[0]["code"],
        "parts": context["parts"],
        "messages": context["messages"],
        "results": [_told(row._asdict()) for row in rows],
        "mode": trace["meta"]["mode"],
        "meta": meta | {"tokens": context["stats"]["tokens"]},
        "abstains": abstains,
        "questions": questions,
        "degraded": trace["degraded"],
    }


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a row that an answer shows."""
    shown = {name: value for name, value in row.items() if name not in _NOT_TOLD}
    return shown | {"arms": json.loads(row["arms"])}


def _reply(db: Connection, messages: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what _answer_reply returns, asked of the gateway by this process."""
    question = {"messages": messages, "max_tokens": settings["answer_tokens"], "temperature": 0}
    ms = int(settings["timeouts_ms"]["answer"])
    sent = db.send_model("answer", json.dumps(question), None, ms)
    outcome = db.kept("calls").pop(sent["call"]).answer() if "call" in sent else sent
    if "problem" in outcome:
        raise ProgramError(outcome["problem"], outcome["hint"], "PB008")
    body = outcome["answer"]
    try:
        text, reason = body["choices"][0]["message"]["content"], body["choices"][0]
    except (KeyError, IndexError, TypeError):
        text, reason = None, {}
    if not isinstance(text, str):
        shown = mask_secrets(json.dumps(body, ensure_ascii=False))[:200]
        raise ProgramError(
            f"the gateway's answer is no chat completion: {shown}",
            "Is gateway_url the address of a model gateway?",
            "PB008",
        )
    if not text.strip(" \t\r\n"):
        hint = "Ask again, or set another answer_model."
        raise ProgramError("the model said nothing", hint, "PB008")
    model = body.get("model") or db.run(_MODEL, [])[0]["name"]
    return {"model": model, "text": text, "finish_reason": reason.get("finish_reason")}


def rerank_candidates(
    db: Connection, asked: SearchArguments, role: str | None = None
) -> list[dict[str, Any]]:
    """Return what rerank_candidates returns, but for the ranks."""
    trace = search(db, asked._replace(traced="rerank"), role)["trace"]
    passages: list[dict[str, Any]] = json.loads(trace or "{}").get("passages", [])
    return passages


def plan(db: Connection, asked: SearchArguments, role: str | None = None) -> dict[str, Any]:
    """Return what _search_plan returns."""

    def attempt(_: float, __: Tries) -> dict[str, Any]:
        state = read_state(db, asked.profile, asked.collections)
        told: dict[str, Any] = json.loads(told_plan(db, state, asked.options))
        return told

    return _repeated(db, role, attempt, *asked)


def _reported(db: Connection, answer: Answer) -> Answer:
    if answer["report"] is not None:
        report_search(db, answer["report"])
    return answer


def _report_context(db: Connection, answer: Answer, stats: dict[str, Any]) -> None:
    """Report what went into a context, as the routine of this name does."""
    if answer["report"] is None:
        return
    (row,) = db.run(_PURPOSE, [])
    report = json.loads(answer["report"]) | {"purpose": row["purpose"]}
    taken = {
        "budget_used": stats.get("tokens"),
        "files_touched": stats.get("files"),
        "dedup_ratio": stats.get("duplication_ratio"),
    }
    report["trace"] |= {name: value for name, value in taken.items() if value is not None}
    report_search(db, json.dumps(report))


def _checked(db: Connection, asked: SearchArguments) -> list[Any]:
    """Return the arguments as the server reads them, JSON in its own form."""
    names = SearchArguments._fields[: len(_CHECKED_TYPES)]
    (row,) = db.run(_CHECKED, _CHECKED_TYPES, *asked[: len(names)])
    check_query(db, asked.query or "")
    return [row[name] for name in names]


def _searched(db: Connection, asked: SearchArguments, started_at: float, tries: Tries) -> Answer:
    arguments = [*_checked(db, asked), asked.only_arm, asked.traced, started_at, tries]
    return run_search(db, Request(*arguments), BridgedNode(db))


def _repeated(
    db: Connection, role: str | None, attempt: Callable[[float, Tries], Value], *given: Any
) -> Value:
    """Begin as often as _search does: where the program asks for it, or another session won.

    What calls with equal arguments but for texts ask is foreseen.
    """
    name = f"{attempt.__qualname__} {role} {db.taking}"
    started_at, tries, tried = time.time(), Tries(), list[str]()
    db.warnings.clear()
    while True:
        try:
            with db.transaction(role), db.foreseen.call(name, given):
                return attempt(started_at, tries)
        except (StatementError, ProgramError) as error:
            if error.sqlstate not in _AGAIN:
                raise
            if (error.detail or "").startswith("{"):
                tries = Tries.read(error.detail)
                time.sleep(tries.pause_s)
            elif tried.count(error.sqlstate) >= _MOST_TRIES:
                raise
            else:
                tried.append(error.sqlstate)
