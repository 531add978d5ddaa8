"""A PostgreSQL 18 with pg_textsearch in a root folder of its own, for bench_lexical.py.

Needs root and debootstrap (`apt-get install debootstrap`); the folder is made once and kept.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = (
    "postgresql-18,postgresql-18-pgvector,postgresql-plpython3-18,python3-numpy,"
    "postgresql-18-pg-textsearch"
)
PORT = 54418
BIN = "/usr/lib/postgresql/18/bin"
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


def make_root(root: Path) -> None:
    """Install Debian with PostgreSQL 18 into `root` and make a cluster, unless it is there."""
    if not (root / BIN[1:] / "postgres").exists():
        root.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                *("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "forky", root),
                *("http://deb.debian.org/debian", "/usr/share/debootstrap/scripts/sid"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    if not (root / DATA[1:] / "PG_VERSION").exists():
        as_postgres(root, f"{BIN}/initdb -D {DATA} -A trust -E UTF8 --locale=C.UTF-8 -N")
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
    make_root(root)
    as_postgres(root, f"{BIN}/pg_ctl -D {DATA} -l {DATA}/log -w -s start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{PORT}"
    finally:
        as_postgres(root, f"{BIN}/pg_ctl -D {DATA} -m fast -w -s stop")
