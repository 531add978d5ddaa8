"""Server settings that follow from the machine, and the configuration file that holds them."""

import sys
from pathlib import Path
from typing import NamedTuple

import psutil

from pgblend.cli.database import SOUND_VECTOR_VERSION, version_tuple

MEGABYTE = 1024 * 1024
GIGABYTE = 1024 * MEGABYTE
CONTROL_GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class Setting(NamedTuple):
    """One line of the configuration file, and why it is there."""

    name: str
    value: str
    reason: str


def machine_memory() -> int:
    """Count the bytes this machine, or the container around it, may use."""
    limits = [psutil.virtual_memory().total]
    for path in CONTROL_GROUP_LIMITS:
        text = path.read_text(encoding="ascii").strip() if path.exists() else ""
        if text.isdigit():
            limits.append(int(text))
    return min(limits)


def memory_settings(total: int) -> list[Setting]:
    """Share out the memory; the machine has other things to do besides."""
    return [
        Setting(
            "shared_buffers",
            _size(total // 4, 32 * MEGABYTE, 8 * GIGABYTE),
            "a quarter of the memory: an HNSW index is fast while it lies in here",
        ),
        Setting(
            "effective_cache_size",
            _size(total // 2, 64 * MEGABYTE, 1024 * GIGABYTE),
            "half of the memory: what the planner believes to be cached",
        ),
        Setting(
            "maintenance_work_mem",
            _size(total // 16, 16 * MEGABYTE, 2 * GIGABYTE),
            "an HNSW build is many times slower once its graph outgrows this",
        ),
        Setting(
            "work_mem",
            _size(total // 512, 4 * MEGABYTE, 64 * MEGABYTE),
            "for each sort or hash of each query, so it stays modest",
        ),
    ]


def durable_settings() -> list[Setting]:
    """Settle how changes are written, for data that must survive a crash."""
    return [
        Setting("max_wal_size", "2GB", "an ingest writes much at once: fewer checkpoints"),
        Setting("min_wal_size", "128MB", "little space while nothing happens"),
        Setting("wal_compression", "on", "less to write for a little computing"),
    ]


def throwaway_settings() -> list[Setting]:
    """Trade all safety for speed: a crash of the machine destroys such a cluster."""
    reason = "throwaway server: its data may be lost"
    return [
        Setting("shared_buffers", "128MB", "throwaway server: small data"),
        *(
            Setting(name, value, reason)
            for name, value in (
                ("fsync", "off"),
                ("synchronous_commit", "off"),
                ("full_page_writes", "off"),
                ("wal_level", "minimal"),
                ("max_wal_senders", "0"),
                ("max_wal_size", "1GB"),
            )
        ),
    ]


def planner_settings() -> list[Setting]:
    """Tell the planner about solid state disks and short queries."""
    found = [
        Setting("random_page_cost", "1.1", "solid state disk: random reads cost little more"),
        Setting("jit", "off", "queries are short: compiling them takes longer than running them"),
    ]
    if sys.platform == "linux":
        found.append(Setting("effective_io_concurrency", "200", "solid state disk"))
    return found


def index_settings(vector_version: str | None) -> list[Setting]:
    """Build indexes with one process where pgvector has a fault in parallel builds."""
    if vector_version is None or version_tuple(vector_version) >= SOUND_VECTOR_VERSION:
        return []
    reason = f"pgvector {vector_version} has a fault in parallel HNSW builds"
    return [Setting("max_parallel_maintenance_workers", "0", reason)]


def place_settings(port: int, socket_directory: Path, log_directory: Path) -> list[Setting]:
    """Name where the server listens and where it writes its log."""
    return [
        Setting("listen_addresses", "'127.0.0.1'", "this machine only"),
        Setting("port", str(port), "remembered in server.json"),
        Setting("unix_socket_directories", _quote(socket_directory), "this account only"),
        Setting("password_encryption", "scram-sha-256", "no other kind is let in"),
        Setting("cluster_name", "pgblend", "shown in the list of processes"),
        Setting("logging_collector", "on", "one file for each day of the week"),
        Setting("log_directory", _quote(log_directory), "beside the data"),
        Setting("log_filename", "'postgresql-%a.log'", "a week, then from the start again"),
        Setting("log_rotation_size", "0", "by day only: a second file would lose the first"),
        Setting("log_truncate_on_rotation", "on", "a week, then from the start again"),
    ]


def render(settings: list[Setting]) -> str:
    """Write the configuration file; of two settings with one name the later holds."""
    last = {setting.name: setting for setting in settings}
    header = (
        "# Written by pgblend at each start: changes here are lost.\n"
        "# Settings of your own: ALTER SYSTEM SET name = value, which holds over these.\n"
    )
    lines = [f"\n# {reason}\n{name} = {value}\n" for name, value, reason in last.values()]
    return header + "".join(lines)


def _size(value: int, least: int, most: int) -> str:
    """Clamp a number of bytes and write it in whole megabytes."""
    return f"{max(least, min(value, most)) // MEGABYTE}MB"


def _quote(path: Path) -> str:
    """Quote a path as PostgreSQL's configuration file wants it."""
    escaped = str(path).replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
