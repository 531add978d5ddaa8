"""A streaming standby of a test's server."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import make_conninfo

from pgblend.cli.operate import account
from pgblend.cli.operate.cluster import Cluster
from pgblend.cli.operate.state import password_file
from support.database import Database
from support.waiting import wait_until


@contextmanager
def replica(primary: Cluster, name: str = "standby") -> Iterator[Cluster]:
    """A streaming standby in a folder beside the primary's."""
    standby = Cluster(primary.directory.with_name(name), durable=False)
    standby.prepare()
    shutil.copy(password_file(primary.directory), password_file(standby.directory))
    account.make_private(standby.data, standby.account)
    source = make_conninfo("", **primary.connection_parameters() | {"dbname": "replication"})
    backup = [standby.binaries["pg_basebackup"], "-R", "--checkpoint=fast", "--no-sync"]
    try:
        standby.account.run([*backup, "-d", source, "-D", standby.data])
        standby.start()
        yield standby
    finally:
        standby.stop()
        shutil.rmtree(standby.directory)


def url_of(cluster: Cluster, **more: str) -> str:
    return make_conninfo("", **cluster.connection_parameters() | more)


def follow(primary: Database, standby: Database) -> None:
    """Wait until all that was committed on the primary is seen on the standby."""
    target = primary.value("SELECT pg_current_wal_flush_lsn()")
    replayed = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
    wait_until(lambda: standby.value(replayed, target))
