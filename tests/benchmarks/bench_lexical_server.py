"""A PostgreSQL 18 with pg_textsearch in a root folder of its own, for bench_lexical.py."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.release_root import RELEASES, make_root

RELEASE = RELEASES[18]
PORT = 54418
DATA = "/var/lib/postgresql/bench"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "port": PORT,
    "unix_socket_directories": "/tmp",
    "dynamic_shared_memory_type": "mmap",
    "shared_preload_libraries": "pg_textsearch",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "8GB",
    "synchronous_commit": "off",
    "jit": "off",
}


def make_cluster(root: Path) -> None:
    """Install the server into `root` and make a cluster, unless it is there."""
    make_root(RELEASE, root, "postgresql-18-pg-textsearch")
    if not (root / DATA[1:] / "PG_VERSION").exists():
        initdb = f"{RELEASE.programs}/initdb -D {DATA} -A trust -E UTF8 --locale=C.UTF-8 -N"
        as_postgres(root, initdb)
        with (root / DATA[1:] / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())


def as_postgres(root: Path, command: str) -> None:
    """Run a command in the folder as its user postgres."""
    subprocess.run(
        ["chroot", root, "su", "postgres", "-s", "/bin/sh", "-c", command],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def peer_server(root: Path) -> Iterator[str]:
    """Run the server; gives the superuser's URL without a database."""
    make_cluster(root)
    pg_ctl = f"{RELEASE.programs}/pg_ctl -D {DATA}"
    as_postgres(root, f"{pg_ctl} -l {DATA}/log -w -s start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{PORT}"
    finally:
        as_postgres(root, f"{pg_ctl} -m fast -w -s stop")
