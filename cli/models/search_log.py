"""Where searches are told of: datagrams from the database, rows for the search log."""

import asyncio
import hmac
import json
import logging
import math
import os
import re
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pgblend.cli.base.errors import UserError
from pgblend.cli.models.metrics import Metrics

# Reading a datagram of the search log: one search, as the database tells it.

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


LOG_SUFFIX = ".log"
_RECEIVE_BYTES = 4 * 1024 * 1024  # some hundred searches between two turns of the loop
_log = logging.getLogger(__name__)


def open_log_socket(listener: socket.socket) -> socket.socket:
    """Return the datagram socket beside a listening one: the same port, or the path + `.log`."""
    if listener.family == socket.AF_UNIX:
        return _open_unix(Path(f"{listener.getsockname()}{LOG_SUFFIX}"))
    receiver = socket.socket(listener.family, socket.SOCK_DGRAM)
    try:
        receiver.bind(listener.getsockname())
    except OSError as error:
        receiver.close()
        host, port = listener.getsockname()[:2]
        reason = os.strerror(error.errno or 0)
        raise UserError(
            f"cannot receive the search log on UDP {host}:{port}: {reason}",
            hint="choose another --port",
        ) from None
    return receiver


def _open_unix(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)  # the listening socket beside it is ours: so was this one
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mask = os.umask(0o117)
    try:
        receiver.bind(str(path))
    except OSError as error:
        receiver.close()
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(f"cannot receive the search log on {path}: {reason}") from None
    finally:
        os.umask(mask)
    return receiver


class SearchLog(asyncio.DatagramProtocol):
    """Takes each datagram that is well formed; counts and drops the others."""

    def __init__(
        self, keep: Callable[[dict[str, Any]], None], metrics: Metrics, token: str | None
    ) -> None:
        self._keep = keep
        self._metrics = metrics
        self._token = token

    @classmethod
    async def listen(
        cls,
        receiver: socket.socket,
        keep: Callable[[dict[str, Any]], None],
        metrics: Metrics,
        token: str | None,
    ) -> asyncio.DatagramTransport:
        """Receive on a socket until the transport is closed."""
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        receiver.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: cls(keep, metrics, token), sock=receiver
        )
        return transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        """Take one search."""
        try:
            row = read_search(data, self._token)
        except ValueError:
            self._metrics.count_datagram("malformed")
            return
        self._metrics.count_datagram("accepted")
        self._keep(row)
        _log.info("search", extra={"fields": log_fields(row)})
