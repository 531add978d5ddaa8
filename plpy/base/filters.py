"""A search's filter, read and checked."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from pgblend.plpy.base.session import Database, ProgramError

COMPARISONS = ("eq", "ne", "in", "lt", "lte", "gt", "gte", "exists")
OF_ELEMENTS = ("lt", "lte", "gt", "gte", "prefix")  # those of one key hold for one same element
OPERATORS = {
    "metadata": (*COMPARISONS, "contains", "prefix"),
    "text": (*COMPARISONS, "contains", "prefix"),
    "date": COMPARISONS,
    "number": COMPARISONS,
}
# The kind of each field, and its column of a chunk c, its document d, their collection n.
FIELDS = {
    "$chunk_id": ("number", "c.id"),
    "$collection": ("text", "n.name"),
    "$date": ("date", "d.modified_at"),
    "$document_id": ("number", "d.id"),
    "$ingested_at": ("date", "d.ingested_at"),
    "$kind": ("text", "c.kind"),
    "$language": ("text", "d.text_search_config"),
    "$media_type": ("text", "d.media_type"),
    "$modified_at": ("date", "d.modified_at"),
    "$source_key": ("text", "d.source_key"),
    "$title": ("text", "d.title"),
    "$uri": ("text", "d.uri"),
}
METADATA = "$metadata."
MOST_DEPTH = 16
MOST_STEPS = 32
LIMITS = {"filter_conditions": 200, "filter_values": 1000}  # by default
LEAST_LIMIT = 100
_LIMITS = "SELECT blend.get_setting('limits')::text AS limits"
TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
ZONE = r"(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?"
DATE = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[T ]{TIME}{ZONE})?")
EXPECTED = {
    "metadata": "a string, a number, true or false",
    "text": "a string",
    "date": "a date or a timestamp of ISO 8601",
    "number": "a number",
}
EXAMPLES = {
    "metadata": '{"year": {"gte": 1970}}, {"tags": {"contains": "new"}} or {"type": {"in": ["a"]}}',
    "text": '{"$uri": {"prefix": "a/"}}, {"$title": {"contains": "x"}} or {"$language": "german"}',
    "date": '{"$modified_at": {"gte": "2026-01-31"}} or "2026-01-31T12:00:00Z"',
    "number": '{"$document_id": {"in": [1, 2]}}',
}


def parse_filter(text: str, most: Callable[[str], int] = LIMITS.__getitem__) -> tuple[Any, ...]:
    """Return the tree of a filter given as JSON text.

    `most` gives the limits filter_conditions and filter_values (of one list). Below 100, which is
    the least that a limit can be, it is not asked.

    Nodes are ("and", nodes), ("or", nodes), ("not", node) and (operator, field, kind, value). Of
    ("all", field, "metadata", nodes) one value, or one element of an array, passes all nodes;
    ("forms", node, others) is a node as written, and what asks for it in all forms of Unicode. A
    field is a built-in one ("$uri") or the name of a metadata key. A kind is "metadata", "text",
    "date", "number" or, for a metadata key compared with a point in time, "metadata date". Numbers
    are Decimals. Raises ValueError(message, hint): what the value is, what was expected, what to
    do.
    """
    try:
        tree = parse_checked(text)
    except RecursionError:
        raise ValueError(
            f"filter is nested more than {MOST_DEPTH} deep",
            "Join the conditions of and within and, or within or.",
        ) from None
    found = list(comparisons(tree))
    longest = max(len(node[-1]) if isinstance(node[-1], list) else 1 for node in found)
    check_size("filter_conditions", "conditions", len(found), most)
    check_size("filter_values", "values of one key", longest, most)
    return tree


def parsed_filter(db: Database, text: str) -> tuple[Any, ...]:
    """Return the tree of a filter given as JSON text; 22023 for one that is wrong or too large."""

    def most(limit: str) -> int:
        found: int = json.loads(db.run(_LIMITS, [])[0]["limits"])[limit]
        return found

    try:
        return parse_filter(text, most)
    except ValueError as error:
        message, hint = error.args
        raise ProgramError(message, hint) from None


def parse_checked(text: str) -> tuple[Any, ...]:
    """Return the tree; RecursionError for what Python's json cannot read or write."""
    filter_value = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    if not isinstance(filter_value, dict):
        raise ValueError(
            f"filter is {shown(filter_value)}: expected a JSON object",
            'For example: {"author": "knuth", "year": {"gte": 1974}}',
        )
    return parse_object(filter_value, 1)


