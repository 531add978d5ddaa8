"""A PostgreSQL cluster in a folder of one's own: make it, start it, stop it, find it again.

DIRECTORY/postgres     the data, owned by the account that runs the server
DIRECTORY/socket       the Unix socket (in /tmp where the path would be too long)
DIRECTORY/log          the server's log, a file for each day of the week
DIRECTORY/pgpass       the password, readable by its owner only
DIRECTORY/server.json  port and socket of the last start
DIRECTORY/server.lock  locked as long as a server works in the folder
"""

import secrets
import shutil
import sys
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import psutil

from pgblend.cli.base.database import SOUND_VECTOR_VERSION, version_tuple
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.operate import account as ports
from pgblend.cli.operate.account import Account, server_account
from pgblend.cli.operate.postmaster import (
    AnotherServer,
    Binaries,
    Postmaster,
    drop_lock_files,
    end_orphans,
    find_binaries,
    find_postmaster,
    is_server_locked,
    processes_in,
    server_lock,
)
from pgblend.cli.operate.state import (
    DATABASE,
    HOST,
    ROLE,
    ServerState,
    load_state,
    password_file,
    private_url,
)

# Server settings that follow from the machine, and the configuration file that holds them.

MEGABYTE = 1024 * 1024
GIGABYTE = 1024 * MEGABYTE
CONTROL_GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class ServerSetting(NamedTuple):
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


