"""A door in several processes: within one of them Python runs one session at a time.

They share the listening socket and the count of sessions. A request to cancel comes to any of them,
and is handed to all.
"""

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from functools import partial

_LONGEST = 65_536


class Siblings:
    """Processes of one door; to be made before they are forked off."""

    def __init__(self, count: int) -> None:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        self._hearing, self._telling = zip(*pairs, strict=True)

    def tell(self, message: bytes, connection: socket.socket) -> None:
        """Hand a client's message to all of them, and the connection that it came by."""
        for one in self._telling:
            socket.send_fds(one, [message], [connection.fileno()])

    def hear(self, place: int, take: Callable[[bytes, socket.socket], None]) -> None:
        """Have threads take what is told to the process at a place."""

        def hear() -> None:
            while True:
                message, given, _, _ = socket.recv_fds(self._hearing[place], _LONGEST, 1)
                for number in given:
                    asked = message, socket.socket(fileno=number)
                    threading.Thread(target=take, args=asked, daemon=True).start()

        threading.Thread(target=hear, daemon=True).start()


def forked(count: int, serve: Callable[[int], None]) -> set[int]:
    """Run `serve` in so many processes, which end with this one, and return their ids."""
    ended, alive = os.pipe()  # nobody writes: the other end is open while this process lives
    found = {_forked(partial(serve, place), ended, alive) for place in range(count)}
    os.close(ended)
    return found


def wait_for(processes: set[int]) -> bool:
    """Wait until all have ended well, or one has not: then this process is to end, and so they do.

    SIGTERM and SIGINT reach all of them.
    """

    def stop(*_: object) -> None:
        for process in processes:
            os.kill(process, signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    while processes:
        process, status = os.wait()
        processes.discard(process)
        if status:
            return False
    return True


def _forked(serve: Callable[[], None], ended: int, alive: int) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.close(alive)
        threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()
        serve()
        status = 0
    except BaseException:  # which os._exit would not show
        traceback.print_exc()
    finally:
        os._exit(status)


def _end_with_parent(ended: int) -> None:
    os.read(ended, 1)
    os._exit(1)