def check_size(limit: str, unit: str, size: int, most: Callable[[str], int]) -> None:
    """Raise ValueError where a filter has more of something than a limit lets it."""
    if size > LEAST_LIMIT and size > most(limit):
        raise ValueError(
            f"filter has {size} {unit}: expected at most {most(limit)}",
            "A member of pgblend_admin raises the setting limits: set_setting('limits', "
            f"'{{\"{limit}\": {size}}}'). Many values of one key are one condition: "
            '{"key": {"in": […]}}',
        )


def parse_object(conditions: dict[str, Any], depth: int) -> tuple[Any, ...]:
    """Return the node of an object, all of whose entries must hold."""
    if depth > MOST_DEPTH:
        raise ValueError(
            f"filter: {shown(conditions)} is nested more than {MOST_DEPTH} deep",
            "Join the conditions of and within and, or within or.",
        )
    nodes = [parse_entry(key, value, depth) for key, value in conditions.items()]
    return nodes[0] if len(nodes) == 1 else ("and", nodes)


def parse_entry(key: str, value: Any, depth: int) -> tuple[Any, ...]:
    """Return the node of one entry: a connective, or what must hold of a field."""
    if key in ("and", "or"):
        if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
            raise ValueError(
                f'filter: "{key}" is {shown(value)}: expected an array of filters',
                f'{{"{key}": [{{"a": 1}}, {{"b": 2}}]}}. A metadata key is "$metadata.{key}".',
            )
        return (key, [parse_object(part, depth + 1) for part in value])
    if key == "not":
        if not isinstance(value, dict):
            raise ValueError(
                f'filter: "not" is {shown(value)}: expected a filter',
                '{"not": {"a": 1}}. A metadata key is "$metadata.not".',
            )
        return ("not", parse_object(value, depth + 1))
    field, kind = parse_field(key)
    if not isinstance(value, dict):
        value = {"eq": value}
    elif not value:
        raise ValueError(
            f'filter: "{shorter(key)}" is {{}}: expected an operator and a value', EXAMPLES[kind]
        )
    for name in value:
        if name not in OPERATORS[kind]:
            raise ValueError(
                f'filter: "{shorter(key)}" is {shown(value)}: "{shorter(name)}"'
                + f" is no operator here, expected {', '.join(OPERATORS[kind])}",
                EXAMPLES[kind],
            )
    nodes = together([comparison(key, name, field, kind, given) for name, given in value.items()])
    if kind == "metadata" and not key.startswith(METADATA):
        nodes = [in_all_forms(node) for node in nodes]
    return nodes[0] if len(nodes) == 1 else ("and", nodes)


