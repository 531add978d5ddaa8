"""A filter's conditions in a statement, and which chunks or documents pass them.

Vectors are searched by it too, also where the server has no numpy.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from pgblend.plpy.base.filters import parsed_filter
from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.filter import compile_filter, filter_alternatives


class Condition(NamedTuple):
    """A filter as conditions on document d and chunk c (compile_filter, filter_alternatives)."""

    on_chunk: str
    on_document: str
    operands: Sequence[str]
    keys: Sequence[str]
    alternatives: Sequence[str] | None
    singles: Sequence[str] | None


def filter_condition(db: Database, text: str | None, parameter: int) -> Condition:
    """Return the conditions of a filter, whose operands are a statement's parameter.

    None lets all pass.
    """
    tree = parsed_filter(db, text or "{}")
    on_chunk, operands = compile_filter(tree, parameter, False)
    on_document, _ = compile_filter(tree, parameter, True)
    return Condition(on_chunk, on_document, operands, *filter_alternatives(tree))


def in_language(text: str | None, language: str | None) -> str | None:
    """Return a filter, as JSON, with the language that is asked for; None without both."""
    if language is None:
        return text
    return f'{{"and": [{{"$language": {json.dumps(language)}}}, {text or "{}"}]}}'


_PASSING = "SELECT pgblend._passing_ids($1, $2, $3, $4, $5, $6, $7, $8, $9) AS ids"
_PASSING_TYPES = [
    *("text", "text", "text[]", "text[]", "jsonb[]", "jsonb[]"),
    *("bigint[]", "integer", "boolean"),
]


def passing_ids(
    db: Database,
    condition: Condition,
    collection_ids: Sequence[int],
    most: int | None,
    of_documents: bool = False,
) -> Sequence[int] | None:
    """Return the chunks that pass, or the documents; None where more than `most` do.

    The condition's operands are parameter 2.
    """
    values = *condition, collection_ids, most, of_documents
    ids: Sequence[int] | None = db.run(_PASSING, _PASSING_TYPES, *values)[0]["ids"]
    return ids
