"""What tests of the graph over shards share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database
from support.shards import Scale, run_command

CHANGES = "SELECT count(*) FROM pgblend_data.graph_change"


def settle(scale: Scale) -> None:
    """Have the worker's job look at all that changed."""
    while scale.coordinator.value("SELECT pgblend._settle_graph()"):
        pass
    assert [shard.value(CHANGES) for shard in scale.shards] == [0] * len(scale.shards)


def shard_of(scale: Scale, key: str, collection: str = "books") -> int:
    """Return the place of the shard of a document."""
    return int(
        scale.coordinator.value(
            "SELECT b.shard FROM pgblend_data.shard_bucket AS b WHERE b.bucket"
            " = pgblend._bucket((pgblend._named_collection(%s)).id, %s)",
            collection,
            key,
        )
    )


def both(scale: Scale, call: str, *parameters: Any) -> list[Any]:
    """Return what a call gives on one node and on the coordinator."""
    return [database.rows(call, *parameters) for database in (scale.one, scale.coordinator)]


@contextmanager
def role_of(scale: Scale, kind: str, **grants: str) -> Iterator[list[Database]]:
    """Connections of a role to the one node and the coordinator, with rights on collections."""
    admin = scale.coordinator
    role = f"ann_{admin.connection.info.backend_pid}"
    admin.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE {kind}")
    run_command(admin.url, "shards", "grant", role, "--password", "x")
    for database in (scale.one, admin):
        for name, privilege in grants.items():
            database.rows("SELECT grant_collection(%s, %s, %s)", name, role, privilege)
    run_command(admin.url, "shards", "push")
    urls = [make_conninfo(one.url, user=role, password="x") for one in (scale.one, admin)]
    try:
        with connect(urls[0]) as one, connect(urls[1]) as other:
            yield [Database(one), Database(other)]
    finally:
        for database in (scale.one, admin):
            for name in grants:
                database.rows("SELECT revoke_collection(%s, %s)", name, role)
        for database in (scale.one, admin, *scale.shards):
            database.rows(f"DROP OWNED BY {role}")
        admin.rows(f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards")
        run_command(admin.url, "shards", "push")
        admin.rows(f"DROP ROLE {role}")
