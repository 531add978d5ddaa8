"""What frameworks give of texts, metadata and vectors is stored, cleaned, or named in an error."""

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from pgblend.integrations.client import Client, StoredText, search_request
from pgblend.integrations.filters import FilterError, from_langchain


class Colour(Enum):
    RED = "red"


@pytest.fixture(scope="module")
def store(client: Client) -> Client:
    client.make_collection("values")
    return client


def metadata_of(client: Client, given: Any) -> Any:
    client.store("values", [StoredText("one", "heron", given)])
    (found,) = client.get("values", ["one"])
    return found.metadata


STORED = [
    (math.nan, None),
    ([math.inf, np.float32("nan")], [None, None]),
    (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
    (time(3, 4), "03:04:00"),
    ({"b": (1, {"c": ["x\0", "\ud800"]})}, {"b": [1, {"c": ["x\ufffd", "\ufffd"]}]}),
    ({7}, [7]),
    (np.float32(1.5), 1.5),
    (np.int64(3), 3),
    (np.bool_(True), True),
    (np.array([[1, 2]]), [[1, 2]]),
    (np.datetime64("2020-01-01T05", "ns"), "2020-01-01T05:00:00.000000000"),
    (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Decimal("1.10"), 1.1),
    (Decimal("20"), 20),
    (Decimal("NaN"), None),
    (Colour.RED, "red"),
    (PurePosixPath("/a/b"), "/a/b"),
    ("x" * 1_000_000, "x" * 1_000_000),
]


def test_values_are_stored_as_json_has_them(store: Client) -> None:
    given = {f"k{i}": value for i, (value, _) in enumerate(STORED)}
    assert metadata_of(store, given) == {f"k{i}": kept for i, (_, kept) in enumerate(STORED)}
    assert metadata_of(store, {date(2020, 1, 1): 1, 5: 2, None: 3, Colour.RED: 4}) == {
        "2020-01-01": 1, "5": 2, "null": 3, "red": 4,
    }  # fmt: skip
    assert metadata_of(store, None) == {}


CYCLE: dict[str, Any] = {}
CYCLE["a"] = [CYCLE]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": {"b": [1, 1j]}}, r"metadata of 'one'\['a'\]\['b'\]\[1\]: 1j is of type complex"),
        ({"a": b"abc"}, r"\['a'\]: b'abc' is of type bytes: expected what JSON has"),
        ({"a": timedelta(3)}, r"datetime.timedelta\(days=3\) is of type timedelta"),
        ({(1, 2): "x"}, r"metadata of 'one': the key \(1, 2\) is of type tuple: expected text"),
        ({"k\0": 1, "k\ufffd": 2}, "metadata of 'one': two keys are stored as 'k\ufffd'"),
        (CYCLE, "metadata of 'one': nested too deeply, or within itself"),
    ],
)
def test_an_error_names_the_value(store: Client, given: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        metadata_of(store, given)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([StoredText("a", None, {})], "the text of 'a' is None: expected text"),  # type: ignore[arg-type]
        ([StoredText("i\0", "x", {}), StoredText("i\ufffd", "y", {})], "are stored as one"),
        ([StoredText("a", "x", {}, [1, math.nan])], "the vector of 'a' has nan at place 1"),
        ([StoredText("a", "x", {}, [1e39, 1])], "the vector of 'a' has 1e[+]39 at place 0"),
        ([StoredText("a", "x", {}, [])], "the vector of 'a' is empty: expected a list"),
        ([StoredText("a", "x", {}, [[1, 2]])], r"the vector of 'a' has \[1, 2\] at place 0"),
        ([StoredText("a", "x", {}, [1, "y"])], "the vector of 'a' has 'y' at place 1"),
    ],
)
def test_a_text_that_cannot_be_stored_leaves_none(
    store: Client, texts: list[StoredText], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        store.store("values", [StoredText("first", "first", {}), *texts])
    assert store.get("values", ["first"]) == []


def test_of_texts_with_one_key_the_last_counts(store: Client) -> None:
    texts = [StoredText("twice", text, {}, [len(text), 1]) for text in ("one", "three")]
    store.store(
        "values", [*texts, StoredText("empty", "", {}), StoredText("blank", " \n", {})], "mine"
    )
    found = store.get("values", ["twice", "empty", "blank"])
    assert [text.content for text in found] == ["three", "", " \n"]


def test_a_vector_without_a_direction_hides_no_other(store: Client) -> None:
    store.store(
        "values",
        [StoredText("zero", "nothing", {}, [0, 0]), StoredText("v", "w", {}, [1, 0])],
        "mine",
    )
    request = search_request("", 5, ["values"], vector=np.array([1, 0]))
    scores = {row["source_key"]: row["score"] for row in store.search(request, arm="vector")}
    assert "v" in scores
    assert all(map(math.isfinite, scores.values()))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (UUID(int=5), ["uuid"]),
        (np.int64(3), ["number"]),
        ({"$lt": Decimal("3.5")}, ["number"]),
        ({"$in": [Colour.RED]}, ["colour"]),
        ("\0", ["odd"]),
        (date(2020, 1, 1), ["date"]),
    ],
)
def test_filters_and_queries_take_the_same(store: Client, value: Any, found: list[str]) -> None:
    kept = {
        "uuid": UUID(int=5),
        "number": 3,
        "colour": Colour.RED,
        "odd": "\0",
        "date": date(2020, 1, 1),
    }
    store.store(
        "values", [StoredText(name, f"tern of {name}", {"f": it}) for name, it in kept.items()]
    )
    request = search_request("tern\0\ud800", 9, ["values"], from_langchain({"f": value}))
    assert [row["source_key"] for row in store.search(request)] == found


@pytest.mark.parametrize(
    ("value", "said"), [(math.nan, "nan is of type float"), (b"x", "b'x' is of type bytes")]
)
def test_a_filter_names_what_it_cannot_hold(value: Any, said: str) -> None:
    with pytest.raises(FilterError, match=said):
        from_langchain({"f": value})


@pytest.mark.parametrize("vector", [[math.nan], [1e39], [], [[1.0]]])
def test_a_querys_vector_that_is_none_is_named(vector: Any) -> None:
    with pytest.raises(ValueError, match=r"the query's vector (has|is empty)"):
        search_request("x", 1, vector=vector)
