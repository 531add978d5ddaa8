"""What a filter asks of metadata, in a form that a GIN index can answer."""

import json
from decimal import Decimal
from typing import Any

MOST_ALTERNATIVES = 2000


def filter_alternatives(
    tree: tuple[Any, ...],
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Return (keys, alternatives, singles) of a filter's tree.

    `keys` are the top-level metadata keys that it looks at. Whatever passes contains (@>) one of
    the `alternatives`, JSON objects; None where there is no such list. `singles` are their entries
    as objects of one key each: where a chunk's metadata lie over its document's, what passes has an
    alternative in the document's or one of these in the chunk's.
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
    if node[0] == "not":
        return keys_of(node[1])
    _, field, kind, _ = node
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
    if node[0] not in ("eq", "in", "contains") or node[2] != "metadata":
        return None
    operator, field, _, value = node
    first, *rest = field.split(".")
    values = value if operator == "in" else [value]
    if operator != "contains":  # the value itself, or an array that has it
        values = [form for part in values for form in (part, [part])]
    flat = [{field: part} for part in values]
    return flat + [{first: nested(rest, part)} for part in values] if rest else flat


def joined(lists: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the combinations of lists that must all hold, as far as those are few."""
    result = lists[0]
    for part in lists[1:]:
        keys = {key for entry in result for key in entry}
        apart = all(keys.isdisjoint(entry) for entry in part)
        if apart and len(result) * len(part) <= MOST_ALTERNATIVES:
            result = [{**one, **other} for one in result for other in part]
    return result


def nested(path: list[str], value: Any) -> Any:
    """Return a value within objects of one key each."""
    return {path[0]: nested(path[1:], value)} if path else value


def as_texts(objects: list[dict[str, Any]]) -> list[str]:
    """Return objects as JSON texts, each once."""
    return list(dict.fromkeys(map(text_of, objects)))


def text_of(value: Any) -> str:
    """Return a value as JSON, numbers to the last digit."""
    if isinstance(value, dict):
        entries = (f"{json.dumps(key)}: {text_of(part)}" for key, part in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)
