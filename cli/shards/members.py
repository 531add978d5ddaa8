"""How databases become the shards of another, how these are reached, and whether they are sound."""

from collections.abc import Iterator
from dataclasses import dataclass

from pgblend.cli.base.database import (
    Connection,
    connect,
    fetch_rows,
    fetch_value,
    find_revision,
    parts_of,
    whole_url,
)
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import StorePlace, find_places
from pgblend.cli.base.revision import known_revisions, unknown_revision

_IS_EXTENSION = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgblend')"
_HAS_DOCUMENTS = "SELECT EXISTS (SELECT FROM pgblend_data.document)"
_BECOME = "SELECT pgblend._become_shard(%(number)s, %(tables)s::text[])"
_MAY_HAVE_SHARDS = "SELECT to_regclass('pgblend_data.shard') IS NOT NULL"
_IS_COORDINATOR = "SELECT EXISTS (SELECT FROM pgblend_data.shard)"


def places_of(connection: Connection) -> list[StorePlace]:
    """Return the shards of a coordinator; UserError where there are none."""
    found = find_places(connection)
    if not found:
        raise UserError(
            "this database has no shards",
            hint="pgblend shards add NAME=URL … makes it their coordinator",
        )
    return found


def places_before(url: str) -> list[StorePlace]:
    """Return the shards of a database that may be at any revision, or at none."""
    with connect(url, check=False) as connection:
        revision = find_revision(connection)
        if revision is not None and revision not in known_revisions():
            raise unknown_revision(revision)
        return find_places(connection) if fetch_value(connection, _MAY_HAVE_SHARDS) else []


