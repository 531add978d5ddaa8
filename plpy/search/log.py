"""One datagram of the search log, sent or not."""

import socket
from hashlib import sha256
from typing import Any

MOST_CHARACTERS = 4000


def searched_facts(
    report: dict[str, Any],
    noted: dict[str, Any],
    since_ms: float,
    statement_ms: float,
    log_queries: str,
) -> dict[str, Any]:
    """Return query, collections, ms, stages and trace of a report, by what was noted as it ran.

    `noted` has query, collections, ms and stages of the ranking, which ended `since_ms` ago; the
    statement began `statement_ms` ago. The report may say how long all of it and the fetch of its
    rows took, but no more than can be.
    """
    took = max(noted["ms"], min(number(report, "ms"), max(noted["ms"] + since_ms, statement_ms)))
    fetch = {"name": "fetch", "ms": min(number(report, "fetch_ms"), since_ms)}
    query = {
        "on": noted["query"][:MOST_CHARACTERS],
        "hash": sha256(noted["query"].encode("utf-8", "replace")).hexdigest(),
    }
    trace = report.get("trace")
    return {
        "query": query.get(log_queries),
        "collections": noted["collections"],
        "ms": took,
        "stages": [*noted["stages"], fetch | {"rows": report.get("rows")}],
        "trace": (trace if isinstance(trace, dict) else {}) | {"time_to_first_result_ms": took},
    }


def number(report: dict[str, Any], name: str) -> float:
    """Return a number of a report, 0 where there is none or it is below 0."""
    value = report.get(name)
    return max(0.0, float(value)) if isinstance(value, int | float) else 0.0


def send_datagram(address: str, content: str) -> bool:
    """Send a text to host:port or unix:/path, and return whether it left; never wait or raise.

    The host is an address in numbers or localhost, so that no name has to be looked up.
    """
    family: int = socket.AF_UNIX
    place: str | tuple[str, int] = address.removeprefix("unix:")
    if not address.startswith("unix:"):
        host, _, port = address.rpartition(":")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = (host, int(port))
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(content.encode("utf-8", "replace"), place)
    except (OSError, OverflowError, ValueError):
        return False
    return True
