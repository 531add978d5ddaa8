"""The run's side of a parsing process: start it, talk to it, and tell why it died."""

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any

from pgblend.cli.child_process import FOLDER, child_environment, python_module
from pgblend.cli.errors import UserError
from pgblend.cli.ingest.frames import FrameBuffer, write_frame
from pgblend.cli.ingest.position import Position, read_position, write_position

# Waiting counts here too (a slow disk, other processes), so it is more than the processor's time.
_WALL_FACTOR = 5
_WALL_SECONDS = 60.0
_LAST_WORDS_BYTES = 64 << 10
# What Python, Rust and C++ say before they end.
_OUT_OF_MEMORY = ("MemoryError", "memory allocation of", "bad_alloc")
_EXIT_SECONDS = 5.0
_STEP_MILLISECONDS = 200
_READ_BYTES = 1 << 20


class WorkerDied(Exception):
    """The process ended, or was ended; the message says why in a few words.

    `killed` when somebody else did it: a second try may end well. `out_of_time` when it took all
    the processor time of a file.
    """

    def __init__(self, reason: str, killed: bool = False, out_of_time: bool = False) -> None:
        super().__init__(reason)
        self.killed = killed
        self.out_of_time = out_of_time


class WorkerProcess:
    """One parsing process. Waiting for its answers is done in steps, so that it can end."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._memory = int(config["limits"]["memory_bytes"])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._note = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            python_module("pgblend.cli.ingest.worker", str(self._note.fileno())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=FOLDER,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is the run's business
            pass_fds=[self._note.fileno()],
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._output = self._process.stdout
        self._answers = FrameBuffer()
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)
        self._closing = threading.Event()
        self.begin("")
        self.send(config)

    @property
    def position(self) -> Position:
        """What the process is at."""
        return read_position(self._note.fileno())

    def begin(self, label: str) -> None:
        """Say what the process is at while it has not begun."""
        write_position(self._note.fileno(), 0, label, 0.0)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; WorkerDied where nobody reads it."""
        try:
            write_frame(self._requests, message)
        except (BrokenPipeError, ValueError):
            raise self._death() from None

    def receive(self) -> dict[str, Any]:
        """Return the next answer; WorkerDied where there is none in time."""
        position, end = None, 0.0
        while (answer := self._take()) is None:
            if self._poll.poll(_STEP_MILLISECONDS):
                self._read_more()
            elif self._closing.is_set():
                raise WorkerDied("the run was ended")
            elif position != (position := self.position):
                patience = _WALL_SECONDS + _WALL_FACTOR * position.seconds
                end = time.monotonic() + patience
            elif time.monotonic() > end:
                self.kill()
                raise WorkerDied(f"reading it did not end within {patience:,.0f} s")
        return answer

    def _take(self) -> dict[str, Any] | None:
        try:
            return self._answers.take()
        except ValueError:  # no frame: only a broken process writes such
            self._output.close()
            raise self._death() from None

    def _read_more(self) -> None:
        data = os.read(self._output.fileno(), _READ_BYTES)
        if not data:
            raise self._death()
        self._answers.add(data)

    def kill(self) -> None:
        """End the process at once."""
        self._closing.set()
        with suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """Let the process end by itself, or end it."""
        self._closing.set()
        with suppress(BrokenPipeError):
            self._requests.close()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
        self._errors.close()
        self._note.close()

    def _death(self) -> WorkerDied:
        """Say why the process ended; a process that cannot even start is an error of the run."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return WorkerDied("its parser made no sense and was ended")
        if code == -signal.SIGXCPU:
            seconds = self.position.seconds
            told = f"reading it takes more than {seconds:,.0f} s of processor time"
            return WorkerDied(told, out_of_time=True)
        if code == -signal.SIGKILL:
            reason = "its parser was killed, as happens where memory runs out"
            return WorkerDied(reason, killed=True)
        said = self._last_words()
        if any(words in said for words in _OUT_OF_MEMORY):
            return WorkerDied(f"reading it takes more than {self._memory >> 20:,} MB of memory")
        if code < 0:
            return WorkerDied(f"its parser crashed ({signal.Signals(-code).name})")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        last = lines[-1] if lines else "no message"
        raise UserError(f"the parsing process ended with code {code}: {last}")

    def _last_words(self) -> str:
        """Return the end of what the process wrote on standard error."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(self._errors.tell() - _LAST_WORDS_BYTES, 0))
        return self._errors.read().decode(errors="replace")
