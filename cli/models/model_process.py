"""A process with one model in it: however long a library holds its Python, the gateway goes on."""

import importlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, NamedTuple

from pgblend.cli.base.child_process import (
    FOLDER,
    child_environment,
    python_module,
    read_frame,
    write_frame,
)
from pgblend.cli.models.json_log import places
from pgblend.cli.models.openai_errors import GatewayError

_GRACE_SECONDS = 2


class ModelError(Exception):
    """What went wrong in a model's process: the name of the error's class, and where.

    Its message may quote a text, and reading the error itself may take the library.
    """

    def __init__(self, kind: str, where: list[str]) -> None:
        super().__init__(kind, where)
        self.kind = kind
        self.where = where


class Given(NamedTuple):
    """What a method of a model gives: a value that JSON has, and bytes such as those of vectors."""

    value: Any
    payload: bytes = b""


class ModelProcess:
    """Calls methods of a model in a process of its own, which starts with this object.

    Questions, which somebody waits for, and batches have threads of their own there: no question
    waits behind a batch. The process ends with `close`, or when the gateway is gone.
    """

    def __init__(self, kind: type, name: str, arguments: dict[str, Any], threads: int) -> None:
        self._process = subprocess.Popen(
            python_module(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=FOLDER,
            env=child_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls_out, self._answers = self._process.stdin, self._process.stdout
        self._numbers = itertools.count()
        self._calls: dict[int, Future[Given]] = {}
        # A process that is loading may not read: whoever sends waits in a thread.
        self._sender = ThreadPoolExecutor(1, f"to {name}")
        model = {"module": kind.__module__, "class": kind.__name__, "arguments": arguments}
        self._sender.submit(self._send, model | {"threads": threads})
        threading.Thread(target=self._receive, name=f"from {name}", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def call(self, is_question: bool, method: str, *arguments: object) -> Future[Given]:
        """Return what a method will give: its value, a GatewayError or a ModelError."""
        number, result = next(self._numbers), Future[Given]()
        result.set_running_or_notify_cancel()  # a caller who leaves cancels nothing there
        self._calls[number] = result
        call = {"number": number, "is_question": is_question, "method": method}
        self._sender.submit(self._send, call | {"arguments": arguments})
        return result

    def close(self) -> None:
        """End the process; what runs there has a moment to finish."""
        self._sender.submit(self._end)
        self._sender.shutdown(wait=False)
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _end(self) -> None:
        with suppress(BrokenPipeError):
            self._calls_out.close()

    def _send(self, message: dict[str, Any]) -> None:
        try:
            write_frame(self._calls_out, message)
        except (OSError, ValueError):  # nobody reads, or it was closed
            self._fail(message.get("number"))

    def _receive(self) -> None:
        with self._answers:
            while answer := read_frame(self._answers):
                result = self._calls.pop(answer["number"])
                if "refusal" in answer:
                    result.set_exception(GatewayError(**answer["refusal"]))
                elif "error" in answer:
                    result.set_exception(ModelError(*answer["error"]))
                else:
                    result.set_result(Given(answer["value"], answer.get("payload", b"")))
        self._process.wait()
        for number in list(self._calls):
            self._fail(number)

    def _fail(self, number: int | None) -> None:
        result = self._calls.pop(number, None) if number is not None else None
        if result is not None:
            result.set_exception(ModelError("ProcessEnded", []))


def _serve(calls: IO[bytes], answers: IO[bytes]) -> None:
    """Answer calls until the gateway closes them, or is gone."""
    begin = read_frame(calls)
    if begin is None:
        return
    lock = threading.Lock()
    kind = getattr(importlib.import_module(begin["module"]), begin["class"])
    model = kind(**begin["arguments"])
    lanes = {
        is_question: ThreadPoolExecutor(begin["threads"], "questions" if is_question else "batches")
        for is_question in (True, False)
    }

    def answer(call: dict[str, Any]) -> None:
        outcome, payload = _outcome(model, call["method"], call["arguments"])
        with lock, suppress(OSError):
            write_frame(answers, {"number": call["number"]} | outcome, payload)

    while call := read_frame(calls):
        lanes[call["is_question"]].submit(answer, call)
    for lane in lanes.values():
        lane.shutdown(wait=False, cancel_futures=True)


def _outcome(model: Any, method: str, arguments: list[Any]) -> tuple[dict[str, Any], bytes]:
    """Return a value and its bytes, or an error that the gateway can read without the library."""
    try:
        given: Given = getattr(model, method)(*arguments)
    except GatewayError as error:
        return {"refusal": error.fields()}, b""
    except Exception as error:
        return {"error": [type(error).__name__, places(error.__traceback__)]}, b""
    return {"value": given.value}, given.payload


if __name__ == "__main__":
    # A signal to the whole group is the gateway's: it ends this process when it is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the frames
    _serve(sys.stdin.buffer, answers)
