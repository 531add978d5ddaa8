"""Throwaway PostgreSQL servers for the tests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from pgblend.cli.operate.cluster import Cluster

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 << 30


def throwaway_folder() -> Path | None:
    """Return a folder in memory where there is room, None for the usual one.

    A database of its own for each test means hundreds of files made and removed.
    """
    there = MEMORY.is_dir() and psutil.disk_usage(str(MEMORY)).free > ENOUGH_BYTES
    return MEMORY if there else None


@contextmanager
def temporary_cluster(durable: bool = False, **settings: str) -> Iterator[Cluster]:
    """Make and start a server in a temporary folder, with settings of its own; stop it at the end.

    `durable`: what it has committed outlives a crash, as a real one's.
    """
    # Not pytest's tmp_path: the server runs as another account, which could not enter it.
    place = None if durable else throwaway_folder()
    with tempfile.TemporaryDirectory(prefix="pgblend-test-", dir=place) as name:
        folder = Path(name)
        folder.chmod(0o711)
        cluster = Cluster(folder / "server", durable=durable)
        cluster.create()
        cluster.start()
        try:
            if settings:
                with psycopg.connect(**cluster.connection_parameters(), autocommit=True) as admin:
                    for setting, value in settings.items():
                        admin.execute(f"ALTER SYSTEM SET {setting} = {value}".encode())
                cluster.stop()
                cluster.start()
            yield cluster
        finally:
            cluster.stop()


@contextmanager
def throwaway_server(durable: bool = False, **settings: str) -> Iterator[dict[str, Any]]:
    """Make and start a server (temporary_cluster); yield host, port, user and password."""
    with temporary_cluster(durable, **settings) as cluster:
        parameters = cluster.connection_parameters()
        yield {key: parameters[key] for key in ("host", "port", "user", "password")}


def kill_server(cluster: Cluster) -> None:
    """End the server and all its processes with SIGKILL."""
    postmaster = cluster.postmaster
    assert postmaster is not None
    process = psutil.Process(postmaster.pid)
    family = [process, *process.children(recursive=True)]
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(family, timeout=10)
