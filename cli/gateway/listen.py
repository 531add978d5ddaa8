"""Opening the socket that the gateway listens on."""

import ipaddress
import os
import socket
import stat
from pathlib import Path

from pgblend.cli.errors import UserError

_BACKLOG = 128


def listen_tcp(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket; port 0 takes any free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise UserError(f"--host {host!r} is no address of this machine") from None
    # asyncio turns Nagle's algorithm off only where the protocol is given; with it on, every
    # answer waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UserError(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}",
            hint="choose another --port; 0 takes any free one",
        ) from None
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can reach a socket's address; true for a Unix socket."""
    if listener.family == socket.AF_UNIX:
        return True
    return ipaddress.ip_address(listener.getsockname()[0].split("%")[0]).is_loopback


def listen_unix(path: Path) -> socket.socket:
    """Return a listening Unix socket for owner and group, replacing one that nobody serves."""
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o117)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        # A path over 107 bytes has no errno.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(f"cannot listen on {path}: {reason}") from None
    finally:
        os.umask(mask)
    listener.listen(_BACKLOG)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address as the setting gateway_url takes it."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _remove_stale(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UserError(f"{path} exists and is not a socket", hint="choose another --socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise UserError(f"cannot use {path}: {error.strerror}") from None
    raise UserError(
        f"another process listens on {path}", hint="stop it, or choose another --socket"
    )
