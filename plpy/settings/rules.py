"""What a value of a setting must be: each rule tells what is wrong with a value."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol


def shown(number: float) -> str:
    """Return a number as the server writes a double precision."""
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    mantissa, mark, exponent = f"{number:.15e}".partition("e")
    is_long = abs(number) >= 1e15
    return f"{mantissa.rstrip('0').rstrip('.')}{mark}{exponent}" if is_long else str(number)


def _expected(path: str, wanted: str) -> str:
    return f"{path}: expected {wanted}" if path else f"expected {wanted}"


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Rule(Protocol):
    """What a value must be; `path` is where the value stands within a setting."""

    @property
    def value_type(self) -> str | None:
        """Return the type that setting_catalog names; None for the setting's own name."""

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, which is not null."""


@dataclass(frozen=True)
class Number:
    """A number of a range; a whole one has no decimal point."""

    minimum: float
    maximum: float
    whole: bool = False

    @property
    def value_type(self) -> str:
        """Return the type that setting_catalog names."""
        return "integer" if self.whole else "number"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        is_kind = isinstance(value, int) or not self.whole
        if is_kind and is_number(value) and self.minimum <= value <= self.maximum:
            return None
        kind = "a whole number" if self.whole else "a number"
        if self.whole and not path:
            kind += " without a decimal point"
        return _expected(path, f"{kind} from {shown(self.minimum)} to {shown(self.maximum)}")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    value_type: str = "boolean"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, bool) else _expected(path, "true or false")


@dataclass(frozen=True)
class Text:
    """A text: one of those allowed, or any, of at most so many characters."""

    allowed: Sequence[str] = ()
    most: int | None = None
    value_type: str = "text"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if not isinstance(value, str) and not path:
            return "expected a string"
        if self.allowed:
            wrong = value not in self.allowed if isinstance(value, str) else True
            return _expected(path, f"one of {', '.join(self.allowed)}") if wrong else None
        if not isinstance(value, str) or (self.most is not None and len(value) > self.most):
            return _expected(path, f"a text of at most {self.most} characters")
        return None


@dataclass(frozen=True)
class Switch(Text):
    """One of the texts, or true or false."""

    value_type: str = "switch"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, bool) else super().problem(value, path)


@dataclass(frozen=True)
class Pattern:
    """A text of a form."""

    value_type: str
    form: str
    expected: str

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if not isinstance(value, str):
            return "expected a string"
        return None if re.search(self.form, value) else f"expected {self.expected}"


@dataclass(frozen=True)
class Known:
    """A text that a statement of one parameter finds; the rest is checked by what asks it."""

    value_type: str
    statement: str
    expected: str

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if isinstance(value, str) else "expected a string"


@dataclass(frozen=True)
class Scores:
    """Numbers of a range by chunk id."""

    minimum: float
    maximum: float
    value_type: str = "scores"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if not isinstance(value, Mapping):
            return "expected an object with a score from 0 to 1 for each chunk id"
        for key, score in value.items():
            is_right = is_number(score) and self.minimum <= score <= self.maximum
            if not is_right or not re.fullmatch("[0-9]{1,19}", key):
                numbers = f"from {shown(self.minimum)} to {shown(self.maximum)}"
                return f'"{key[:200]}": expected a chunk id with a number {numbers}'
        return None


@dataclass(frozen=True)
class Numbers:
    """An object of numbers of one range; where one may stand for all, also a number."""

    allowed: Sequence[str]
    minimum: float
    maximum: float
    one_for_all: bool = False

    @property
    def value_type(self) -> str:
        """Return the type that setting_catalog names."""
        return "numbers" if self.one_for_all else "object"

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        number = Number(self.minimum, self.maximum)
        if self.one_for_all and is_number(value):
            return number.problem(value, path)
        keys = ", ".join(self.allowed)
        if not isinstance(value, Mapping):
            return f"expected {'a number or ' * self.one_for_all}an object with keys {keys}"
        for key, entry in value.items():
            if key not in self.allowed:
                return f'has no key "{key[:200]}": expected {keys}'
            if problem := number.problem(entry, f'"{key}"'):
                return problem
        return None


@dataclass(frozen=True)
class Nullable:
    """What may be null within an object."""

    rule: Rule
    value_type: None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        return None if value is None else self.rule.problem(value, path)


@dataclass(frozen=True)
class Items:
    """An array of at most so many items; or of one at least, whose key `rise` rises."""

    rule: Rule
    most: int | None = None
    rise: str | None = None
    value_type: None = None

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


@dataclass(frozen=True)
class Fields:
    """An object with these keys, each by its rule."""

    keys: Mapping[str, Rule]
    required: Sequence[str] = ()
    value_type: None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        within = f"{path}." if path else ""
        if not isinstance(value, Mapping):
            return _expected(path, f"an object with keys {', '.join(self.keys)}")
        for key, entry in value.items():
            if key not in self.keys:
                known = ", ".join(self.keys) or "no more"
                return f'has no key "{within}{key[:200]}": expected {known}'
            if problem := self.keys[key].problem(entry, f"{within}{key}"):
                return problem
        missing = [key for key in self.required if key not in value]
        if missing:
            return f'lacks the key "{within}{missing[0]}": expected {", ".join(self.required)}'
        return None


@dataclass(frozen=True)
class Kinds:
    """An object whose key "kind" says which fields it has."""

    kinds: Mapping[str, Fields]
    value_type: None = None

    def problem(self, value: Any, path: str) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        kind = str(value.get("kind")) if isinstance(value, Mapping) else ""
        if kind not in self.kinds:
            return _expected(path, f'an object with "kind": one of {", ".join(self.kinds)}')
        fields = {key: entry for key, entry in value.items() if key != "kind"}
        return self.kinds[kind].problem(fields, path)


def setting(default: Any, rule: Rule, description: str) -> Any:
    """Return the field of a setting."""
    return field(metadata={"default": default, "rule": rule, "description": description})