def given_places(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the URLs of NAME=URL pairs by name."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, url = pair.partition("=")
        if not (separator and name and url) or name in found:
            raise UserError(
                f"shard {pair!r}: expected NAME=URL, each name once",
                hint="for example b1=postgresql://pgblend@10.0.0.11/search",
            )
        found[name] = url
    return found


def check_may_coordinate(connection: Connection) -> None:
    """Raise UserError where a database has documents, or other routines than a coordinator may."""
    if fetch_value(connection, _IS_EXTENSION):
        raise UserError(
            "pgblend is an extension of this database, and a coordinator has routines of its own",
            hint="make the coordinator in a database where `pgblend migrate up` made pgblend",
        )
    is_coordinator = fetch_value(connection, _IS_COORDINATOR)
    if not is_coordinator and fetch_value(connection, _HAS_DOCUMENTS):
        raise UserError(
            "this database has documents: a coordinator has none",
            hint="make a new database the coordinator, and ingest again by way of its shards",
        )


def without_login(url: str) -> tuple[str, dict[str, str]]:
    """Return a connection string without user and password, and these two."""
    parts = parts_of(url)
    login: dict[str, str] = {}
    for key in ("user", "password"):
        if key in parts:
            login[key] = str(parts.pop(key))
    return whole_url("", **{key: str(value) for key, value in parts.items()}), login


def with_one_login(given: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the connection strings of shards without a login, and the one that all have."""
    parted = [without_login(url) for url in given.values()]
    logins = [login for _, login in parted]
    if any(login != logins[0] for login in logins) or "user" not in logins[0]:
        raise UserError(
            "the URLs have different users or passwords, or no user",
            hint="one login holds for all shards: give it in each URL",
        )
    return [connection for connection, _ in parted], logins[0]


@dataclass(frozen=True)
class Ways:
    """Connection strings of shards, without a login: the coordinator's, and the command line's.

    The latter are None where they are the same.
    """

    connections: list[str]
    directs: list[str | None]


def ways_to(given: dict[str, str], connections: list[str], pooler: str | None) -> Ways:
    """Return how shards are reached; a pooler, HOST:PORT, knows each as a database of its name.

    {name} in HOST is that name, where each shard has a pooler of its own.
    """
    if pooler is None:
        return Ways(connections, [None] * len(connections))
    host, _, port = pooler.rpartition(":")
    if not (host and port.isdigit()):
        raise UserError(f"pooler {pooler!r}: expected HOST:PORT")
    return Ways(
        [
            whole_url("", host=host.replace("{name}", name), port=port, dbname=name)
            for name in given
        ],
        [*connections],
    )


def become_shard(place: StorePlace) -> None:
    """Make an empty database a shard; a second time nothing changes."""
    from pgblend.sql.coordinator import STORE_TABLES

    with connect(place.url) as shard:
        fetch_rows(shard, _BECOME, {"number": place.number, "tables": [*STORE_TABLES]})


# What is wrong with the shards of a coordinator.

_OF_SHARD = """
    SELECT s.number, s.front_version, s.is_moved, (
        SELECT count(*) FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
        WHERE d.bucket <> ALL(%(buckets)s::smallint[])
            OR NOT d.bucket::integer <@ c.buckets) AS misplaced
    FROM pgblend_data.shard_self AS s
"""
_BUCKETS = "SELECT b.bucket FROM pgblend_data.shard_bucket AS b WHERE b.shard = %(number)s"
_VERSION = "SELECT f.version FROM pgblend_data.shard_front AS f"
_TRUSTS = "SELECT pgblend._trusts(%(connection)s::text, %(user)s::text)"
_SHIELDED = "SELECT pgblend._shielded(%(connection)s::text)"
# As the coordinator's server has it, for which readers may name another user.
_CONNECTION = """
    SELECT o.option_value FROM pg_catalog.pg_foreign_server AS f
    CROSS JOIN LATERAL pg_catalog.pg_options_to_table(f.srvoptions) AS o
    WHERE f.srvname = 'pgblend_shards' AND o.option_name = 'p' || %(number)s
"""
_EXPOSED = (
    "is reached with what the server's account has ({}): whoever may search could come in by that. "
    "Run pgblend shards add again with the same shards"
)
_TRUST = "asks for no password: whoever may search could search as anybody"


def check_asks_password(coordinator: Connection, name: str, url: str) -> None:
    """Raise UserError where a shard lets the coordinator's server in without a password."""
    connection, login = without_login(url)
    connection = fetch_value(coordinator, _SHIELDED, {"connection": connection})
    if _trusts(coordinator, connection, login.get("user")):
        raise UserError(
            f"shard {name} {_TRUST}",
            hint="let its pg_hba.conf ask the coordinator's host for scram-sha-256, not trust",
        )


def problems_of(coordinator: Connection) -> Iterator[tuple[str, str]]:
    """Yield a shard's name and a problem, for each problem."""
    version = fetch_value(coordinator, _VERSION)
    for place in places_of(coordinator):
        rows = fetch_rows(coordinator, _BUCKETS, {"number": place.number})
        buckets = [row["bucket"] for row in rows]
        for problem in _of_shard(place, version, buckets):
            yield place.name, problem
        connection = fetch_value(coordinator, _CONNECTION, {"number": place.number})
        if exposed := _exposed(connection):
            yield place.name, _EXPOSED.format(", ".join(exposed))
        if _trusts(coordinator, connection, without_login(place.url)[1].get("user")):
            yield place.name, _TRUST


def _of_shard(place: StorePlace, version: int, buckets: list[int]) -> Iterator[str]:
    try:
        with connect(place.url) as shard:
            rows = fetch_rows(shard, _OF_SHARD, {"buckets": buckets})
    except UserError as error:
        yield error.message
        return
    if not rows or rows[0]["number"] != place.number:
        yield f"is not shard {place.number} of this coordinator"
        return
    (found,) = rows
    if found["front_version"] != version:
        yield "lacks changes: pgblend shards push"
    if found["is_moved"]:
        yield "takes no changes: run its split again, or with --cancel"
    if found["misplaced"]:
        yield f"has {found['misplaced']:,} documents that belong to another shard"


def _exposed(connection: str) -> list[str]:
    """Name what a connection string leaves to the account that the server runs as."""
    parts = parts_of(connection)
    exposed = {
        "its passwords": parts.get("passfile") != "/dev/null" or "password" not in parts,
        "its certificate": "sslcert" not in parts,
        "its ticket": parts.get("gssencmode") != "disable" or "krbsrvname" not in parts,
    }
    return [what for what, is_so in exposed.items() if is_so]


def _trusts(coordinator: Connection, connection: str, user: str | None) -> bool:
    return bool(fetch_value(coordinator, _TRUSTS, {"connection": connection, "user": user}))
