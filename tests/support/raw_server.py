"""An HTTP server that answers just as a test says, on TCP or on a unix socket."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

Respond = Callable[[bytes], bytes | None]  # request body -> all bytes of the answer, None: none


def http_answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Return an answer with a right Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class RawServer:
    """Counts the connections it got; `keep_alive=False` closes each after its first answer."""

    def __init__(self, respond: Respond, path: str | None = None, keep_alive: bool = True) -> None:
        self.respond = respond
        self.keep_alive = keep_alive
        self.connections = 0
        self.open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(path or ("127.0.0.1", 0))
        self._listener.listen()
        port = "" if path else self._listener.getsockname()[1]
        self.url = f"unix:{path}" if path else f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()
        self.close_connections()

    def close_connections(self) -> None:
        """Close what is open, as a server does with idle connections."""
        while self.open:
            connection = self.open.pop()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while (body := self._read(stream)) is not None:
                    answer = self.respond(body)
                    if answer is not None:
                        connection.sendall(answer)
                    if not self.keep_alive:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
        except (OSError, ValueError):
            return

    @staticmethod
    def _read(stream: "socket.SocketIO | object") -> bytes | None:
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):  # type: ignore[attr-defined]
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return stream.read(length) if line else None  # type: ignore[attr-defined,no-any-return]
