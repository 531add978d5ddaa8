"""The run's parsing processes: started, given tasks, ended, their batches received."""

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.base.child_process import (
    FOLDER,
    FrameBuffer,
    child_environment,
    python_module,
    write_frame,
)
from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.batch import Batch, Position, read_position, write_position
from pgblend.cli.documents.discovery import SourceFile
from pgblend.cli.documents.ingest_report import SourceProblem

# The run's side of a parsing process: start it, talk to it, and tell why it died.

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


class ParserProcess:
    """One parsing process. Waiting for its answers is done in steps, so that it can end."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._memory = int(config["limits"]["memory_bytes"])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._note = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            python_module("pgblend.cli.documents.parser", str(self._note.fileno())),
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


_MOST_DEATHS = 5
_TASK_FILES = 256
_TASK_BYTES = 1 << 20


@dataclass
class Task:
    """Files to read, and the labels of what proved deadly."""

    files: list[SourceFile]
    skip: list[str] = field(default_factory=list)
    deaths: int = 0
    tried_again: bool = False


@dataclass(frozen=True)
class Offer:
    """A document that a parsing process could prepare (see Candidate).

    `file` is the path that its key is made of, "" for one that names itself.
    """

    source_key: str
    label: str
    content_hash: str
    grows: bool = False
    kind: str = ""
    earlier_hashes: Sequence[str] = ()
    file: str = ""
    readers: Sequence[str] | None = None


# A place among the offers, and of a document that grows its stored hash and message ids.
Wanted = tuple[int, tuple[str, list[str]] | None]


@dataclass(frozen=True)
class Handlers:
    """What a lane calls; all of them may be called by several lanes at once.

    `choose` gets the offers and returns which are wanted; `forget` takes that back. `store` gets
    the documents of a batch, `report` problems, `advance` bytes. `describe` gets a picture.
    """

    choose: Callable[[Sequence[Offer]], list[Wanted]]
    forget: Callable[[Sequence[Offer]], None]
    store: Callable[[Batch], None]
    report: Callable[[SourceProblem], None]
    advance: Callable[[int], None]
    describe: Callable[[str], dict[str, Any]]


def make_tasks(files: Sequence[SourceFile]) -> list[Task]:
    """Divide the files so that small ones go together."""
    tasks: list[Task] = []
    size = _TASK_BYTES
    for file in files:
        if size >= _TASK_BYTES or len(tasks[-1].files) >= _TASK_FILES:
            tasks.append(Task([]))
            size = 0
        tasks[-1].files.append(file)
        size += file.size
    return tasks


class Budget:
    """The processor time that a run's files may take together, in several threads."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._lock = threading.Lock()

    def left(self) -> float:
        """Return how many seconds are left, 0 at least."""
        with self._lock:
            return max(self._left, 0.0)

    def spend(self, seconds: float) -> None:
        """Take what was spent."""
        with self._lock:
            self._left -= seconds


class Lane:
    """Runs tasks on a process, and replaces the process when it dies."""

    def __init__(self, config: dict[str, Any], handlers: Handlers, budget: Budget) -> None:
        self._config = config
        self._budget = budget
        self._handlers = handlers
        self._process: ParserProcess | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the process ahead of the first task."""
        if self._process is None and not self._stopped:
            self._process = ParserProcess(self._config)

    def stop(self) -> None:
        """End the process; what it was at is not reported. From any thread."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Let the process end."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def run(self, task: Task) -> None:
        """Read a task's files, whatever becomes of the process in between."""
        while task.files and not self._stopped:
            self.start()
            assert self._process is not None
            attempt = _Attempt(self._process, task, self._handlers, self._budget)
            try:
                attempt.run()
                return
            except WorkerDied as death:
                attempt.abandon()
                position = self._process.position
                self._budget.spend(position.seconds if death.out_of_time else 0.0)
                self.close()
                if self._stopped:
                    return
                if death.killed and not task.tried_again:
                    task.tried_again = True
                    task.files = task.files[attempt.completed :]
                else:
                    self._handlers.report(SourceProblem("failed", position.label, str(death)))
                    _leave_out(task, attempt.completed, position)


class _Attempt:
    """One try at a task with one process."""

    def __init__(
        self, process: ParserProcess, task: Task, handlers: Handlers, budget: Budget
    ) -> None:
        self._process = process
        self._budget = budget
        self._task = task
        self._handlers = handlers
        self._open: list[Offer] = []
        self._batch: Batch | None = None
        self.completed = 0

    def run(self) -> None:
        files = [
            [
                *(str(file.path), file.source_key, file.explicit, file.size, file.modified),
                file.readers,
            ]
            for file in self._task.files
        ]
        self._process.begin(self._task.files[0].label)
        seconds = self._budget.left()
        self._process.send({"files": files, "skip": self._task.skip, "seconds": seconds})
        while not (answer := self._process.receive()).get("done"):
            self._take(answer)
        self._budget.spend(answer["seconds"])

    def abandon(self) -> None:
        """Take back what was wanted of the batch that did not come."""
        self._handlers.forget(self._open)
        if self._batch is not None:
            self._batch.close()

    def _take(self, answer: dict[str, Any]) -> None:
        batch = self._batch
        if "offers" in answer:
            offers = [Offer(*offer) for offer in answer["offers"]]
            wanted = self._handlers.choose(offers)
            self._open = [offers[index] for index, _ in wanted]
            self._batch = Batch(
                [offer.label for offer in offers], [offer.source_key for offer in offers]
            )
            self._process.send({"wanted": wanted})
        elif "describe" in answer:
            self._process.send(self._handlers.describe(answer["describe"]))
        elif "part" in answer and batch is not None:
            if "payload" in answer:
                batch.add(answer["index"], answer["part"], answer["payload"])
            if "chunks" in answer:
                batch.finish(answer["index"], answer["chunks"], answer["tokens"])
                batch.sample(answer["pictures"], answer["sample"])
        elif "dropped" in answer and batch is not None:
            batch.drop(answer["dropped"])
        elif "completed" in answer:
            self.completed = answer["completed"]
            self._open, self._batch = [], None
            if batch is not None:
                self._handlers.store(batch)
            self._handlers.advance(answer["bytes"])
        elif "problem" in answer:
            self._handlers.report(SourceProblem(*answer["problem"]))


def _leave_out(task: Task, completed: int, position: Position) -> None:
    """Go on after what killed the process: the next document, or the next file."""
    guilty = task.files[min(position.place, len(task.files) - 1)]
    rest = task.files[completed:]
    task.deaths += 1
    if position.label == guilty.label or task.deaths >= _MOST_DEATHS:
        rest = [file for file in rest if file is not guilty]
        task.deaths = 0
    else:
        task.skip.append(position.label)
    task.files = rest
