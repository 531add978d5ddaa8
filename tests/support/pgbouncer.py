"""pgbouncer before a server, in transaction mode: a call may go to another session each time."""

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


def pgbouncer_program() -> str | None:
    """Return where the program is; None where it is not."""
    found = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    return found if Path(found).exists() else None


@contextmanager
def pgbouncer(
    program: str, host: str, port: int | str, passwords: Mapping[str, str], pool: int
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run it with so many sessions for each role and database; yield its port and process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        own_port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pgblend-pgbouncer-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        users, settings = folder / "users", folder / "pgbouncer.ini"
        users.write_text("".join(f'"{role}" "{word}"\n' for role, word in passwords.items()))
        settings.write_text(
            _TEMPLATE.format(host=host, port=port, own_port=own_port, users=users, pool=pool)
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
