"""pgbouncer in transaction mode before a server."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from support.waiting import wait_until


def bouncer_program() -> str | None:
    """Return the path of pgbouncer, which Debian has where only root looks; None without it."""
    return shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")


@contextmanager
def bouncer(program: str, url: str, pool: int) -> Iterator[int]:
    """Run pgbouncer before a server, with so many sessions a database; yield its port."""
    at = conninfo_to_dict(url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "users").write_text(f'"{at["user"]}" "{at["password"]}"\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={at['host']} port={at['port']}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {folder / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = {pool}\nmax_client_conn = 200\n"
        )
        command = [program, "-u", "nobody", str(folder / "pgbouncer.ini")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: is_open(port), seconds=30, process=process)
            yield port
        finally:
            process.terminate()
            process.wait()


def is_open(port: int) -> bool:
    """Tell whether somebody listens."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
