"""A connection that never waits: what came is read, what is to be sent waits for its turn."""

import contextlib
import select
import socket
import ssl

_PIECE = 1 << 16  # more than 128 KiB would be mapped anew for each
# So much may wait to be sent before nothing more is read for it.
_MOST_WAITING = 1 << 20
_COMES = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


class Peer:
    """One side of a session: a socket, what it sent, and what is to be sent to it."""

    def __init__(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # a Unix socket has none
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self.socket = connection
        self.received = bytearray()
        self.is_gone = False  # the other side closed it, or it broke
        self._waiting = bytearray()
        self._reads_when_writable = False  # TLS may have to write before it reads

    def takes_more(self) -> bool:
        """Send what waits; say whether so little is left that more may be put."""
        if self._waiting:
            self.flush()
        return len(self._waiting) < _MOST_WAITING

    def put(self, data: bytes | bytearray) -> None:
        """Add what is to be sent by the next flush."""
        self._waiting += data

    def events(self, reads: bool) -> int:
        """Send what waits, and return what to poll for."""
        if self._waiting:
            self.flush()
        writes = self._waiting or self._reads_when_writable
        return (select.POLLIN if reads else 0) | (select.POLLOUT if writes else 0)

    def handle(self, event: int) -> None:
        """Read or send, as the poll says."""
        if event & _COMES or self._reads_when_writable:
            self._receive()
        if event & select.POLLOUT:
            self.flush()

    def flush(self) -> None:
        """Send as much of what waits as the socket takes."""
        while self._waiting and not self.is_gone:
            try:
                sent = self.socket.send(self._waiting)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self.is_gone = True
                return
            del self._waiting[:sent]

    def close(self) -> None:
        """Send what waits if that takes no time, and end the connection."""
        self.flush()
        self.socket.close()

    def _receive(self) -> None:
        self._reads_when_writable = False
        while True:
            try:
                piece = self.socket.recv(_PIECE)
            except ssl.SSLWantWriteError:
                self._reads_when_writable = True
                return
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except OSError:
                piece = b""
            if not piece:
                self.is_gone = True
                return
            self.received += piece
            # Of what TLS has deciphered already no poll tells.
            if not (isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()):
                return


class Waiter:
    """Waits for peers together."""

    def __init__(self, *peers: Peer) -> None:
        self._peers = {peer.socket.fileno(): peer for peer in peers}
        self._events = {number: peer.events(True) for number, peer in self._peers.items()}
        self._poll = select.poll()
        for number, events in self._events.items():
            self._poll.register(number, events)

    def wait(self, *reads: bool) -> None:
        """Wait until one can be read, where its sign says so, or written; read and send there."""
        for (number, peer), is_read in zip(self._peers.items(), reads, strict=True):
            events = peer.events(is_read)
            if peer.is_gone:
                return
            if events != self._events[number]:
                self._events[number] = events
                self._poll.modify(number, events)
        for number, event in self._poll.poll():
            self._peers[number].handle(event)
