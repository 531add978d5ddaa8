"""Hand a command to the process that `pgblend up` keeps ready, and that has a session.

The process is cli/operate/prefork_server.py. It takes the caller's arguments, variables, folder and
open files. Both sides are the same account: a command there may do what it may do here.
"""

import json
import locale
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgblend.cli.base.errors import ExitCode
from pgblend.cli.operate.state import data_directory

if TYPE_CHECKING:
    from psycopg import Connection

# What people and agents call again and again, and that waits for no input.
COMMANDS = frozenset(
    ("query", "search", "vsearch", "facets", "graph", "diagnose", "ask", "context")
)
_FIXED = ("PG", "PYTHON")
_HARMLESS = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")  # usual in containers
_OURS, _DATABASE = "PGBLEND_", "PGBLEND_DATABASE_URL"
# Who keeps processes ready is making the next one now: in most of this time it has.
_WAIT_SECONDS = 0.5
_LONGEST_PATH = 103  # bytes of a Unix socket's path on every system
_PEER = struct.Struct("3i")  # pid, uid, gid


def socket_path(directory: Path) -> Path | None:
    """Return where a data folder's process listens; None where there can be none."""
    path = directory / "commands.sock"
    can_be = hasattr(socket, "SO_PEERCRED") and len(os.fsencode(path)) <= _LONGEST_PATH
    return path if can_be else None


def is_own(peer: socket.socket) -> bool:
    """Tell whether the other side of a Unix socket is this account."""
    told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return bool(_PEER.unpack(told)[1] == os.geteuid())


def is_fixed(name: str) -> bool:
    """Tell whether a process or its session has read a variable when it was made."""
    return name.startswith(_FIXED) and not name.startswith((_OURS, *_HARMLESS))


def interpreter() -> list[str]:
    """Return what both sides have in common: Python, its environment, pgblend and encodings."""
    encodings = sys.getfilesystemencoding(), locale.getpreferredencoding(False)
    return [sys.version, sys.prefix, str(Path(__file__).parents[1]), *encodings]


def hand_on(arguments: list[str]) -> int | None:
    """Run a command in the process that is ready; return its exit code.

    None: it is to run here, for there is no such process, or it would not be the same.
    """
    if not arguments or arguments[0] not in COMMANDS or sys.warnoptions or sys._xoptions:
        return None
    if None in (sys.stdin, sys.stdout, sys.stderr) or any(map(is_fixed, os.environ)):
        return None
    if os.environ.get(_DATABASE) or (path := socket_path(data_directory())) is None:
        return None
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.settimeout(_WAIT_SECONDS)
            peer.connect(str(path))
            greeting = json.loads(_line(peer)) if is_own(peer) else {}
            if greeting.get("interpreter") != interpreter():
                return None
            _send(peer, arguments)
        except (OSError, ValueError):
            return None
        peer.settimeout(None)
        return _exit_code(peer, greeting["pid"])


def _send(peer: socket.socket, arguments: list[str]) -> None:
    """Send the open files and the folder, then all else that a process has of its caller."""
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        files = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]
        socket.send_fds(peer, [b"\n"], [*files, folder])
    finally:
        os.close(folder)
    umask = os.umask(0o77)
    os.umask(umask)
    streams = [(one.encoding, one.errors) for one in (sys.stdin, sys.stdout, sys.stderr)]
    call = {
        "arguments": arguments,
        "environment": dict(os.environ),
        "umask": umask,
        "streams": streams,
    }
    peer.sendall(json.dumps(call).encode() + b"\n")


def _exit_code(peer: socket.socket, pid: int) -> int:
    """Wait for the command's end; who interrupts it here interrupts it there."""
    while True:
        try:
            told = _line(peer)
        except KeyboardInterrupt:
            os.kill(pid, signal.SIGINT)
            continue
        if not told:
            click.echo("pgblend: error: the process that ran it was ended: run it again", err=True)
            return ExitCode.ERROR
        return int(told)


def _line(peer: socket.socket) -> bytes:
    """Read up to the end of a line; what there is where the other side has ended."""
    read = b""
    while not read.endswith(b"\n"):
        more = peer.recv(65536)
        if not more:
            break
        read += more
    return read


# Sessions that have searched before their command was called, by the URL of their database.
ready_sessions: dict[str, "Connection[Any]"] = {}


def taken_session(url: str) -> "Connection[Any] | None":
    """Return the session that waits for a command; None where there is none, or none any more."""
    if (connection := ready_sessions.pop(url, None)) is None:
        return None
    from psycopg import OperationalError  # `hand_on` goes without: it takes a tenth of a second

    try:
        connection.execute("SELECT")
    except OperationalError:
        return None
    return connection
