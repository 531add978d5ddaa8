"""A filter's tree as an SQL condition."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

COLUMNS = {
    "$chunk_id": "c.id",
    "$document_id": "d.id",
    "$ingested_at": "d.ingested_at",
    "$kind": "c.kind",
    "$language": "d.text_search_config",
    "$media_type": "d.media_type",
    "$modified_at": "d.modified_at",
    "$source_key": "d.source_key",
    "$title": "d.title",
    "$uri": "d.uri",
}
RANGES = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
# What is compared with a date's day, which begins at the first and ends before the second.
OF_DAYS = {"lt": ("<", 0), "lte": ("<", 1), "gt": (">=", 1), "gte": (">=", 0)}
UNDATED = "coalesce(pgblend._iso_timestamp(d.metadata ->> 'date'), d.ingested_at)"
ZONED = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)$")


def compile_filter(
    tree: tuple[Any, ...], parameter: int, by_document: bool
) -> tuple[str, list[str]]:
    """Return an SQL condition on document d and chunk c, and the texts it compares with.

    The texts, and nothing of the filter is in the condition itself, are the elements of the
    statement's parameter number `parameter`, of type text[]. The condition is true where the
    filter holds, else false or NULL. Metadata are the document's, and unless `by_document`
    those of the chunk over them.
    """
    operands: list[str] = []

    def bind(value: str) -> str:
        operands.append(value)
        return f"(${parameter})[{len(operands)}]"

    return condition_of(tree, bind, by_document), operands


def condition_of(node: tuple[Any, ...], bind: Callable[[str], str], by_document: bool) -> str:
    """Return the condition of a node."""
    if node[0] in ("and", "or"):
        parts = [condition_of(part, bind, by_document) for part in node[1]]
        joined = f" {node[0].upper()} ".join(parts)
        return f"({joined})" if parts else str(node[0] == "and").lower()
    if node[0] == "not":
        return f"({condition_of(node[1], bind, by_document)}) IS NOT TRUE"
    operator, field, kind, value = node
    return comparison_of(operator, field, kind, value, bind, by_document)


def comparison_of(
    operator: str, field: str, kind: str, value: Any, bind: Callable[[str], str], by_document: bool
) -> str:
    """Return the condition of one operator on one field."""
    if operator == "ne":
        equal = comparison_of("eq", field, kind, value, bind, by_document)
        return f"({equal}) IS NOT TRUE"
    if operator == "exists" and not value:
        there = comparison_of("exists", field, kind, True, bind, by_document)
        return f"({there}) IS NOT TRUE"
    if kind.startswith("metadata"):
        return compare_json(operator, value_of(field, bind, by_document), kind, value, bind)
    if field == "$date":
        own = compare_date(operator, "d.modified_at", value, bind)
        other = compare_date(operator, UNDATED, value, bind)
        return f"({own} OR d.modified_at IS NULL AND {other})"
    if field == "$collection":
        named = compare_text(operator, "n.name", value, bind)
        return f"d.collection_id IN (SELECT n.id FROM pgblend_data.collection AS n WHERE {named})"
    compare = {"date": compare_date, "number": compare_number, "text": compare_text}[kind]
    return compare(operator, COLUMNS[field], value, bind)


def value_of(key: str, bind: Callable[[str], str], by_document: bool) -> str:
    """Return the expression of a metadata key's value: jsonb, NULL where there is none."""

    def top(name: str) -> str:
        place = bind(name)
        own = f"d.metadata -> {place}"
        return own if by_document else f"coalesce(c.metadata -> {place}, {own})"

    if "." not in key:
        return f"({top(key)})"
    first, *rest = key.split(".")
    way = f"({top(first)})" + "".join(f" -> {bind(step)}" for step in rest)
    return f"(coalesce({top(key)}, {way}))"


def compare_json(
    operator: str, field: str, kind: str, value: Any, bind: Callable[[str], str]
) -> str:
    """Return a condition on a jsonb value; of kind "metadata date" on what it says of time.

    A scalar contains (@>) its equal and nothing else, an array contains each of its elements.
    """
    if operator == "eq":
        return f"{field} @> {bind(json_text(value))}::jsonb"
    if operator == "in":
        values = ", ".join(f"{bind(json_text(part))}::jsonb" for part in value)
        return f"{field} @> ANY(ARRAY[{values}]::jsonb[])"
    if operator == "exists":
        return f"{field} <> 'null'::jsonb"
    if operator == "contains":
        return f"(jsonb_typeof({field}) = 'array' AND {field} @> {bind(json_text(value))}::jsonb)"
    if isinstance(value, Decimal):
        compared = f"{field} {RANGES[operator]} {bind(json_text(value))}::jsonb"
        return f"(jsonb_typeof({field}) = 'number' AND {compared})"
    text = f"({field} #>> '{{}}')"
    if kind == "metadata date":
        compared = compare_date(operator, f"pgblend._iso_timestamp{text}", value, bind)
    elif operator == "prefix":
        compared = f"{text} ^@ {bind(value)}"
    else:
        compared = f'{text} COLLATE "C" {RANGES[operator]} {bind(value)}'
    return f"(jsonb_typeof({field}) = 'string' AND {compared})"


def compare_text(operator: str, field: str, value: Any, bind: Callable[[str], str]) -> str:
    """Return a condition on a text column."""
    if operator == "eq":
        return f"{field} = {bind(value)}"
    if operator == "in":
        return f"{field} = ANY(ARRAY[{', '.join(map(bind, value))}]::text[])"
    if operator == "exists":
        return f"{field} IS NOT NULL"
    if operator == "prefix":
        return f"{field} ^@ {bind(value)}"
    if operator == "contains":
        parts = [f"strpos({field}, {bind(part)}) > 0" for part in value]
        return f"({' AND '.join([f'{field} IS NOT NULL', *parts])})"
    return f'{field} COLLATE "C" {RANGES[operator]} {bind(value)}'


def compare_number(operator: str, field: str, value: Any, bind: Callable[[str], str]) -> str:
    """Return a condition on a number's column."""
    if operator == "exists":
        return f"{field} IS NOT NULL"
    if operator == "in":
        values = ", ".join(f"{bind(str(part))}::numeric" for part in value)
        return f"{field} = ANY(ARRAY[{values}]::numeric[])"
    return f"{field} {RANGES.get(operator, '=')} {bind(str(value))}::numeric"


def compare_date(operator: str, field: str, value: Any, bind: Callable[[str], str]) -> str:
    """Return a condition on a timestamp; a date without a time stands for its whole day in UTC."""

    def instant(text: str, days: int = 0) -> str:
        zone = " 00:00Z" if is_day(text) else "" if ZONED.search(text) else "Z"
        later = " + interval '24:00'" if days else ""
        return f"{bind(text + zone)}::timestamptz{later}"

    def equal(text: str) -> str:
        if not is_day(text):
            return f"{field} = {instant(text)}"
        return f"({field} >= {instant(text)} AND {field} < {instant(text, 1)})"

    if operator == "exists":
        return f"{field} IS NOT NULL"
    if operator == "eq":
        return equal(value)
    if operator == "in":
        return f"({' OR '.join(map(equal, value)) or 'false'})"
    if not is_day(value):
        return f"{field} {RANGES[operator]} {instant(value)}"
    sign, days = OF_DAYS[operator]
    return f"{field} {sign} {instant(value, days)}"


def is_day(text: str) -> bool:
    """Tell whether a point in time is a date without a time."""
    return len(text) == len("2026-01-31")


def json_text(value: Any) -> str:
    """Return a value as JSON, numbers to the last digit."""
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
