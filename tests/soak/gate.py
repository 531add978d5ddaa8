"""A gate that all actions pass, and that closes for a check of everything."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Many are inside at once, or one that closed it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Wait until it is open, and be inside."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let nobody in, wait until all are out, and open it at the end."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
