"""The door within this process, for its own connections: a socket that only this account reaches.

So whatever pgblend does in SQL works on a server without PL/Python as it does on others.
"""

import atexit
import socket
import ssl
import threading
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.doors.wire.listener import PostgresDoor, ServerPlace
from pgblend.cli.doors.wire.told import answers_of

_PORT = 5432  # a part of the socket's name
_MOST = 1000  # sessions
_CHECKED = ("verify-ca", "verify-full")
# Between this process and its door nothing crosses a network.
_WITHOUT = frozenset(
    ("hostaddr", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl",
     "sslnegotiation", "target_session_attrs", "load_balance_hosts")
)  # fmt: skip
_open: dict[tuple[str, ...], Path] = {}
_lock = threading.Lock()


def url_nearby(url: str, connection: "psycopg.Connection[Any]") -> str:
    """Return what connects to the server of a connection through this process's own door."""
    given, info = conninfo_to_dict(url), connection.info
    tls = {name: str(given[name]) for name in given if name.startswith("ssl")}
    key = info.host, info.hostaddr, str(info.port), str(connection.pgconn.ssl_in_use), *sorted(tls)
    with _lock:
        if key not in _open:
            context = _context(tls) if connection.pgconn.ssl_in_use else None
            _open[key] = _listen(ServerPlace(info.host or info.hostaddr, info.port, context))
    return _through(url, str(_open[key]))


def url_through_door(url: str, place: str) -> str | None:
    """Return the URL through this process's door, where it is the place that a connection is to."""
    return _through(url, place) if place in map(str, _open.values()) else None


def _through(url: str, folder: str) -> str:
    """Return a URL that leads to the door; an empty address wins over that of PGHOSTADDR."""
    kept = {name: value for name, value in conninfo_to_dict(url).items() if name not in _WITHOUT}
    there: dict[str, Any] = {"host": folder, "hostaddr": "", "port": _PORT}
    return make_conninfo(**kept | there | {"sslmode": "disable", "gssencmode": "disable"})


def _listen(place: ServerPlace) -> Path:
    folder = Path(mkdtemp(prefix="pgblend-"))  # mode 700
    atexit.register(rmtree, folder, ignore_errors=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f".s.PGSQL.{_PORT}"))
    listener.listen()
    door = PostgresDoor(place, None, _MOST, answers_of)
    threading.Thread(target=door.serve, args=(listener,), daemon=True).start()
    return folder


def _context(given: dict[str, str]) -> ssl.SSLContext:
    """Return what checks a server's certificate as libpq does by these parameters."""
    root = given.get("sslrootcert")
    context = ssl.create_default_context(cafile=None if root in (None, "system") else root)
    mode = given.get("sslmode", "prefer")
    context.check_hostname = mode == "verify-full" or root == "system"
    if mode not in _CHECKED and root is None:
        context.verify_mode = ssl.CERT_NONE
    if "sslcert" in given:
        context.load_cert_chain(given["sslcert"], given.get("sslkey"), given.get("sslpassword"))
    return context
