"""The filter language in plain Python: what a filter means, as simply as it can be said."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?"
    r"(Z|[+-](0\d|1[0-5])(:?[0-5]\d)?)?)?"
)
MISSING = object()


OF_ELEMENTS = ("lt", "lte", "gt", "gte", "prefix")


@dataclass(frozen=True)
class Passage:
    """What a filter may look at: columns by field name, and both metadata objects."""

    columns: dict[str, Any]
    document_metadata: dict[str, Any] = field(default_factory=dict)
    chunk_metadata: dict[str, Any] = field(default_factory=dict)

    def value(self, key: str) -> Any:
        """Return what a key of a filter names; MISSING where there is nothing or null."""
        if key == "$date":
            return next(
                moment
                for moment in (
                    instant(self.chunk_metadata.get("date")),
                    self.columns["$modified_at"],
                    instant(self.document_metadata.get("date")),
                    self.columns["$ingested_at"],
                )
                if moment is not None
            )
        if key in self.columns:
            found = self.columns[key]
        else:
            found = look_up(
                self.document_metadata | self.chunk_metadata, key.removeprefix("$metadata.")
            )
        return MISSING if found is None else found


def look_up(metadata: dict[str, Any], key: str) -> Any:
    """Return the value of the key of that name, else the one along the path that it is.

    Through an array a path leads to all that its elements have there.
    """
    if key in metadata:
        return metadata[key]
    found: list[Any] = [metadata]
    has_array = False
    for step in key.split("."):
        has_array = has_array or any(isinstance(one, list) for one in found)
        found = [one[step] for one in elements(found) if isinstance(one, dict) and step in one]
    if has_array:
        return [one for one in elements(found) if one is not None] or MISSING
    return found[0] if found else MISSING


def elements(values: list[Any]) -> list[Any]:
    """Return the values, of each array its elements."""
    return [part for one in values for part in (one if isinstance(one, list) else [one])]


def passes(conditions: dict[str, Any], passage: Passage) -> bool:
    """Tell whether a passage passes a (valid) filter."""
    return all(holds(key, value, passage) for key, value in conditions.items())


def holds(key: str, value: Any, passage: Passage) -> bool:
    """Tell whether one entry of a filter holds."""
    if key == "and":
        return all(passes(part, passage) for part in value)
    if key == "or":
        return any(passes(part, passage) for part in value)
    if key == "not":
        return not passes(value, passage)
    found = passage.value(key)
    operators = value if isinstance(value, dict) else {"eq": value}
    is_field = key in passage.columns
    ranges = {name: given for name, given in operators.items() if name in OF_ELEMENTS}
    others = {name: given for name, given in operators.items() if name not in OF_ELEMENTS}
    return all(compare(name, found, given, is_field) for name, given in others.items()) and any(
        all(compare(name, one, given, is_field) for name, given in ranges.items())
        for one in (found if ranges and isinstance(found, list) else [found])
    )


def compare(operator: str, found: Any, given: Any, is_field: bool) -> bool:
    """Tell whether a value that was found, in a field of text or not, compares so with another."""
    if operator == "exists":
        return (found is not MISSING) == given
    if operator == "ne":
        return not is_or_has(found, given)
    if found is MISSING:
        return False
    if operator == "eq":
        return is_or_has(found, given)
    if operator == "in":
        return any(is_or_has(found, one) for one in given)
    if operator == "contains":
        wanted = given if isinstance(given, list) else [given]
        if is_field:
            return all(one in found for one in wanted)
        return isinstance(found, list) and all(
            any(equal(element, one) for element in found) for one in wanted
        )
    if operator == "prefix":
        return isinstance(found, str) and found.startswith(given)
    return ordered(operator, found, given)


def is_or_has(found: Any, given: Any) -> bool:
    """Tell whether a value is the one given, or an array that has it."""
    return any(equal(one, given) for one in (found if isinstance(found, list) else [found]))


def equal(found: Any, given: Any) -> bool:
    """Tell whether two values are the same; a date given for a point in time is its whole day."""
    if found is MISSING:
        return False
    if isinstance(found, datetime):
        start = instant(given)
        assert start is not None
        return start <= found < start + timedelta(days=1) if len(given) == 10 else found == start
    moments = [instant(one) if isinstance(one, str) else None for one in (found, given)]
    if None not in moments:
        return equal(moments[0], given)
    return kind(found) == kind(given) and found == given


def ordered(operator: str, found: Any, given: Any) -> bool:
    """Tell whether lt, lte, gt or gte holds."""
    moment = instant(given) if isinstance(given, str) else None
    if moment is not None and isinstance(found, str):
        found = instant(found)
    if isinstance(found, datetime):
        assert moment is not None
        day = timedelta(days=len(given) == 10)
        return {
            "lt": found < moment,
            "gte": found >= moment,
            "lte": found < moment + day if day else found <= moment,
            "gt": found >= moment + day if day else found > moment,
        }[operator]
    if found is None or kind(found) != kind(given) or kind(found) not in ("number", "string"):
        return False
    return bool(
        {"lt": found < given, "lte": found <= given, "gt": found > given, "gte": found >= given}[
            operator
        ]
    )


def kind(value: Any) -> str:
    """Name the JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", list: "array", dict: "object", type(None): "null"}[type(value)]


def instant(value: Any) -> datetime | None:
    """Return the point in time that an ISO 8601 string gives, UTC unless it says otherwise."""
    if not isinstance(value, str) or not ISO.fullmatch(value) or not value.isascii():
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
