"""The datagram that the search log gets of a search; its text is that of `report`."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from pgblend.plpy.base.session import Database, Json

MOST_CHARACTERS = 4000


class Noted(NamedTuple):
    """What was searched, by whom, how long and in which stages, as the session itself saw it."""

    role: str
    query: str
    collections: list[str]
    ms: float
    stages: list[Mapping[str, Json]]


def searched_facts(
    report: Mapping[str, Json], noted: Noted, log_queries: str
) -> Mapping[str, Json]:
    """Return query, collections, ms, stages and trace of a report, by what was noted as it ran."""
    from hashlib import sha256  # a millisecond, which a search without a log goes without

    query = {
        "on": noted.query[:MOST_CHARACTERS],
        "hash": sha256(noted.query.encode("utf-8", "replace")).hexdigest(),
    }
    trace = report.get("trace")
    return {
        "query": query.get(log_queries),
        "collections": noted.collections,
        "ms": noted.ms,
        "stages": noted.stages,
        "trace": (dict(trace) if isinstance(trace, Mapping) else {})
        | {"time_to_first_result_ms": noted.ms},
    }


def send_report(
    db: Database, report: str, role: str, log_queries: str, address: str, token: str | None
) -> None:
    """Send the report of a search that the session noted for a role, once; else nothing."""
    from datetime import UTC, datetime  # a millisecond, which a search without a log goes without

    given = json.loads(report)
    noted, search_id = db.kept("searched"), str(given.get("search_id"))
    if search_id not in noted or noted[search_id].role != role:
        return
    content = given | searched_facts(given, noted.pop(search_id), log_queries)
    content |= {"role": role, "at": datetime.now(UTC).isoformat()}
    if token is not None:
        content["token"] = token
    send_datagram(address, json.dumps(content, ensure_ascii=False))


def send_datagram(address: str, content: str) -> bool:
    """Send a text to host:port or unix:/path, and return whether it left; never wait or raise.

    The host is an address in numbers or localhost, so that no name has to be looked up.
    """
    import socket  # some milliseconds, which a search without a log goes without

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