def together(nodes: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return one key's comparisons, whose ranges are one node: they are of one same element."""
    ranges = [node for node in nodes if node[0] in OF_ELEMENTS]
    if len(ranges) < 2 or not ranges[0][2].startswith("metadata"):
        return nodes
    others = [node for node in nodes if node not in ranges]
    return [*others, ("all", ranges[0][1], "metadata", ranges)]


def in_all_forms(node: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the node of a metadata key's comparison, which meets names and texts in all forms.

    One machine stores them composed, and another asks for them decomposed (Unicode's NFC and NFD).
    """
    operator, field, kind, value = node
    values = value if isinstance(value, list) else [value]
    if all(not isinstance(one, str) or one.isascii() for one in (field, *values)):
        return node

    def any_of(operator: str, operands: list[Any]) -> tuple[Any, ...]:
        return ("or", [(operator, name, kind, one) for name in forms_of(field) for one in operands])

    if operator in ("eq", "ne", "in"):
        found = any_of("in", [[form for one in values for form in forms_of(one)]])
    elif operator == "contains" and values:
        parts = [any_of("contains", [[form] for form in forms_of(one)]) for one in values]
        found = ("and", parts)
    elif operator == "prefix":
        found = any_of("prefix", forms_of(value))
    elif operator == "all":
        each = [[(name, form, *rest) for name, _, *rest in value] for form in forms_of(field)]
        found = ("or", [("all", nodes[0][1], kind, nodes) for nodes in each])
    else:
        found = any_of(operator, [operator == "exists" or value])
    is_not = operator == "ne" or (operator == "exists" and not value)
    return ("forms", node, ("not", found) if is_not else found)


def forms_of(value: Any) -> list[Any]:
    """Return a text as it is, composed and decomposed, each once; another value as it is."""
    if not isinstance(value, str) or value.isascii():
        return [value]
    return list(dict.fromkeys([value, *(unicodedata.normalize(f, value) for f in ("NFC", "NFD"))]))


def comparison(key: str, operator: str, field: str, kind: str, value: Any) -> tuple[Any, ...]:
    """Return the node of one operator."""
    value = operand(key, operator, kind, value)
    if kind == "metadata" and operator in ("eq", "ne", "in", "lt", "lte", "gt", "gte"):
        values = value if isinstance(value, list) else [value]
        if any(isinstance(one, str) and is_date(one) for one in values):
            kind = "metadata date"
    return (operator, field, kind, value)


def parse_field(key: str) -> tuple[str, str]:
    """Return the field that a key names, and its kind."""
    if key.count(".") > MOST_STEPS:
        raise ValueError(
            f'filter: "{shorter(key)}" has {key.count(".")} dots: expected at most {MOST_STEPS}',
            "a.b is the key of that name, else b within a.",
        )
    if key.startswith(METADATA):
        return key[len(METADATA) :], "metadata"
    if key.startswith("$"):
        if key not in FIELDS:
            raise ValueError(
                f'filter: there is no field "{shorter(key)}": expected {", ".join(FIELDS)}',
                f"A metadata key that begins with $ is written {METADATA}$key.",
            )
        return key, FIELDS[key][0]
    return key, "metadata"


def operand(key: str, operator: str, kind: str, value: Any) -> Any:
    """Return the checked value that an operator compares with; "contains" always gets a list."""
    expected = EXPECTED[kind]
    if operator == "exists":
        expected, valid = "true or false", isinstance(value, bool)
    elif operator == "in":
        expected = f"an array of values, each {expected}"
        valid = is_list_of(value, kind)
    elif operator == "contains":
        expected = f"{expected}, or an array of them"
        value = value if isinstance(value, list) else [value]
        valid = is_list_of(value, kind)
    elif operator == "prefix":
        expected, valid = "a string", isinstance(value, str)
    elif operator in ("lt", "lte", "gt", "gte") and kind == "metadata":
        expected, valid = "a string or a number", isinstance(value, str | Decimal)
    else:
        valid = is_value(value, kind)
    if not valid:
        name = f'"{shorter(key)}"' + ("" if operator == "eq" else f' "{operator}"')
        hint = '{"exists": false} finds what has no value.' if value is None else EXAMPLES[kind]
        raise ValueError(f"filter: {name} is {shown(value)}: expected {expected}", hint)
    return value


def is_list_of(value: Any, kind: str) -> bool:
    """Tell whether a value is a list of values of a kind."""
    return isinstance(value, list) and all(is_value(part, kind) for part in value)


def is_value(value: Any, kind: str) -> bool:
    """Tell whether a single value is of a kind."""
    if kind == "date":
        return isinstance(value, str) and is_date(value)
    if kind == "number":
        return isinstance(value, Decimal)
    return isinstance(value, str) or (kind == "metadata" and isinstance(value, bool | Decimal))


def is_date(value: str) -> bool:
    """Tell whether a string is a date or a timestamp, by form and by calendar."""
    if not (value.isascii() and DATE.fullmatch(value)):
        return False
    try:
        date.fromisoformat(value[:10])
    except ValueError:
        return False
    return True


def comparisons(node: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the comparisons of a tree; a connective without any counts as one."""
    if node[0] in ("and", "or") and node[1]:
        for part in node[1]:
            yield from comparisons(part)
    elif node[0] == "not":
        yield from comparisons(node[1])
    elif node[0] == "all":
        yield from node[-1]
    elif node[0] == "forms":
        yield from comparisons(node[1])
    else:
        yield node


def shown(value: Any) -> str:
    """Return a value as JSON, of a long one the beginning."""
    return shorter(json.dumps(value, ensure_ascii=False, default=number))


def number(value: Decimal) -> int | float:
    """Return a decimal as a number that json can write."""
    return int(value) if abs(value) < 10**15 and value == int(value) else float(value)


def shorter(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= 200 else text[:200] + "…"
