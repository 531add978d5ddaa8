"""A door in several processes: within one of them Python runs one session at a time.

They share the listening socket and the count of sessions. Nothing else is shared: a request to
cancel is the server's, whichever of them hands it on.
"""

import os
import signal
import threading
import traceback
from collections.abc import Callable


def forked(count: int, serve: Callable[[], None]) -> set[int]:
    """Run `serve` in so many processes, which end with this one, and return their ids."""
    ended, alive = os.pipe()  # nobody writes: the other end is open while this process lives
    found = {_forked(serve, ended, alive) for _ in range(count)}
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
