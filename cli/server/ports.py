"""Ports on the loopback address, and a folder for the server's Unix socket."""

import hashlib
import os
import socket
from pathlib import Path

from pgblend.cli.errors import UserError
from pgblend.cli.server.account import Account
from pgblend.cli.server.state import HOST

# sun_path holds 108 bytes on Linux (104 on macOS) with its final zero.
LONGEST_SOCKET_PATH = 103
SOCKET_NAME = ".s.PGSQL.65535"


def is_free(port: int) -> bool:
    """Tell whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """Let the system choose a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def choose_port(wanted: int | None, remembered: int | None) -> int:
    """Take the wanted port or fail, else the remembered one where free, else any."""
    if wanted is not None:
        if not is_free(wanted):
            raise UserError(
                f"port {wanted} is in use by another program",
                hint="name another one with --port, or leave --port out to get a free one",
            )
        return wanted
    return remembered if remembered is not None and is_free(remembered) else free_port()


def socket_directory(directory: Path, account: Account) -> Path:
    """Make the socket's folder: in the data folder, or in /tmp where that path is too long."""
    folder = directory / "socket"
    if len(os.fsencode(folder / SOCKET_NAME)) > LONGEST_SOCKET_PATH:
        digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
        folder = Path("/tmp") / f"pgblend-{digest}"
    make_private(folder, account)
    return folder


def make_private(folder: Path, account: Account) -> None:
    """Make a folder that only the account may enter; refuse one that somebody else put there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    theirs = UserError(
        f"{folder} belongs to another account",
        hint="run it as that account, or choose another folder with --data-dir",
    )
    try:  # what is looked at is what is given away, whatever takes its place meanwhile
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise theirs from None
    try:
        if os.fstat(descriptor).st_uid not in (account.uid, os.geteuid()):
            raise theirs
        account.give(descriptor)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
