"""A process that has imported the commands, and forks one that has a session for each call.

    python -m pgblend.cli.operate.prefork_server DATA_FOLDER --ready-file FILE

`pgblend up` starts it for the private server; cli/base/prefork.py calls it. The next process is
made before somebody calls: it waits with a session that has searched. It runs one command and ends.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import click
import psycopg

from pgblend.cli.base.database import connect
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import write_ready_file
from pgblend.cli.base.prefork import (
    COMMANDS,
    interpreter,
    is_fixed,
    is_own,
    ready_sessions,
    socket_path,
)
from pgblend.cli.main import cli
from pgblend.cli.operate.state import database_url

# A session holds tens of megabytes: where nobody calls for so long, it is given back.
IDLE_SECONDS = 900
_CALL_SECONDS = 5
_MOST_FILES = 4  # standard input, output and error, and the folder
_STALE = b"stale"


def main(directory: Path, ready_file: Path) -> None:
    """Keep a process ready until this one is ended, or its modules are no longer those on disk."""
    for name in filter(is_fixed, [*os.environ]):  # a caller that has one runs its command itself
        del os.environ[name]
    for name in sorted(COMMANDS):
        import_module(f"pgblend.cli.commands.{name}")
    modules = _modules()
    path = socket_path(directory)
    if path is None:
        raise SystemExit("there can be no socket in this folder")
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    listener.bind(str(path))
    os.umask(before)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that ran
    write_ready_file(ready_file, "")
    said = b""
    while said != _STALE:
        reader, writer = os.pipe()
        if not os.fork():
            os.close(reader)
            _serve(listener, writer, modules)
        os.close(writer)
        said = os.read(reader, len(_STALE))
        os.close(reader)
    path.unlink(missing_ok=True)


def _modules() -> dict[str, int]:
    """Return the files that were imported, and when each was written."""
    found = {}
    for module in [*sys.modules.values()]:
        if (path := getattr(module, "__file__", None)) and os.path.exists(path):
            found[path] = os.stat(path).st_mtime_ns
    return found


def _is_stale(modules: dict[str, int]) -> bool:
    """Tell whether a module is another one by now: pgblend was installed anew, or edited."""
    try:
        return any(os.stat(path).st_mtime_ns != then for path, then in modules.items())
    except FileNotFoundError:
        return True


def _serve(listener: socket.socket, taken: int, modules: dict[str, int]) -> None:
    """Wait for a call, run its command, and end; close `taken` as soon as there is one."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        try:
            _make_ready(str(database_url()))
        except (
            UserError,
            psycopg.Error,
        ) as error:  # the command will meet it, and say so to its caller
            print(f"no session is ready: {error}", file=sys.stderr, flush=True)
        while True:
            peer = _accepted(listener)
            if _is_stale(modules):
                os.write(taken, _STALE)
                os._exit(0)
            if is_own(peer) and (call := _received(peer)):
                break
            peer.close()
        os.close(taken)
        listener.close()
        code = _run(peer, *call)
        with contextlib.suppress(OSError):  # who called may have gone
            peer.sendall(b"%d\n" % code)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _make_ready(url: str) -> None:
    """Open a session that has searched, and has no settings of its own; `connect` will take it."""
    connection = connect(url)
    connection.execute("SELECT blend.warm()")
    connection.execute("RESET ALL")
    ready_sessions[url] = connection


def _accepted(listener: socket.socket) -> socket.socket:
    """Take the next call; the session is given back where none comes."""
    listener.settimeout(IDLE_SECONDS)
    try:
        return listener.accept()[0]
    except TimeoutError:
        while ready_sessions:
            ready_sessions.popitem()[1].close()
        listener.settimeout(None)
        return listener.accept()[0]


def _received(peer: socket.socket) -> tuple[list[int], dict[str, Any]] | None:
    """Greet a caller, and take what it sends; None where it goes away."""
    files: list[int] = []
    try:
        peer.settimeout(_CALL_SECONDS)
        greeting = {"pid": os.getpid(), "interpreter": interpreter()}
        peer.sendall(json.dumps(greeting).encode() + b"\n")
        _, files, _, _ = socket.recv_fds(peer, 1, _MOST_FILES)
        with peer.makefile("rb") as stream:
            call: dict[str, Any] = json.loads(stream.readline())
        peer.settimeout(None)
    except (OSError, ValueError):
        for file in files:
            os.close(file)
        return None
    return files, call


def _run(peer: socket.socket, files: list[int], call: dict[str, Any]) -> int:
    """Become the caller's process as far as a command sees it, run that, return its exit code."""
    *streams, folder = files
    os.fchdir(folder)
    for target, file in enumerate(streams):
        os.dup2(file, target)
    for file in files:
        os.close(file)
    os.umask(call["umask"])
    os.environ.clear()
    os.environ.update(call["environment"])
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = (
        _opened(file, *how) for file, how in enumerate(call["streams"])
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _end_with(peer)
    try:
        cli.main(call["arguments"], prog_name="pgblend")
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # nobody reads any more
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


def _opened(file: int, encoding: str, errors: str) -> IO[str]:
    """Open a standard stream as Python does."""
    mode = "w" if file else "r"
    buffering = 1 if file == 2 or os.isatty(file) else -1
    return open(file, mode, buffering, encoding=encoding, errors=errors, closefd=False)


def _end_with(peer: socket.socket) -> None:
    """Have the system end this process when the caller's ends: the command was killed there."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(peer, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(peer, fcntl.F_SETFL, fcntl.fcntl(peer, fcntl.F_GETFL) | fcntl.FASYNC)


if __name__ == "__main__":

    @click.command()
    @click.argument("directory", type=click.Path(path_type=Path))
    @click.option("--ready-file", type=click.Path(path_type=Path), required=True)
    def _command(directory: Path, ready_file: Path) -> None:
        main(directory, ready_file)

    _command()
