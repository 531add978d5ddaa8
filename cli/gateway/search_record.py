"""Reading a datagram of the search log: one search, as the database tells it."""

import hmac
import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

MAX_BYTES = 65_507  # what UDP carries
_MOST_RESULTS = 10
# The names that log lines have, and what may stand there: numbers and words, no texts.
TRACE_FIELDS = (
    "attempts",
    "bm25_len",
    "bm25_results",
    "bm25_status",
    "budget_used",
    "dedup_ratio",
    "dense_len",
    "dense_results",
    "fallback_used",
    "files_touched",
    "mmr_lambda",
    "query_len",
    "rrf_k",
    "strategy",
    "strict",
    "time_to_first_result_ms",
    "timeout_ms",
    "top_k",
)
_WORD = re.compile(r"[\w.+-]{1,40}", re.ASCII)


def read_search(datagram: bytes, token: str | None) -> dict[str, Any]:
    """Return the row of the search log in a datagram; ValueError where it is malformed."""
    try:
        given = json.loads(datagram.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(given, dict):
        raise ValueError("it is not a JSON object")
    if token is not None:
        sent = given.get("token")
        if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), token.encode()):
            raise ValueError("it lacks the gateway's token")
    return {
        "search_id": str(UUID(_text(given, "search_id"))),
        "searched_at": datetime.fromisoformat(_text(given, "at")).isoformat(),
        "role_name": _text(given, "role"),
        "query": _optional(given, "query", _text),
        "collections": _texts(given, "collections"),
        "profile": _optional(given, "profile", _text),
        "mode": _optional(given, "mode", _text),
        "result_count": round(_number(given, "rows")),
        "milliseconds": _number(given, "ms"),
        "stages": _objects(given, "stages"),
        "degraded": _texts(given, "degraded"),
        "top_score": _optional(given, "top_score", _number),
        "results": _objects(given, "results")[:_MOST_RESULTS],
        "trace": _trace(given.get("trace")),
        "purpose": _optional(given, "purpose", _text) or "search",
    }


def log_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the log says of a search: no query, no texts."""
    names = ("search_id", "profile", "mode", "purpose", "result_count")
    fields = {name: row[name] for name in names}
    fields["milliseconds"] = round(row["milliseconds"], 3)
    fields["degraded"] = [reason.partition(":")[0] for reason in row["degraded"]]
    return {**fields, **row["trace"]}


def _trace(value: Any) -> dict[str, Any]:
    given = value if isinstance(value, dict) else {}
    return {
        name: given[name]
        for name in TRACE_FIELDS
        if isinstance(given.get(name), int | float)
        or (isinstance(given.get(name), str) and _WORD.fullmatch(given[name]))
    }


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _optional(given: dict[str, Any], name: str, read: Callable[[dict[str, Any], str], Any]) -> Any:
    return None if given.get(name) is None else read(given, name)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    value.encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
    return value.replace("\0", " ")  # which PostgreSQL has no place for


def _number(given: dict[str, Any], name: str) -> float:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is not a number")
    number = float(value) if abs(value) < 1e300 else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is not finite")
    return number


def _texts(given: dict[str, Any], name: str) -> list[str]:
    value = given.get(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is not a list")
    return [_text({name: item}, name) for item in value]


def _objects(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = given.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{name} is not a list of objects")
    if "\\u0000" in json.dumps(value):
        raise ValueError(f"{name} holds a character that PostgreSQL has no place for")
    return value
