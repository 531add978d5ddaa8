"""Option and argument types that several commands share."""

import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import click

# Categories of signs that are not seen: blanks, line ends, control and format characters.
_UNSEEN = {"Zs", "Zl", "Zp", "Cc", "Cf"}


def parse_json(text: str) -> Any:
    """Parse JSON; raise ValueError for what is not, NaN and Infinity included."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_or_text(text: str) -> Any:
    """Parse JSON where it is JSON; other text stands for itself, so strings need no quotes."""
    try:
        return parse_json(text)
    except ValueError:
        if text.lstrip().startswith(("{", "[", '"')):
            raise
        return text


class JsonObject(click.ParamType[dict[str, Any]]):
    """A JSON object, such as {"author": "knuth"}."""

    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        """Parse the object, or say what was given instead."""
        if isinstance(value, dict):
            return value
        try:
            parsed = parse_json(value)
        except ValueError as error:
            self.fail(f"{shorten(value)} is not JSON ({error})", param, ctx)
        if not isinstance(parsed, dict):
            self.fail(
                f'{shorten(value)}: expected an object such as {{"key": "value"}}', param, ctx
            )
        return parsed


class KeyValue(click.ParamType[tuple[str, Any]]):
    """KEY=VALUE; the value is JSON, or text that stands for itself."""

    name = "key=json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Split at the first equals sign and parse the value."""
        if isinstance(value, tuple):
            return value
        key, separator, text = value.partition("=")
        if not separator or not key:
            self.fail(f"{shorten(value)}: expected KEY=VALUE, such as rrf_k=20", param, ctx)
        try:
            return key, json_or_text(text)
        except ValueError as error:
            self.fail(f"{key}: {shorten(text)} is not JSON ({error})", param, ctx)


def pairs_option(
    name: str, about: str, metavar: str = "KEY=JSON"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an option of KEY=VALUE pairs that may be repeated; merge_pairs takes what it gives."""
    return click.option(name, type=KeyValue(), multiple=True, metavar=metavar, help=about)


class Fraction(click.FloatRange):
    """A number from 0 to 1; `nan`, which no range refuses, is not one."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the number and check its range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is not a number from 0 to 1", param, ctx)
        return number


def merge_pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary of KEY=VALUE pairs; a key given twice is a usage error."""
    merged: dict[str, Any] = {}
    for key, value in pairs:
        if key in merged:
            raise click.UsageError(f"option {key!r} is given twice")
        merged[key] = value
    return merged


def shorten(text: str, length: int = 60) -> str:
    """Quote a value for a message, cut where it is long."""
    return repr(text if len(text) <= length else f"{text[:length]}…")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def is_blank(query: str) -> bool:
    """Whether a query holds nothing that is seen: spaces, and signs without a width."""
    return all(unicodedata.category(sign) in _UNSEEN for sign in query)
