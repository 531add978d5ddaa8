"""A process with one model in it: however long a library holds its Python, the gateway goes on."""

import itertools
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from pgblend.cli.base.child_process import FOLDER, child_environment, python_module
from pgblend.cli.models.errors import GatewayError
from pgblend.cli.models.json_log import places

_GRACE_SECONDS = 2


class ModelError(Exception):
    """What went wrong in a model's process: the name of the error's class, and where.

    Its message may quote a text, and reading the error itself may take the library.
    """

    def __init__(self, kind: str, where: list[str]) -> None:
        super().__init__(kind, where)
        self.kind = kind
        self.where = where


class ModelProcess:
    """Calls methods of a model's copy in a process of its own, which starts with this object.

    Questions, which somebody waits for, and batches have threads of their own there: no question
    waits behind a batch. The process ends with `close`, or when the gateway is gone.
    """

    def __init__(self, model: Any, threads: int) -> None:
        copied = pickle.dumps((model, threads))
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                python_module(__name__, str(theirs.fileno())),
                cwd=FOLDER,
                env=child_environment(),
                pass_fds=[theirs.fileno()],
            )
        self._numbers = itertools.count()
        self._calls: dict[int, Future[Any]] = {}
        # A process that is loading may not read: whoever sends waits in a thread.
        self._sender = ThreadPoolExecutor(1, f"to {model.name}")
        self._sender.submit(self._connection.send_bytes, copied)
        threading.Thread(target=self._receive, name=f"from {model.name}", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def call(self, is_question: bool, method: str, *arguments: object) -> Future[Any]:
        """Return what a method will give: its value, a GatewayError or a ModelError."""
        number, result = next(self._numbers), Future[Any]()
        result.set_running_or_notify_cancel()  # a caller who leaves cancels nothing there
        self._calls[number] = result
        self._sender.submit(self._send, number, is_question, method, arguments)
        return result

    def close(self) -> None:
        """End the process; what runs there has a moment to finish."""
        self._sender.submit(self._connection.send, None)
        self._sender.shutdown(wait=False)
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, number: int, *call: object) -> None:
        try:
            self._connection.send((number, *call))
        except OSError:
            self._fail(number)

    def _receive(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                number, error, value = self._connection.recv()
                result = self._calls.pop(number)
                if error is None:
                    result.set_result(value)
                else:
                    result.set_exception(error)
        self._process.wait()
        for number in list(self._calls):
            self._fail(number)

    def _fail(self, number: int) -> None:
        result = self._calls.pop(number, None)
        if result is not None:
            result.set_exception(ModelError("ProcessEnded", []))


def _serve(connection: Connection) -> None:
    """Answer calls until the gateway says None, or is gone."""
    lock = threading.Lock()
    with suppress(EOFError, OSError):
        model, threads = connection.recv()
        lanes = {
            is_question: ThreadPoolExecutor(threads, "questions" if is_question else "batches")
            for is_question in (True, False)
        }

        def answer(number: int, method: str, arguments: tuple[object, ...]) -> None:
            error, value = _outcome(model, method, arguments)
            with lock, suppress(OSError):
                connection.send((number, error, value))

        while call := connection.recv():
            number, is_question, method, arguments = call
            lanes[is_question].submit(answer, number, method, arguments)
        for lane in lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)


def _outcome(model: Any, method: str, arguments: tuple[object, ...]) -> tuple[Any, Any]:
    """Return an error that the gateway can read without the library, or None, and the value."""
    try:
        return None, getattr(model, method)(*arguments)
    except GatewayError as error:
        return error, None
    except Exception as error:
        return ModelError(type(error).__name__, places(error.__traceback__)), None


if __name__ == "__main__":
    # A signal to the whole group is the gateway's: it ends this process when it is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # As the gateway knows it: what is defined here is sent to it by name.

    _serve(Connection(int(sys.argv[1])))
