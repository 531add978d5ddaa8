"""Values on the command line: JSON, text that stands for itself, and what is refused."""

from typing import Any

import click
import pytest

from pgblend.cli.base.parameters import (
    Fraction,
    JsonObject,
    KeyValue,
    json_or_text,
    merge_pairs,
    shorten,
)

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20", 20),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ('{"a": [1]}', {"a": [1]}),
        ('"20"', "20"),
        ("german", "german"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("", ""),
        ("NaN", "NaN"),
    ],
)
def test_json_or_text(text: str, value: Any) -> None:
    assert json_or_text(text) == value


@pytest.mark.parametrize("text", ['{"a": 1', "[1, 2", '"open', '{"a": NaN}', DEEP])
def test_what_begins_like_json_must_be_json(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_or_text(text)


@pytest.mark.parametrize(
    ("text", "pair"),
    [("rrf_k=20", ("rrf_k", 20)), ("a=b=c", ("a", "b=c")), ("mode=fast", ("mode", "fast"))],
)
def test_key_value(text: str, pair: tuple[str, Any]) -> None:
    assert KeyValue().convert(text, None, None) == pair


@pytest.mark.parametrize("text", ["", "rrf_k", "=3", "weights={1}", f"a={DEEP}"])
def test_wrong_key_values_are_named(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        KeyValue().convert(text, None, None)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["", "3", "[]", "null", "{", "{'a': 1}", DEEP])
def test_only_an_object_is_an_object(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        JsonObject().convert(text, None, None)
    assert len(str(caught.value)) < 200


def test_an_object() -> None:
    assert JsonObject().convert('{"a": {"b": null}}', None, None) == {"a": {"b": None}}


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1", "1.1", "much"])
def test_a_fraction_is_from_0_to_1(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Fraction().convert(text, None, None)


def test_a_key_given_twice_is_wrong_usage() -> None:
    assert merge_pairs([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(click.UsageError, match="'a' is given twice"):
        merge_pairs([("a", 1), ("a", 1)])


def test_long_values_are_cut() -> None:
    assert shorten("it's") == '"it\'s"'
    assert len(shorten("x" * 1000)) < 70
