"""One parsing process and the run's dealings with it: tasks in, batches of documents out."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.ingest.position import Position
from pgblend.cli.ingest.report import Problem
from pgblend.cli.ingest.source_file import SourceFile
from pgblend.cli.ingest.spool import Batch
from pgblend.cli.ingest.worker_process import WorkerDied, WorkerProcess

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
    report: Callable[[Problem], None]
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
        self._process: WorkerProcess | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the process ahead of the first task."""
        if self._process is None and not self._stopped:
            self._process = WorkerProcess(self._config)

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
                    self._handlers.report(Problem("failed", position.label, str(death)))
                    _leave_out(task, attempt.completed, position)


class _Attempt:
    """One try at a task with one process."""

    def __init__(
        self, process: WorkerProcess, task: Task, handlers: Handlers, budget: Budget
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
            [str(file.path), file.source_key, file.explicit, file.size, file.modified]
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
            self._handlers.report(Problem(*answer["problem"]))


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
