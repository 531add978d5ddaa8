"""pgbouncer before a server, in transaction mode: a call may go to another session each time."""

import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.waiting import wait_until

_TEMPLATE = """\
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
server_login_retry = 1
"""
# Its root folder is made by `make managed`, where the machine's own is older.
_NEWER = Path(__file__).resolve().parents[2] / "build/roots/pgbouncer"
_WITHIN = """\
#!/bin/sh
exec {root}/lib64/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/x86_64-linux-gnu \\
    {root}/usr/sbin/pgbouncer "$@"
"""
KEEPS_STATEMENTS = (1, 21)  # the first version that does, in transaction mode


def pgbouncer_program() -> str | None:
    """Return where the program is; None where it is not."""
    found = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    return found if Path(found).exists() else None


def newer_pgbouncer() -> str | None:
    """Return where a program is that keeps prepared statements; None where none is."""
    for program in (pgbouncer_program(), str(_NEWER / "pgbouncer")):
        if program and Path(program).exists():
            told = subprocess.run([program, "--version"], capture_output=True, text=True)
            version = re.search(r"(\d+)\.(\d+)", told.stdout)
            if version and tuple(map(int, version.groups())) >= KEEPS_STATEMENTS:
                return program
    return None


def make_newer() -> str:
    """Have debootstrap unpack Debian's newest one into a root folder; return the program."""
    _NEWER.mkdir(parents=True, exist_ok=True)
    mirror, script = "http://deb.debian.org/debian", "/usr/share/debootstrap/scripts/sid"
    command = ["debootstrap", "--variant=minbase", "--include=pgbouncer", "forky"]
    subprocess.run([*command, str(_NEWER), mirror, script], check=True)
    program = _NEWER / "pgbouncer"
    program.write_text(_WITHIN.format(root=_NEWER))
    program.chmod(0o755)
    return str(program)


@contextmanager
def pgbouncer(
    program: str,
    host: str,
    port: int | str,
    passwords: Mapping[str, str],
    pool: int,
    statements: int | None = None,
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run it with so many sessions for each role and database; yield its port and process.

    It keeps so many prepared `statements` a session, where it is new enough to be told.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        own_port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pgblend-pgbouncer-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        users, settings = folder / "users", folder / "pgbouncer.ini"
        users.write_text("".join(f'"{role}" "{word}"\n' for role, word in passwords.items()))
        kept = "" if statements is None else f"max_prepared_statements = {statements}\n"
        settings.write_text(
            _TEMPLATE.format(host=host, port=port, own_port=own_port, users=users, pool=pool) + kept
        )
        command = [program, "--quiet", "-u", "nobody", str(settings)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
        try:
            wait_until(lambda: _is_open(own_port), seconds=30, process=process)
            yield own_port, process
        finally:
            process.terminate()
            process.wait()


def _is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
