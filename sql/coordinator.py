"""What a coordinator of shards has in the place of one node's routines.

Stubs of sql/shards/ stand for routines of their names: they ask shards. Whatever else is granted
and reaches a table of the store, by the calls that rights.py follows, gets a body that refuses, so
that nothing is answered from tables that are empty there. Views stay: the tables below them refuse
(_guard_store).
"""

import re
from dataclasses import replace
from importlib.resources import files

from pgblend.sql import SourceObject, code_of, objects_of
from pgblend.sql.program import program_modules
from pgblend.sql.rights import ROLES, called, granted, reached

# What each shard has of its own. The tables of embedding spaces are of the store as well.
STORE_TABLES = (
    *("chunk", "collection_language", "document", "document_name", "document_summary", "edge"),
    *("embedding_queue", "entity", "entity_extraction", "index_claim", "lexical_failure", "link"),
    *("pending", "posting", "segment", "tombstone", "vocabulary", "vocabulary_lock"),
)
# What shards have a copy of.
FRONT_TABLES = ("collection", "collection_grant", "embedding_space", "profile", "setting")
_PORT = "_ask_shards"
_FRONT = r"(?:space|worker|allowance)\b"  # tables about embeddings that are not of the store
_STORE = re.compile(
    rf"pgblend_data\.(?:{'|'.join(STORE_TABLES)})\b|pgblend_data\.(?:[{{%]|embedding_(?!{_FRONT}))"
)
_CREATES = re.compile(
    r"(^CREATE OR REPLACE FUNCTION (?:pg)?blend\.(?:(?!^CREATE).)*?)"
    r"(\nAS (\$\w*\$).*?\3;|\nBEGIN ATOMIC\n.*?\nEND;|\nRETURN .*?;\n)",
    re.DOTALL | re.MULTILINE,
)
_REFUSAL = """
AS $function$
BEGIN
    RAISE EXCEPTION '{name} does not work on a coordinator of shards yet'
        USING ERRCODE = 'feature_not_supported',
        HINT = 'docs/shards.md says what does; on a shard it works for the documents of that one.';
END;
$function$;
"""


def coordinator_objects(objects: list[SourceObject]) -> list[SourceObject]:
    """Return what a coordinator has in the place of one node's objects."""
    stubs = {one.name: one for one in objects_of(files("pgblend.sql") / "shards")}
    first = [stubs.pop(one.name, one) for one in objects]
    first[-1:-1] = stubs.values()  # before 99_access
    entries = reaching_store(first)
    return [replace(one, text=refusing(one)) if one.name in entries else one for one in first]


def reaching_store(objects: list[SourceObject]) -> set[str]:
    """Name what is granted and reaches a table of the store."""
    access, code = code_of(objects)
    modules = program_modules()
    calls = called(code, modules)
    touching = {name for name, text in {**code, **modules}.items() if _STORE.search(text)}
    entries = set().union(*(granted(access, role) for role in ROLES))
    return {name for name in entries & code.keys() if reached({name}, calls, {_PORT}) & touching}


def refusing(one: SourceObject) -> str:
    """Return the text of a routine whose bodies refuse, with the same signatures; views as is."""

    def body(found: re.Match[str]) -> str:
        head = re.sub(r"\nLANGUAGE \w+", "\nLANGUAGE plpgsql", found[1])
        head = re.sub(r"\n(STRICT|SECURITY DEFINER|SET [^\n]*)(?=\n|$)", "", head)
        return head + _REFUSAL.format(name=one.name)

    return _CREATES.sub(body, one.text)
