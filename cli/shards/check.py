"""What is wrong with the shards of a coordinator."""

from collections.abc import Iterator

from pgblend.cli.database import Connection, connect, fetch_rows, fetch_value, parts_of
from pgblend.cli.errors import UserError
from pgblend.cli.shards.places import Place, places_of, without_login

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
    "is reached with what the server's account has ({}): whoever may search could come in by that; "
    "run pgblend shards add again with the same shards"
)
_TRUST = "asks for no password: whoever may search could search as anybody"


def check_asks_password(coordinator: Connection, name: str, url: str) -> None:
    """Raise UserError where a shard lets the coordinator's server in without a password."""
    connection, login = without_login(url)
    connection = fetch_value(coordinator, _SHIELDED, {"connection": connection})
    if _trusts(coordinator, connection, login.get("user")):
        raise UserError(
            f"shard {name} {_TRUST}",
            hint="let its pg_hba.conf ask the coordinator's host for scram-sha-256; not trust",
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


def _of_shard(place: Place, version: int, buckets: list[int]) -> Iterator[str]:
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
        "its passwords": parts.get("passfile") != "/dev/null",
        "its certificate": "sslcert" not in parts,
        "its ticket": parts.get("gssencmode") != "disable",
    }
    return [what for what, is_so in exposed.items() if is_so]


def _trusts(coordinator: Connection, connection: str, user: str | None) -> bool:
    return bool(fetch_value(coordinator, _TRUSTS, {"connection": connection, "user": user}))
