"""What the trips of a search cost: its coordinator's session notes each, and each shard's session.

The program's own call of PL/Proxy is wrapped for the session, so nothing of this is in the product.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg

from support.program import loading

_FUNCTIONS = """
CREATE OR REPLACE FUNCTION public.watch_trips(pids jsonb) RETURNS void
LANGUAGE plpython3u AS $python$
import json
from pathlib import Path
from time import perf_counter, sleep

from pgblend.plpy.base.session import Backend
from pgblend.plpy.shards import trips

GD["trips_pids"], GD["trips_seen"] = json.loads(pids), []
own = GD.setdefault("trips_run_within", Backend.run_within)

def spent():
    return {
        shard: int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
        for shard, pid in GD["trips_pids"].items()
    }

def run_within(db, limit_ms, statement, types, *values):
    if statement is not trips._ASK:
        return own(db, limit_ms, statement, types, *values)
    before, start = spent(), perf_counter()
    rows = own(db, limit_ms, statement, types, *values)
    took_ms = (perf_counter() - start) * 1000
    sleep(0.003)  # until the sessions rest, and their clocks are right
    GD["trips_seen"].append({
        "calls": [call[0] for call in json.loads(values[2])["calls"] or json.loads(values[1][0])],
        "ms": took_ms,
        "out": sum(map(len, values[1])) + len(values[2]) * len(values[0]),
        "back": sum(len(row["answer"]) for row in rows),
        "shards": [after - before[shard] for shard, after in spent().items()],
    })
    return rows

Backend.run_within = run_within
$python$;
CREATE OR REPLACE FUNCTION public.trips_seen() RETURNS jsonb
LANGUAGE plpython3u AS $python$
import json
seen, GD["trips_seen"] = GD["trips_seen"], []
return json.dumps(seen)
$python$;
"""


class Trip(NamedTuple):
    """One trip: what for, its milliseconds by the clock, characters, and shards' processor time."""

    kind: str
    ms: float
    out: int
    back: int
    shards: Sequence[float]


def watch_trips(connection: psycopg.Connection, pids: Sequence[int]) -> None:
    """Have a coordinator's session note its trips; `pids` are its sessions of shards."""
    from json import dumps

    connection.execute(loading(_FUNCTIONS).encode())
    by_shard = {str(number): pid for number, pid in enumerate(pids)}
    connection.execute("SELECT public.watch_trips(%s)", [dumps(by_shard)])


def trips_since(connection: psycopg.Connection) -> list[Trip]:
    """Return the trips since it was asked last."""
    ((seen,),) = connection.execute("SELECT public.trips_seen()").fetchall()
    return [
        Trip(kind_of(one["calls"]), one["ms"], one["out"], one["back"], one["shards"])
        for one in seen
    ]


def kind_of(calls: Sequence[Any]) -> str:
    """Return what a trip is for, by the names of its calls."""
    if "hashes" in calls:
        return "lists"
    return "rows" if "passages" in calls else "facts"
