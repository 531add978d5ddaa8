"""Datagrams of the search log: what is taken, what is refused, what the log lines say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.models.search_log import log_fields, read_search

SEARCH: dict[str, Any] = {
    "search_id": "0b9c7f1e-5a53-4a4c-9a39-3a3a9f0e9d11",
    "at": "2026-11-21T10:00:00.5+00:00",
    "role": "app",
    "query": "red wine",
    "collections": ["cellar"],
    "profile": "balanced",
    "mode": "fast",
    "rows": 2,
    "ms": 12.5,
    "stages": [{"name": "lexical", "ms": 1.5, "rows": 2}],
    "degraded": ["vector: the gateway said no to 'red wine'"],
    "top_score": 0.75,
    "results": [{"rank": 1, "chunk_id": 5, "document_id": 3, "score": 0.75}],
}


def datagram(**fields: Any) -> bytes:
    return json.dumps({**SEARCH, **fields}).encode()


def test_a_search() -> None:
    assert read_search(datagram(), None) == {
        "search_id": SEARCH["search_id"],
        "searched_at": "2026-11-21T10:00:00.500000+00:00",
        "role_name": "app",
        "query": "red wine",
        "collections": ["cellar"],
        "profile": "balanced",
        "mode": "fast",
        "result_count": 2,
        "milliseconds": 12.5,
        "stages": SEARCH["stages"],
        "degraded": SEARCH["degraded"],
        "top_score": 0.75,
        "results": SEARCH["results"],
        "trace": {},
        "purpose": "search",
    }


def test_a_log_line_has_no_texts() -> None:
    trace = {
        "strategy": "hybrid",
        "top_k": 10,
        "query_len": 8,
        "bm25_status": "a whole text",
        "other": 1,
    }
    fields = log_fields(read_search(datagram(trace=trace), None))
    assert fields == {
        "search_id": SEARCH["search_id"],
        "profile": "balanced",
        "mode": "fast",
        "purpose": "search",
        "result_count": 2,
        "milliseconds": 12.5,
        "degraded": ["vector"],
        "query_len": 8,
        "strategy": "hybrid",
        "top_k": 10,
    }


def test_what_may_be_missing() -> None:
    row = read_search(datagram(query=None, profile=None, mode=None, top_score=None), None)
    assert [row[name] for name in ("query", "profile", "mode", "top_score")] == [None] * 4


def test_a_null_character_and_too_many_results() -> None:
    row = read_search(datagram(query="a\0b", results=SEARCH["results"] * 11), None)
    assert row["query"] == "a b"
    assert len(row["results"]) == 10


@pytest.mark.parametrize(
    "fields",
    [
        {"search_id": "5"},
        {"at": "yesterday"},
        {"role": None},
        {"query": 5},
        {"query": "\ud800"},
        {"collections": "cellar"},
        {"collections": [1]},
        {"rows": "2"},
        {"rows": True},
        {"ms": float("inf")},
        {"ms": 1e400},
        {"ms": 10**400},
        {"stages": [1]},
        {"degraded": None},
        {"results": {}},
        {"results": [{"a": "\0"}]},
    ],
)
def test_what_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_search(datagram(**fields), None)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{", b"[" * 60_000])
def test_what_is_no_object(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_search(content, None)


def test_the_token() -> None:
    assert read_search(datagram(token="secret"), "secret")["role_name"] == "app"
    for token in (None, "", "Secret", 5):
        with pytest.raises(ValueError, match="it lacks the gateway's token"):
            read_search(datagram(token=token), "secret")


@given(st.dictionaries(st.sampled_from(sorted(SEARCH)), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5)))  # fmt: skip
def test_whatever_comes(fields: dict[str, Any]) -> None:
    try:
        row = read_search(datagram(**fields), None)
    except ValueError:
        return
    json.dumps(log_fields(row))
    json.dumps(row, allow_nan=False)
