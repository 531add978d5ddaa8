"""What a coordinator of shards has in the place of one node's routines.

Stubs of sql/85_shards/coordinator_*.sql stand for routines of their names: they ask shards. (The
other files there are of every database: what makes it a shard or a coordinator.) So do those
that are made here of routines and views that shards are asked for as a whole
(plpy/shards/merged_answers.py); those that change documents, the ROUTED, call themselves on shards.
Whatever else is granted and reaches a table of the store, by the calls that rights.py follows, gets
a body that refuses, so that nothing is answered from tables that are empty there; the tables
themselves refuse as well (_guard_store).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

from pgblend.plpy.shards.merged_answers import ROUTINES, VIEWS
from pgblend.sql import OF_COORDINATOR, SourceObject, code_of, objects_of
from pgblend.sql.program import program_modules
from pgblend.sql.rights import ROLES, called, granted, reached

# What each shard has of its own. The tables of embedding spaces are of the store as well.
STORE_TABLES = (
    *("chunk", "collection_language", "document", "document_name", "document_summary", "edge"),
    *("embedding_queue", "entity", "entity_extraction", "graph_change", "index_claim"),
    *("key_reference", "lexical_failure", "link"),
    *("pending", "posting", "segment", "tombstone", "unsettled", "vocabulary", "vocabulary_lock"),
)
# What shards have a copy of.
FRONT_TABLES = ("collection", "collection_grant", "embedding_space", "profile", "setting")
# Called on shards (_on_shards): on that of the source_key, that which has the document_id, or all,
# whose answers are put together.
ROUTED = (
    *("_delete_documents", "_forget_text", "_has_documents", "_lacking_vectors"),
    "_renew_lexemes",
    *("add_links", "delete_document", "delete_edge"),
    *("index_embedding_space", "ingest_document", "lexical_rebuild", "lexical_seal"),
    *("queue_missing_vectors", "reset_metadata", "retry_embeddings", "set_metadata"),
    "set_summary",
)
# Named by a coordinator's routines, but called on shards alone (_on_shards): they refuse here.
CALLED_THERE = {
    *("_add_far_edge", "_clear_nodes", "_document_ids", "_documents_named", "_end_graph_changes"),
    *("_graph_changes", "_lead_links", "_link_names", "_links_called", "_nodes_there"),
    *("_references", "_store_key_edges"),
    *("_clear_entity_edges", "_drop_entities", "_entity_marks", "_join_passages", "_joined_nodes"),
    *("_keep_entities", "_keep_mentions", "_mention_names", "_names_found", "_passage_entities"),
}
_PORTS = {"_ask_shards", "_tell_shards"}
# Stubs about the tables that stand for those of the shards' embedding spaces.
_STAND_INS = {"_create_embedding_table", "_drop_embedding_table", "_guard_table"}
_BASE = "10_base"
_ROOM = "85_shards"
_FRONT = r"(?:space|worker|allowance)\b"  # tables about embeddings that are not of the store
_STORE = re.compile(
    rf"pgblend_data\.(?:{'|'.join(STORE_TABLES)})\b|pgblend_data\.(?:[{{%]|embedding_(?!{_FRONT}))"
)
_CREATES = re.compile(
    r"(^CREATE OR REPLACE FUNCTION (?:pg)?blend\.(?:(?!^CREATE).)*?)"
    r"(\nAS (\$\w*\$).*?\3;|\nBEGIN ATOMIC\n.*?\nEND;|\nRETURN .*?;\n)",
    re.DOTALL | re.MULTILINE,
)
_ARGUMENTS = re.compile(r"\((.*?)\)\nRETURNS ", re.DOTALL)
_RETURNS = re.compile(r"\nRETURNS (?:TABLE \((.*?)\)|(\w+))(?=\n)", re.DOTALL)
_HEAD = (
    (r"\nLANGUAGE \w+", "\nLANGUAGE plpgsql"),
    (r" PARALLEL \w+", " PARALLEL UNSAFE"),
    (r"\n(STRICT|SECURITY DEFINER|SET [^\n]*)(?=\n|$)", ""),
)
_ROUTE = """
AS $function$
BEGIN
    {answer}
    FROM pgblend._on_shards('{schema}.{name}', jsonb_build_object({arguments})) AS a (answer){rest};
END;
$function$;
"""
# Answers of several shards as one, by the type of the result; a NULL is one of all.
_TOGETHER = {
    "bigint": "CASE WHEN bool_and(a.answer <> 'null') THEN sum((a.answer #>> '{}')::bigint) END",
    "boolean": "bool_or((a.answer #>> '{}')::boolean)",
    "jsonb": "(array_agg(a.answer))[1]",
}
_ROWS = re.compile(r"\nRETURNS TABLE \((.*?)\)\n(?=[A-Z])", re.DOTALL)
_VALUE = re.compile(r"\nRETURNS (\w+)\n")
_REFUSAL = """
AS $function$
BEGIN
    RAISE EXCEPTION '{name} does not work on a coordinator of shards yet'
        USING ERRCODE = 'feature_not_supported',
        HINT = 'docs/shards.md says what does; on a shard it works for the documents of that one.';
END;
$function$;
"""
_RELAY = """
AS $function$
BEGIN
    RETURN {};
