"""What a value of a setting must be: each rule tells what is wrong with a value."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


def setting(default: Any, rule: "Rule") -> Any:
    """Return the field of a setting."""
    return field(metadata={"default": default, "rule": rule})


def numbers(default: Mapping[str, float], minimum: float, maximum: float) -> Any:
    """Return the field of a setting that has numbers of one range, each with a default."""
    return setting(default, NumberList(sorted(default), minimum, maximum))


def keys_of(described: type) -> dict[str, "Rule"]:
    """Return the rules that a TypedDict's annotations name, by key."""
    return {key: one.__metadata__[0] for key, one in described.__annotations__.items()}


class Rule:
    """What a value must be; `value_type` is the type that setting_catalog names.

    None stands for the setting's own name.
    """

    value_type: str | None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, which is not null; None if nothing is.

        `path` is where the value stands within a setting.
        """
        raise NotImplementedError


def _expected(path: str, wanted: str) -> str:
    return f"{path}: expected {wanted}" if path else f"expected {wanted}"


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(eq=False, repr=False)
class Number(Rule):
    """A number of a range."""

    value_type = "number"
    minimum: float
    maximum: float

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if is_number(value) and self.minimum <= value <= self.maximum:
            return None
        return _expected(path, f"a number from {self.minimum} to {self.maximum}")


class Whole(Number):
    """A number of a range, without a decimal point."""

    value_type = "integer"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if isinstance(value, int) and super().problem(value, path) is None:
            return None
        kind = "a whole number" if path else "a whole number without a decimal point"
        return _expected(path, f"{kind} from {self.minimum} to {self.maximum}")


class Flag(Rule):
    """True or false."""

    value_type = "boolean"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, bool) else _expected(path, "true or false")


@dataclass(eq=False, repr=False)
class Text(Rule):
    """A text: one of those allowed, or any of at most so many characters."""

    value_type = "text"
    allowed: Sequence[str] = ()
    most: int | None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        is_text = isinstance(value, str)
        if self.allowed:
            is_one = is_text and value in self.allowed
            return None if is_one else _expected(path, f"one of {', '.join(self.allowed)}")
        if self.most is None:
            return None if is_text else _expected(path, "a string")
        is_short = is_text and len(value) <= self.most
        return None if is_short else _expected(path, f"a text of at most {self.most} characters")


class Switch(Text):
    """One of the texts, or true or false."""

    value_type = "switch"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, bool) else super().problem(value, path)


@dataclass(eq=False, repr=False)
class Pattern(Rule):
    """A text of a form."""

    form: str
    expected: str
    value_type: str = "text"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        is_right = isinstance(value, str) and re.search(self.form, value)
        return None if is_right else _expected(path, self.expected)


@dataclass(eq=False, repr=False)
class KnownValue(Rule):
    """A text that a statement of one parameter finds; who has a database asks it."""

    statement: str
    expected: str
    value_type: str = "text"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, str) else _expected(path, self.expected)


class Scores(Number):
    """Numbers of a range by chunk id."""

    value_type = "scores"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if not isinstance(value, Mapping):
            return _expected(path, "an object with a score from 0 to 1 for each chunk id")
        for key, score in value.items():
            if not re.fullmatch("[0-9]{1,19}", key) or super().problem(score, path):
                numbers = f"from {self.minimum} to {self.maximum}"
                return f'"{key[:200]}": expected a chunk id with a number {numbers}'
        return None


@dataclass(eq=False, repr=False)
class Nullable(Rule):
    """What may be null within an object."""

    rule: Rule

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if value is None else self.rule.problem(value, path)


@dataclass(eq=False, repr=False)
class Items(Rule):
    """An array of at most so many items; or of one at least, whose key `rise` rises."""

    rule: Rule
    most: int | None = None
    rise: str | None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        wanted = f"an array of at most {self.most} values"
        if self.rise:
            wanted = "an array of at least one object"
        is_array = isinstance(value, list) and (bool(value) or not self.rise)
        if not is_array or (self.most is not None and len(value) > self.most):
            return _expected(path, wanted)
        for place, item in enumerate(value, 1):
            if problem := self.rule.problem(item, f"{path}[{place}]"):
                return problem
        rising = [item.get(self.rise) for item in value] if self.rise else []
        if any(low is None or (high is not None and high <= low) for low, high in pairwise(rising)):
            return _expected(path, f"rising {self.rise}, none only in the last")
        return None


@dataclass(eq=False, repr=False)
class Fields(Rule):
    """An object with these keys, each by its rule."""

    keys: Mapping[str, Rule]
    required: Sequence[str] = ()

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        within = f"{path}." if path else ""
        known = ", ".join(self.keys) or "no more"
        if not isinstance(value, Mapping):
            return _expected(path, f"an object with keys {known}")
        for key, entry in value.items():
            if key not in self.keys:
                return f'has no key "{within}{key[:200]}": expected {known}'
            if problem := self.keys[key].problem(entry, f"{within}{key}"):
                return problem
        missing = [key for key in self.required if key not in value]
        if missing:
            return f'lacks the key "{within}{missing[0]}": expected {", ".join(self.required)}'
        return None


@dataclass(eq=False, repr=False)
class NumberList(Rule):
    """An object of numbers of one range."""

    value_type = "object"
    allowed: Sequence[str]
    minimum: float
    maximum: float

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        number = Number(self.minimum, self.maximum)
        return Fields(dict.fromkeys(self.allowed, number)).problem(value, path)


class NumbersOrOne(NumberList):
    """An object of numbers of one range, or a number that stands for all of them."""

    value_type = "numbers"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if is_number(value):
            return Number(self.minimum, self.maximum).problem(value, path)
        if isinstance(value, Mapping):
            return super().problem(value, path)
        return _expected(path, f"a number or an object with keys {', '.join(self.allowed)}")


@dataclass(eq=False, repr=False)
class Kinds(Rule):
    """An object whose key "kind" says which fields it has."""

    kinds: Mapping[str, Fields]

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        kind = str(value.get("kind")) if isinstance(value, Mapping) else ""
        if kind not in self.kinds:
            return _expected(path, f'an object with "kind": one of {", ".join(self.kinds)}')
        fields = {key: entry for key, entry in value.items() if key != "kind"}
        return self.kinds[kind].problem(fields, path)


class Filter(Rule):
    """A filter of rows (plpy/search), within every limit that may be set."""

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        from pgblend.plpy.base.filters import LEAST_LIMIT, parse_filter  # of few settings

        try:
            parse_filter(json.dumps(value), lambda _: LEAST_LIMIT)
        except ValueError as error:
            return f"{path}: {error.args[0]}"
        return None


class Origin(Rule):
    """A number, or a point in time: a date, or now."""

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        from pgblend.plpy.base.filters import is_date  # of few settings

        is_time = isinstance(value, str) and (value == "now" or is_date(value))
        if is_time or Number(-1e15, 1e15).problem(value, path) is None:
            return None
        return _expected(path, 'a number, a date of ISO 8601 or "now"')


class Decaying(Fields):
    """An object whose `field` has values that its `origin` can be compared with."""

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        from pgblend.plpy.base.filters import parse_field  # of few settings

        if problem := super().problem(value, path):
            return problem
        try:
            kind = parse_field(value["field"])[1]
        except ValueError as error:
            return f"{path}.field: {error.args[0]}"
        if kind not in ("date", "metadata"):
            return f"{path}.field: expected a key of metadata or a field that has dates"
        if kind == "date" and is_number(value["origin"]):
            return f'{path}.origin: expected a date of ISO 8601 or "now", as {value["field"]} has'
        return None


_MOST_COMPARED = 200  # characters of a name: comparing takes the square of their number


def nearest(given: str, known: Sequence[str]) -> list[str]:
    """Return the two names that are nearest to the given one, however far they are."""
    from difflib import get_close_matches  # of few calls

    return get_close_matches(given[:_MOST_COMPARED], known, n=2, cutoff=0)


def nearest_told(given: str, known: Collection[str]) -> str:
    """Say which names are the nearest, for an error about the given one."""
    names = nearest(given, sorted(known))
    if not names:
        return "there is none"
    return f"the nearest {'is' if len(names) == 1 else 'are'} {' and '.join(names)}"
