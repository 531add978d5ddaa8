"""A filter's tree as an SQL condition, and in a form that a GIN index can answer."""

import json
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from pgblend.plpy.base.filters import FIELDS, OF_ELEMENTS, is_date
from pgblend.plpy.lexical.forms import IGNORABLE

RANGES = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
# What is compared with a date's day, which begins at the first and ends before the second.
OF_DAYS = {"lt": ("<", 0), "lte": ("<", 1), "gt": (">=", 1), "gte": (">=", 0)}
OWN_DATE = "pgblend._iso_timestamp(c.metadata ->> 'date')"  # a passage's: of a message
UNDATED = "coalesce(pgblend._iso_timestamp(d.metadata ->> 'date'), d.ingested_at)"
ZONED = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)$")


def compile_filter(
    tree: tuple[Any, ...], parameter: int, by_document: bool
) -> tuple[str, list[str]]:
    """Return an SQL condition on document d and chunk c, and the texts it compares with.

    The texts are the elements of the statement's parameter number `parameter`, of type text[].
    Nothing of the filter is in the condition itself. The condition is true where the filter holds,
    else false or NULL. Metadata are the document's, and unless `by_document` those of the chunk
    over them.
    """
    compiler = Compiler(parameter, by_document)
    return compiler.condition(tree), compiler.operands