END;
$function$;
"""


def stub_objects() -> Iterator[SourceObject]:
    """Yield what a coordinator alone has."""
    return objects_of(files("pgblend.sql") / _ROOM, of_coordinator=True)


def coordinator_objects(objects: list[SourceObject]) -> list[SourceObject]:
    """Return what a coordinator has in the place of one node's objects."""
    stubs = {one.name: one for one in stub_objects()}
    first = [relaying(stubs.pop(one.name, one)) for one in objects]
    first = [replace(one, text=routed(one)) if one.name in ROUTED else one for one in first]
    start = next(place for place, one in enumerate(first) if one.stage > _BASE)
    first[start:start] = stubs.values()
    text = f"SELECT pgblend._relay_views('{{{', '.join(VIEWS)}}}');\n"
    text += "GRANT EXECUTE ON FUNCTION pgblend._view_rows TO pgblend_reader;\n"
    # After 99_access.
    first.append(SourceObject(_ROOM, f"{OF_COORDINATOR}views", "relayed_views", text))
    entries = reaching_store(first)
    return [replace(one, text=refusing(one)) if one.name in entries else one for one in first]


def reaching_store(objects: list[SourceObject]) -> set[str]:
    """Name what is granted and reaches a table of the store."""
    access, code = code_of(objects)
    modules = program_modules()
    calls = called(code, modules)
    touching = {name for name, text in {**code, **modules}.items() if touches_store(text)}
    touching -= {one.name for one in objects if one.file.startswith(OF_COORDINATOR)} & _STAND_INS
    entries = set().union(*(granted(access, role) for role in ROLES))
    ends = {*_PORTS, *VIEWS, *CALLED_THERE}
    return {
        name
        for name in (entries & code.keys()) - VIEWS.keys()
        if reached({name}, calls, ends - {name}) & touching - ends | {name} & touching
    }


def touches_store(text: str) -> bool:
    """Tell whether a routine, view or module names a table of the store."""
    return _STORE.search(text) is not None


def refusing(one: SourceObject) -> str:
    """Return the text of a routine whose bodies refuse, with the same signatures; views as is."""

    def body(found: re.Match[str]) -> str:
        return head_of(found[1]) + _REFUSAL.format(name=one.name)

    return _CREATES.sub(body, one.text)


def routed(one: SourceObject) -> str:
    """Return the text of a routine whose bodies call it on shards, with the same signatures."""

    def body(found: re.Match[str]) -> str:
        return head_of(found[1]) + route(one.name, found[1])

    return _CREATES.sub(body, one.text)


def head_of(head: str) -> str:
    """Return the head of a routine as that of one in PL/pgSQL that reaches other servers."""
    for pattern, text in _HEAD:
        head = re.sub(pattern, text, head)
    return head


def route(name: str, head: str) -> str:
    """Return the body that calls a routine on shards.

    Rows of several shards with the same texts become one, whose numbers are sums.
    """
    arguments, returns = _ARGUMENTS.search(head), _RETURNS.search(head)
    if arguments is None or returns is None:
        raise ValueError(f"{name} has no arguments or no result: it cannot be routed")
    given = [one.split()[:2] for one in arguments[1].split(",")]
    texts = "jsonb", "[]"  # a JSON null is no NULL, and an array is none of JSON
    values = [f"'{own}', {own}{'::text' if kind.endswith(texts) else ''}" for own, kind in given]
    columns, scalar = returns.groups()
    answer, rest = f"RETURN {_TOGETHER.get(scalar, '')}", ""
    if columns:
        typed = [one.split() for one in columns.split(",")]
        sums = [f"sum(r.{own})::{kind}" if kind != "text" else f"r.{own}" for own, kind in typed]
        is_one = {"source_key", "document_id"} & {own for own, _ in given}
        answer = f"RETURN QUERY SELECT {'r.*' if is_one else ', '.join(sums)}"
        rest = f"\n    CROSS JOIN LATERAL jsonb_to_record(a.answer) AS r ({columns})"
        keys = ", ".join(f"r.{own}" for own, kind in typed if kind == "text")
        rest += "" if is_one else f"\n    GROUP BY {keys} ORDER BY {keys}"
    schema = "pgblend" if name.startswith("_") else "blend"
    return _ROUTE.format(
        answer=answer, schema=schema, name=name, arguments=", ".join(values), rest=rest
    )


def relaying(one: SourceObject) -> SourceObject:
    """Return a routine that shards are asked for as a whole with a body that asks them."""
    if one.name not in ROUTINES:
        return one

    def body(found: re.Match[str]) -> str:
        name = found[0].partition("(")[0].rpartition(".")[2]
        if name not in ROUTINES:
            return ""  # what the routine alone calls
        head = head_of(found[1])
        places = ", ".join(f"${place}" for place in range(1, len(ROUTINES[name]) + 1))
        answer = f"pgblend._relayed('{name}', jsonb_build_array({places}))"
        rows, value = _ROWS.search(head), _VALUE.search(head)
        if rows:
            return head + _RELAY.format(
                f"QUERY SELECT r.* FROM json_to_recordset({answer}) AS r ({rows[1]})"
            )
        return head + _RELAY.format(f"({answer} #>> '{{}}')::{value[1] if value else 'json'}")

    return replace(one, text=_CREATES.sub(body, one.text))
