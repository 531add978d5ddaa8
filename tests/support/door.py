"""Doors of SQL clients for tests: one in this process, one in its own."""

import json
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.doors.wire.listener import PostgresDoor, ServerPlace
from pgblend.cli.doors.wire.told import answers_of
from support.waiting import wait_until


@contextmanager
def door_to(
    url: str, server_tls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """A door to a database's server, in this process; yield the database's URL through it."""
    given = conninfo_to_dict(url)
    place = ServerPlace(str(given["host"]), int(given["port"] or 0), server_tls)
    door = PostgresDoor(place, tls, 10, answers_of)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=door.serve, args=(listener,), daemon=True).start()
        yield make_conninfo(url, host="127.0.0.1", port=listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
    door.close(0)


@contextmanager
def counted(url: str) -> Iterator[tuple[str, list[int]]]:
    """A relay to a database's server; yield the URL through it, and trips, the one element.

    A trip begins with what is sent there after something came from there.
    """
    given, trips = conninfo_to_dict(url), [0]

    def relay() -> None:
        one, _ = listener.accept()
        with one, socket.create_connection((str(given["host"]), int(given["port"] or 0))) as other:
            last = other
            while True:
                for ready in select.select([one, other], [], [])[0]:
                    data = ready.recv(1 << 20)
                    if not data:
                        return
                    trips[0] += ready is one and last is other
                    last = ready
                    (other if ready is one else one).sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=relay, daemon=True).start()
        yield make_conninfo(url, host="127.0.0.1", port=listener.getsockname()[1]), trips


@contextmanager
def door_process(url: str, *options: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """`pgblend door` to a database's server; yield the URL through it, and the process."""
    given = conninfo_to_dict(url)
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready"
        places = ("--server", f"{given['host']}:{given['port']}", "--listen", "127.0.0.1:0")
        command = [sys.executable, "-m", "pgblend.cli.main", "door", *places, *options]
        command += ["--server-tls", "off", "--ready-file", str(ready)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(ready.exists, process=process)
                port = json.loads(ready.read_text())["url"].rpartition(":")[2]
                yield make_conninfo(url, host="127.0.0.1", port=port), process
            finally:
                process.kill()


def resident(process: "subprocess.Popen[bytes]") -> int:
    """Return the bytes of memory of a door and its processes; what they share counts for each."""
    door = psutil.Process(process.pid)
    return sum(one.memory_info().rss for one in (door, *door.children()))