class Compiler:
    """Writes the conditions of one filter; `operands` are the texts that they compare with."""

    def __init__(self, parameter: int, by_document: bool) -> None:
        self.parameter, self.by_document = parameter, by_document
        self.operands: list[str] = []

    def bind(self, value: str) -> str:
        """Add an operand; return the expression that stands for it."""
        self.operands.append(value)
        return f"(${self.parameter})[{len(self.operands)}]"

    def bind_all(self, values: Iterable[str], type_: str) -> str:
        """Add operands; return the expression of their array."""
        bound = ", ".join(f"{self.bind(value)}::{type_}" for value in values)
        return f"ARRAY[{bound}]::{type_}[]"

    def condition(self, node: tuple[Any, ...]) -> str:
        """Return an SQL condition whose values are operands."""
        if node[0] in ("and", "or"):
            parts = map(self.condition, node[1])
            joined = f" {node[0].upper()} ".join(parts)
            return f"({joined})" if joined else str(node[0] == "and").lower()
        if node[0] == "not":
            return f"({self.condition(node[1])}) IS NOT TRUE"
        if node[0] == "forms":
            return self.condition(node[2])
        operator, field, kind, value = node
        if operator == "ne":
            return f"({self.condition(('eq', field, kind, value))}) IS NOT TRUE"
        if operator == "exists" and not value:
            return f"({self.condition((operator, field, kind, True))}) IS NOT TRUE"
        if kind.startswith("metadata"):
            return self.compare_metadata(operator, field, kind, value)
        return self.compare_field(operator, field, kind, value)

    def compare_field(self, operator: str, field: str, kind: str, value: Any) -> str:
        """Return a condition on a built-in field; names of collections are kept composed."""
        column = FIELDS[field][1]
        if field in ("$title", "$source_key", "$uri"):
            return self.compare_name(operator, field, column, value)
        if field == "$collection":
            compared = self.compare(operator, column, kind, composed(value))
            found = f"SELECT n.id FROM pgblend_data.collection AS n WHERE {compared}"
            return f"d.collection_id IN ({found})"
        compared = self.compare(operator, column, kind, value)
        if field == "$date":
            other = self.compare(operator, UNDATED, kind, value)
            of_document = f"({compared} OR d.modified_at IS NULL AND {other})"
            own = self.compare(operator, OWN_DATE, kind, value)  # both ways have its operands
            if self.by_document:
                return of_document
            return f"CASE WHEN {OWN_DATE} IS NULL THEN {of_document} ELSE {own} END"
        return compared

    def compare_name(self, operator: str, field: str, column: str, value: Any) -> str:
        """Return a condition on a name, which one machine stores and another types.

        Titles are compared in one form of Unicode. Keys and URIs, which an index has as they are,
        are asked for composed and decomposed as well.
        """
        if field == "$title":
            value = in_one_form(value)
            return self.compare(operator, IN_ONE_FORM.format(column), "text", value)
        compared = self.compare(operator, column, "text", value)
        others = [] if operator in RANGES else [one for one in other_forms(value) if one != value]
        each = (self.compare(operator, column, "text", one) for one in others)
        return f"({' OR '.join([compared, *each])})" if others else compared

    def compare_metadata(self, operator: str, key: str, kind: str, value: Any) -> str:
        """Return a condition on a metadata key; ranges and prefixes hold for any element."""
        field = self.metadata(key)
        if operator not in ("all", *OF_ELEMENTS):
            return self.compare_json(operator, field, kind, value)
        nodes = value if operator == "all" else [(operator, key, kind, value)]
        whole, element = (
            " AND ".join(self.compare_json(name, of, kind, given) for name, _, kind, given in nodes)
            for of in (field, "e.value")
        )
        # Arrays are more than true, as the order of jsonb has it: an index on the key serves both.
        return f"""(({whole}) OR {field} > 'true'::jsonb AND EXISTS (
            SELECT FROM jsonb_array_elements(
                CASE jsonb_typeof({field}) WHEN 'array' THEN {field} ELSE '[]' END) AS e (value)
            WHERE {element}))"""

    def metadata(self, key: str) -> str:
        """Return the expression of a metadata key's value: jsonb, NULL where there is none.

        Where a path goes through an array, it is the array of what its elements have there.
        """
        if "." not in key:
            return f"({self.top(key)})"
        return f"(coalesce({self.along(key)}, nullif({self.elements(key)}, '[]')))"

    def top(self, name: str) -> str:
        """Return the expression of the value of a key at the top."""
        place = self.bind(name)
        own = f"d.metadata -> {place}"
        return own if self.by_document else f"coalesce(c.metadata -> {place}, {own})"

    def along(self, key: str) -> str:
        """Return the expression of the value of the key, else along the path that it is."""
        first, *rest = key.split(".")
        way = f"({self.top(first)})" + "".join(f" -> {self.bind(step)}" for step in rest)
        return f"coalesce({self.top(key)}, {way})"

    def elements(self, key: str) -> str:
        """Return the expression of the array of all that a path leads to through arrays."""
        first, *rest = key.split(".")
        path = "$" + "".join(f".{json_text(step)}" for step in rest) + "[*] ? (@ != null)"
        return f"jsonb_path_query_array({self.top(first)}, {self.bind(path)}::jsonpath)"

    def compare_json(self, operator: str, field: str, kind: str, value: Any) -> str:
        """Return a condition on a jsonb value; of kind "metadata date" on what it says of time.

        A scalar contains (@>) its equal and nothing else, an array contains each of its elements.
        """
        if kind == "metadata date" and operator in ("eq", "in"):
            return self.compare_moments(field, value if operator == "in" else [value])
        if operator == "eq":
            return f"{field} @> {self.bind(json_text(value))}::jsonb"
        if operator == "in":
            return f"{field} @> ANY({self.bind_all(map(json_text, value), 'jsonb')})"
        if operator == "exists":
            return f"{field} <> 'null'::jsonb"
        if operator == "contains":
            compared = f"{field} @> {self.bind(json_text(value))}::jsonb"
            return f"(jsonb_typeof({field}) = 'array' AND {compared})"
        if isinstance(value, Decimal):
            compared = f"{field} {RANGES[operator]} {self.bind(json_text(value))}::jsonb"
            return f"(jsonb_typeof({field}) = 'number' AND {compared})"
        text = f"({field} #>> '{{}}')"
        if kind == "metadata date":
            text = f"pgblend._iso_timestamp{text}"
        compared = self.compare(operator, text, kind.removeprefix("metadata "), value)
        return f"(jsonb_typeof({field}) = 'string' AND {compared})"

    def compare_moments(self, field: str, values: list[Any]) -> str:
        """Return a condition on a jsonb value: it is one of some values, or an array that has one.

        Texts that tell points in time are equal where these are, as lt and gte have it.
        """
        dates = [one for one in values if isinstance(one, str) and is_date(one)]
        others = [one for one in values if one not in dates]
        moment = self.compare_date("in", "m.moment", dates)
        found = f"""EXISTS (
            SELECT FROM (
                SELECT pgblend._iso_timestamp(e.text) AS moment
                FROM jsonb_array_elements_text(CASE jsonb_typeof({field})
                    WHEN 'array' THEN {field}
                    WHEN 'string' THEN jsonb_build_array({field})
                    ELSE '[]' END) AS e (text)
                OFFSET 0) AS m
            WHERE {moment})"""
        if not others:
            return found
        return f"({self.compare_json('in', field, 'metadata', others)} OR {found})"

    def compare(self, operator: str, field: str, kind: str, value: Any) -> str:
        """Return a condition on an expression of a kind."""
        if operator == "exists":
            return f"{field} IS NOT NULL"
        compare = {"date": self.compare_date, "number": self.compare_number}
        return compare.get(kind, self.compare_text)(operator, field, value)

    def compare_text(self, operator: str, field: str, value: Any) -> str:
        """Return a condition on a text."""
        if operator == "eq":
            return f"{field} = {self.bind(value)}"
        if operator == "in":
            return f"{field} = ANY({self.bind_all(value, 'text')})"
        if operator == "prefix":
            return f"{field} ^@ {self.bind(value)}"
        if operator == "contains":
            parts = [f"strpos({field}, {self.bind(part)}) > 0" for part in value]
            return f"({' AND '.join([f'{field} IS NOT NULL', *parts])})"
        return f'{field} COLLATE "C" {RANGES[operator]} {self.bind(value)}'

    def compare_number(self, operator: str, field: str, value: Any) -> str:
        """Return a condition on a number's column."""
        if operator == "in":
            return f"{field} = ANY({self.bind_all(map(str, value), 'numeric')})"
        return f"{field} {RANGES.get(operator, '=')} {self.bind(str(value))}::numeric"

    def compare_date(self, operator: str, field: str, value: Any) -> str:
        """Return a condition on a timestamp; a date without a time is its whole day in UTC."""
        if operator == "in":
            days = [self.compare_date("eq", field, part) for part in value]
            return f"({' OR '.join(days) or 'false'})"
        if not is_day(value):
            return f"{field} {RANGES.get(operator, '=')} {self.instant(value)}"
        if operator == "eq":
            return f"({field} >= {self.instant(value)} AND {field} < {self.instant(value, 1)})"
        sign, days_later = OF_DAYS[operator]
        return f"{field} {sign} {self.instant(value, days_later)}"

    def instant(self, text: str, days_later: int = 0) -> str:
        """Return the expression of a point in time; of a date, of its day's begin or end."""
        zone = " 00:00Z" if is_day(text) else "" if ZONED.search(text) else "Z"
        later = " + interval '24:00'" if days_later else ""
        return f"{self.bind(text + zone)}::timestamptz{later}"


