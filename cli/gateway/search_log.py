"""Where searches are told of: datagrams from the database, rows for the search log."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pgblend.cli.errors import UserError
from pgblend.cli.gateway.metrics import Metrics
from pgblend.cli.gateway.search_record import log_fields, read_search

LOG_SUFFIX = ".log"
_RECEIVE_BYTES = 4 * 1024 * 1024  # some hundred searches between two turns of the loop
_log = logging.getLogger(__name__)


def open_log_socket(listener: socket.socket) -> socket.socket:
    """Return the datagram socket beside a listening one: the same port, or the path + `.log`."""
    if listener.family == socket.AF_UNIX:
        return _open_unix(Path(f"{listener.getsockname()}{LOG_SUFFIX}"))
    receiver = socket.socket(listener.family, socket.SOCK_DGRAM)
    try:
        receiver.bind(listener.getsockname())
    except OSError as error:
        receiver.close()
        host, port = listener.getsockname()[:2]
        reason = os.strerror(error.errno or 0)
        raise UserError(
            f"cannot receive the search log on UDP {host}:{port}: {reason}",
            hint="choose another --port",
        ) from None
    return receiver


def _open_unix(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)  # the listening socket beside it is ours: so was this one
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mask = os.umask(0o117)
    try:
        receiver.bind(str(path))
    except OSError as error:
        receiver.close()
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(f"cannot receive the search log on {path}: {reason}") from None
    finally:
        os.umask(mask)
    return receiver


class SearchLog(asyncio.DatagramProtocol):
    """Takes each datagram that is well formed; counts and drops the others."""

    def __init__(
        self, keep: Callable[[dict[str, Any]], None], metrics: Metrics, token: str | None
    ) -> None:
        self._keep = keep
        self._metrics = metrics
        self._token = token

    @classmethod
    async def listen(
        cls,
        receiver: socket.socket,
        keep: Callable[[dict[str, Any]], None],
        metrics: Metrics,
        token: str | None,
    ) -> asyncio.DatagramTransport:
        """Receive on a socket until the transport is closed."""
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        receiver.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: cls(keep, metrics, token), sock=receiver
        )
        return transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        """Take one search."""
        try:
            row = read_search(data, self._token)
        except ValueError:
            self._metrics.count_datagram("malformed")
            return
        self._metrics.count_datagram("accepted")
        self._keep(row)
        _log.info("search", extra={"fields": log_fields(row)})