def memory_settings(total: int) -> list[ServerSetting]:
    """Share out the memory; the machine has other things to do besides."""
    return [
        ServerSetting(
            "shared_buffers",
            _size(total // 4, 32 * MEGABYTE, 8 * GIGABYTE),
            "a quarter of the memory: an HNSW index is fast while it lies in here",
        ),
        ServerSetting(
            "effective_cache_size",
            _size(total // 2, 64 * MEGABYTE, 1024 * GIGABYTE),
            "half of the memory: what the planner believes to be cached",
        ),
        ServerSetting(
            "maintenance_work_mem",
            _size(total // 16, 16 * MEGABYTE, 2 * GIGABYTE),
            "an HNSW build is many times slower once its graph outgrows this",
        ),
        ServerSetting(
            "work_mem",
            _size(total // 512, 4 * MEGABYTE, 64 * MEGABYTE),
            "for each sort or hash of each query, so it stays modest",
        ),
    ]


def durable_settings() -> list[ServerSetting]:
    """Settle how changes are written, for data that must survive a crash."""
    return [
        ServerSetting("max_wal_size", "2GB", "an ingest writes much at once: fewer checkpoints"),
        ServerSetting("min_wal_size", "128MB", "little space while nothing happens"),
        ServerSetting("wal_compression", "on", "less to write for a little computing"),
    ]


def throwaway_settings() -> list[ServerSetting]:
    """Trade all safety for speed: a crash of the machine destroys such a cluster."""
    reason = "throwaway server: its data may be lost"
    return [
        ServerSetting("shared_buffers", "128MB", "throwaway server: small data"),
        *(
            ServerSetting(name, value, reason)
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


def planner_settings() -> list[ServerSetting]:
    """Tell the planner about solid state disks and short queries."""
    found = [
        ServerSetting("random_page_cost", "1.1", "solid state disk: random reads cost little more"),
        ServerSetting(
            "jit", "off", "queries are short: compiling them takes longer than running them"
        ),
    ]
    if sys.platform == "linux":
        found.append(ServerSetting("effective_io_concurrency", "200", "solid state disk"))
    return found


def index_settings(vector_version: str | None) -> list[ServerSetting]:
    """Build indexes with one process where pgvector has a fault in parallel builds."""
    if vector_version is None or version_tuple(vector_version) >= SOUND_VECTOR_VERSION:
        return []
    reason = f"pgvector {vector_version} has a fault in parallel HNSW builds"
    return [ServerSetting("max_parallel_maintenance_workers", "0", reason)]


def place_settings(port: int, socket_directory: Path, log_directory: Path) -> list[ServerSetting]:
    """Name where the server listens and where it writes its log."""
    return [
        ServerSetting("listen_addresses", "'127.0.0.1'", "this machine only"),
        ServerSetting("port", str(port), "remembered in server.json"),
        ServerSetting("unix_socket_directories", _quote(socket_directory), "this account only"),
        ServerSetting("password_encryption", "scram-sha-256", "no other kind is let in"),
        ServerSetting("cluster_name", "pgblend", "shown in the list of processes"),
        ServerSetting("logging_collector", "on", "one file for each day of the week"),
        ServerSetting("log_directory", _quote(log_directory), "beside the data"),
        ServerSetting("log_filename", "'postgresql-%a.log'", "a week, then from the start again"),
        ServerSetting("log_rotation_size", "0", "by day only: a second file would lose the first"),
        ServerSetting("log_truncate_on_rotation", "on", "a week, then from the start again"),
    ]


def render(settings: list[ServerSetting]) -> str:
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


START_TIMEOUT_SECONDS = 120
START_ATTEMPTS = 3
PORT_TAKEN = "Address already in use"


class Cluster:
    """A private PostgreSQL server: one superuser `pgblend`, one database `pgblend`.

    `durable=False` makes it fast and forgetful, for tests. Callers that may run at the same time
    hold `pgblend.cli.operate.postmaster.locked`; a running server holds the folder's server.lock.
    """

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        self.directory = directory.resolve()
        self.durable = durable
        self.data = self.directory / "postgres"
        self.log_directory = self.directory / "log"

    @cached_property
    def account(self) -> Account:
        """Who runs the server."""
        return server_account()

    @property
    def exists(self) -> bool:
        """Whether the cluster was made."""
        return (self.data / "PG_VERSION").exists()

    @property
    def postmaster(self) -> Postmaster | None:
        """The running server; None when there is none."""
        return find_postmaster(self.data)

    @property
    def running(self) -> bool:
        """Whether the server runs."""
        return self.postmaster is not None

    @cached_property
    def binaries(self) -> Binaries:
        """The programs: of the cluster's own major version once it was made, else the newest."""
        version_file = self.data / "PG_VERSION"
        return find_binaries(int(version_file.read_text()) if self.exists else None)

    @property
    def password(self) -> str:
        """The superuser's password."""
        try:
            return password_file(self.directory).read_text(encoding="ascii").strip().split(":")[-1]
        except OSError as error:
            raise UserError(
                f"the password file {password_file(self.directory)} cannot be read: "
                f"{error.strerror}",
                hint="run it as the account that ran `pgblend up`; if the file is lost, "
                f"put *:*:*:{ROLE}:PASSWORD there with the password from a backup",
            ) from error

    @property
    def state(self) -> ServerState:
        """What is remembered of the last start."""
        state = load_state(self.directory)
        if state is None:
            raise UserError(
                f"there is no private server in {self.directory}",
                hint="run: pgblend up",
                exit_code=ExitCode.DATABASE,
            )
        return state

    @property
    def port(self) -> int:
        """The port of the running server, else of the last one."""
        return self.state.port

    @property
    def url(self) -> str:
        """The connection URL; it names the password file instead of showing the password."""
        return private_url(self.directory, self.port)

    def connection_parameters(self) -> dict[str, str | int]:
        """Host, port, user, password and dbname, for drivers that do not read a password file."""
        return {
            "host": HOST,
            "port": self.port,
            "user": ROLE,
            "password": self.password,
            "dbname": DATABASE,
        }

    def prepare(self) -> None:
        """Make the folders, or say which one the server's account cannot use."""
        _ = self.binaries  # where there are none, nothing is made
        try:
            if self.account.name:
                self.account.check_can_enter(self.directory)
            if not self.directory.exists():
                self.directory.mkdir(parents=True)
                # The server's account must pass through; listing is nobody else's business.
                self.directory.chmod(0o711 if self.account.name else 0o700)
                if self.account.name:
                    self.account.check_can_enter(self.directory)
            ports.make_private(self.log_directory, self.account)
        except OSError as error:
            folder = error.filename or self.log_directory  # none where a descriptor is at fault
            raise UserError(
                f"{folder} cannot be used as data folder: {error.strerror}",
                hint="choose another one with --data-dir or PGBLEND_DATA_DIR",
            ) from error

    def create(self) -> None:
        """Make the cluster; what an interrupted attempt left is cleared away first."""
        self.prepare()
        new = self.directory / "postgres.new"
        if new.exists():
            shutil.rmtree(new)
        ports.make_private(new, self.account)
        self._write_password()
        self._initdb(new)
        self.account.append(
            new / "postgresql.conf",
            "\n# Written by pgblend at each start.\ninclude_if_exists 'pgblend.conf'\n",
        )
        self.account.run(
            [self.binaries["postgres"], "--single", "-D", new, "postgres"],
            stdin=f"CREATE DATABASE {DATABASE};\n",
        )
        new.rename(self.data)

    def start(self, port: int | None = None) -> None:
        """Start the server on this port, else the one of last time, else any free one."""
        self.prepare()
        folder = ports.socket_directory(self.directory, self.account)
        state = load_state(self.directory)
        end_orphans(self.data)
        with server_lock(self.directory) as lock:
            drop_lock_files(self.data, folder)
            for attempt in range(1, START_ATTEMPTS + 1):
                chosen = ports.choose_port(port, state.port if state else None)
                self._configure(chosen, folder)
                if self._pg_ctl_start(lock, last_attempt=attempt == START_ATTEMPTS):
                    break
        self.remember()

    def remember(self) -> None:
        """Put down where the running server listens, where server.json says otherwise."""
        running, state = self.postmaster, load_state(self.directory)
        if running is not None:
            port, folder = running.port, running.socket_directory
            new = ServerState(port, folder)
            found = replace(state, port=port, socket_directory=folder) if state else new
            if found != state:
                found.save(self.directory)

    def stop(self) -> None:
        """Stop the server: running statements end, what was committed is kept.

        Raises AnotherServer where one runs that cannot be seen from here.
        """
        if self.running:
            self.account.run([self.binaries["pg_ctl"], "stop", "-D", self.data, "-m", "fast", "-w"])
        elif not any(processes_in(self.data)) and is_server_locked(self.directory):
            raise AnotherServer(self.directory)

    def _write_password(self) -> None:
        """Make up a password; one that is there already stays."""
        file = password_file(self.directory)
        if file.exists():
            return
        unfinished = file.with_suffix(".new")
        unfinished.touch()
        unfinished.chmod(0o600)
        unfinished.write_text(f"*:*:*:{ROLE}:{secrets.token_urlsafe(24)}\n", encoding="ascii")
        unfinished.replace(file)

    def _initdb(self, data: Path) -> None:
        """Run initdb. C.UTF-8 knows all letters and sorts alike on every system, for ever."""
        handed_over = self.log_directory / "password"
        try:
            self.account.write(handed_over, self.password)
            self.account.run(
                [
                    self.binaries["initdb"],
                    f"--pgdata={data}",
                    f"--username={ROLE}",
                    f"--pwfile={handed_over}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C.UTF-8",
                    "--data-checksums",
                    *([] if self.durable else ["--no-sync"]),
                ]
            )
        finally:
            handed_over.unlink(missing_ok=True)

    def _configure(self, port: int, socket_directory: Path) -> None:
        """Write pgblend.conf for this start: machine and port may have changed since the last."""
        chosen = [
            *place_settings(port, socket_directory, self.log_directory),
            *memory_settings(machine_memory()),
            *planner_settings(),
            *index_settings(self.binaries.vector_version),
            *(durable_settings() if self.durable else throwaway_settings()),
        ]
        self.account.write(self.data / "pgblend.conf", render(chosen))

    def _pg_ctl_start(self, lock: int, *, last_attempt: bool) -> bool:
        """Start and wait; False when another program took the port in the meantime.

        The server inherits the descriptor `lock`, and so holds the lock as long as it lives.
        """
        log = self.log_directory / "startup.log"
        log.unlink(missing_ok=True)
        arguments: list[str | Path] = ["start", "-D", self.data, "-l", log, "-w"]
        try:
            self.account.run(
                [self.binaries["pg_ctl"], *arguments, "-t", str(START_TIMEOUT_SECONDS)],
                hand_on=(lock,),
            )
        except UserError as error:
            said = self._last_log()
            if PORT_TAKEN in said and not last_attempt:
                return False
            reasons = [line for line in said.splitlines() if "FATAL" in line] or [error.message]
            raise UserError(
                f"PostgreSQL did not start: {reasons[-1]}",
                hint=f"its log is in {self.log_directory}",
            ) from error
        return True

    def _last_log(self) -> str:
        """Return what the last start wrote, before and after it turned to the log of the day."""
        files = [file for file in self.log_directory.iterdir() if not file.is_symlink()]
        files.sort(key=lambda file: file.stat().st_mtime)
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files[-2:]]
        return "\n".join(text.split("starting PostgreSQL")[-1] for text in texts)