def is_day(text: str) -> bool:
    """Tell whether a point in time is a date without a time."""
    return len(text) == len("2026-01-31")


IN_ONE_FORM = f"regexp_replace(normalize({{}}, NFKC), '{IGNORABLE}', '', 'g')"


def in_one_form(value: Any) -> Any:
    """Return texts that are compared with titles in the form of these, other values as given."""
    if isinstance(value, list):
        return [in_one_form(one) for one in value]
    if not isinstance(value, str):
        return value
    return re.sub(IGNORABLE, "", unicodedata.normalize("NFKC", value))


def composed(value: Any) -> Any:
    """Return texts composed (Unicode's form NFC), other values as given."""
    if isinstance(value, list):
        return [composed(one) for one in value]
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def other_forms(value: Any) -> list[Any]:
    """Return texts as systems write the names of files: composed, and decomposed as a Mac does."""
    if isinstance(value, list):
        return [list(one) for one in zip(*map(other_forms, value), strict=True)]
    if not isinstance(value, str) or value.isascii():
        return [value, value]
    return [unicodedata.normalize(form, value) for form in ("NFC", "NFD")]


MOST_ALTERNATIVES = 2000
MOST_INDEXED_STEPS = 3  # of a path: each step doubles the alternatives


def filter_alternatives(
    tree: tuple[Any, ...],
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Return (keys, alternatives, singles) of a filter's tree.

    `keys` are the top-level metadata keys that it looks at. Whatever passes contains (@>) one of
    the `alternatives`, JSON objects; None where there is no such list. `singles` are their entries
    as objects of one key each. A chunk's metadata may lie over its document's. What passes then has
    an alternative in the document's or one of these in the chunk's.
    """
    alternatives = alternatives_of(tree)
    if alternatives is None:
        return sorted(keys_of(tree)), None, None
    singles = [{key: entry[key]} for entry in alternatives for key in entry]
    return sorted(keys_of(tree)), as_texts(alternatives), as_texts(singles)


def keys_of(node: tuple[Any, ...]) -> set[str]:
    """Return the top-level metadata keys that a node looks at."""
    if node[0] in ("and", "or"):
        return {key for part in node[1] for key in keys_of(part)}
    if node[0] in ("not", "forms"):
        return keys_of(node[-1])
    _, field, kind, _ = node
    if field == "$date":
        return {"date"}
    return {field, field.partition(".")[0]} if kind.startswith("metadata") else set()


def alternatives_of(node: tuple[Any, ...]) -> list[dict[str, Any]] | None:
    """Return objects of which whatever passes contains one; None where there are none."""
    if node[0] == "and":
        lists = [alternatives_of(part) for part in node[1]]
        found = sorted((part for part in lists if part is not None), key=len)
        return joined(found) if found else None
    if node[0] == "or":
        lists = [alternatives_of(part) for part in node[1]]
        union = [entry for part in lists for entry in part or ()]
        return None if None in lists or len(union) > MOST_ALTERNATIVES else union
    if node[0] == "forms":
        return alternatives_of(node[2])
    if node[0] not in ("eq", "in", "contains") or node[2] != "metadata":
        return None
    operator, field, _, value = node
    first, *rest = field.split(".")
    values = value if operator == "in" else [value]
    # The value itself, or an array that has it.
    forms = [form for part in values for form in (part, [part])]
    flat = [{field: part} for part in (values if operator == "contains" else forms)]
    if not rest:
        return flat
    if len(rest) > MOST_INDEXED_STEPS or value == []:
        return None
    if operator == "contains":  # elements of an array may have one of the values each
        forms = [value[0], value[:1]]
    return flat + [{first: way} for part in forms for way in ways(rest, part)]


def joined(lists: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the combinations of lists that must all hold, as far as those are few."""
    result = lists[0]
    for part in lists[1:]:
        keys = {key for entry in result for key in entry}
        apart = all(keys.isdisjoint(entry) for entry in part)
        if apart and len(result) * len(part) <= MOST_ALTERNATIVES:
            result = [{**one, **other} for one in result for other in part]
    return result


def ways(path: list[str], value: Any) -> list[Any]:
    """Return a value within objects of one key each, in all ways of these in arrays or not."""
    if not path:
        return [value]
    objects = [{path[0]: way} for way in ways(path[1:], value)]
    return [*objects, *([one] for one in objects)]


def as_texts(objects: list[dict[str, Any]]) -> list[str]:
    """Return objects as JSON texts, each once."""
    return list(dict.fromkeys(map(json_text, objects)))


def json_text(value: Any) -> str:
    """Return a value as JSON, numbers to the last digit."""
    if isinstance(value, dict):
        entries = (f"{json_text(key)}: {json_text(part)}" for key, part in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
