"""Running an application: announce it once it answers, clean up when it ends."""

import asyncio
import ipaddress
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import write_ready_file
from pgblend.cli.models.search_log import LOG_SUFFIX

# Opening the socket that the gateway listens on.

_BACKLOG = 128


def listen_tcp(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket; port 0 takes any free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise UserError(f"--host {host!r} is no address of this machine") from None
    # asyncio turns Nagle's algorithm off only where the protocol is given. With it on, every answer
    # waits 40 ms for the client's delayed acknowledgement.
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


_LAST_WORD = (b"connection", b"close")
_DRAIN_STEP_SECONDS = 0.02


@dataclass(frozen=True)
class Service:
    """What is served, and how it ends."""

    name: str = "gateway"  # of its command
    grace_seconds: int = 5  # that running calls have to end
    drain_seconds: float = 0  # that open connections have before, to send what is on its way
    certificate: Path | None = None  # PEM files: TLS, where both are given
    key: Path | None = None

    def url(self, listener: socket.socket) -> str:
        """Return the address that callers use."""
        url = url_of(listener)
        return url.replace("http:", "https:", 1) if self.certificate else url


class _Server(uvicorn.Server):
    """Tells who waits for it that it accepts connections, and its callers that it ends."""

    def __init__(
        self, config: uvicorn.Config, service: Service, url: str, ready_file: Path | None
    ) -> None:
        super().__init__(config)
        self._service = service
        self._url = url
        self._ready_file = ready_file

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, then announce it."""
        await super().startup(sockets=sockets)
        if self.should_exit:
            return
        click.echo(f"pgblend {self._service.name} listening on {self._url}", err=True)
        if self._ready_file:
            write_ready_file(self._ready_file, self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections; answer what those that are open still send, then close."""
        for server in self.servers:
            server.close()
        last_headers = [*self.server_state.default_headers, _LAST_WORD]
        self.server_state.default_headers = last_headers
        for connection in self.server_state.connections:
            if isinstance(connection, HttpToolsProtocol) and connection.cycle:  # a call that runs
                connection.cycle.default_headers = last_headers
        end = self._service.drain_seconds
        while end > 0 and self.server_state.connections and not self.force_exit:
            await asyncio.sleep(_DRAIN_STEP_SECONDS)
            end -= _DRAIN_STEP_SECONDS
        await super().shutdown(sockets)


def serve(
    app: Starlette,
    listener: socket.socket,
    ready_file: Path | None,
    protocol: type[asyncio.Protocol],
    service: Service,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish running calls within a grace period."""
    if ready_file and not os.access(ready_file.parent, os.W_OK):
        raise UserError(f"cannot write --ready-file {ready_file}", hint="name a writable folder")
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        log_config=None,  # see json_log
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=service.grace_seconds,
        ssl_certfile=service.certificate,
        ssl_keyfile=service.key,
    )
    path = _socket_path(listener)
    log_path = path.with_name(f"{path.name}{LOG_SUFFIX}") if path else None
    with _removed_at_end(ready_file), _removed_at_end(path), _removed_at_end(log_path):
        server = _Server(config, service, service.url(listener), ready_file)
        # uvicorn raises the signal again after a graceful end, when this handler is back in force.
        # Without it that would kill. Before uvicorn's own handler is there, it ends the start.
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[listener])


def _socket_path(listener: socket.socket) -> Path | None:
    return Path(listener.getsockname()) if listener.family == socket.AF_UNIX else None


@contextmanager
def _removed_at_end(path: Path | None) -> Iterator[None]:
    try:
        yield
    finally:
        if path:
            path.unlink(missing_ok=True)
