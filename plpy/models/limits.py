"""When a session may call the gateway: free places, and rests while it is late."""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from pgblend.plpy.models.outcome import mask_secrets, problem

FOLDER = "pgblend_model_calls"
STEP_MS = 20
_GRACE_SECONDS = 1.0  # to read an answer that came in time
_SLEEP = "SELECT pg_sleep($1)"
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC


def take_place(
    run: Callable[..., Sequence[Any]], request: Mapping[str, Any]
) -> Callable[[], None] | None:
    """Take a place for a call; return what gives it back, None where there is none in time.

    `request` has `places`, the setting model_calls (`most` calls at a time, 0: any number;
    `wait_ms`, how long a call waits, at most `timeout_ms`), `data_directory` and `database`, a
    number. A place is a lock on a file of a folder in there, which is the server's account's alone.
    The end of the process gives it back as well, and the end of timeout_ms. OSError where files
    cannot be made, or are not the account's own.
    """
    places = request["places"]
    if not places["most"]:
        return lambda: None
    waited = 0
    while (file := free_place(request)) is None:
        if waited >= min(places["wait_ms"], request["timeout_ms"]):
            return None
        run(_SLEEP, ["double precision"], STEP_MS / 1000)
        waited += STEP_MS
    return lambda: give_back(file)


def give_back(file: int) -> None:
    """Give a call's place back."""
    try:
        os.truncate(file, 0)
        fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked may have it open still
    finally:
        os.close(file)


def free_place(request: Mapping[str, Any]) -> int | None:
    """Return the first file of a database that no call has locked, locked; None where all are.

    The folder is locked meanwhile, so that a file that is locked says until when it is.
    """
    path = os.path.join(request["data_directory"], FOLDER)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
    try:
        refuse_others(folder, stat.S_ISDIR)
        fcntl.flock(folder, fcntl.LOCK_EX)
        for number in range(int(request["places"]["most"])):
            name = f"{request['database']}.{number}"
            file = lock_file(folder, name)
            if file is not None:
                end = time.monotonic() + request["timeout_ms"] / 1000 + _GRACE_SECONDS
                os.pwrite(file, f"{end:.3f}".encode(), 0)
                return file
    finally:
        os.close(folder)
    return None


def lock_file(folder: int, name: str) -> int | None:
    """Return a file of the folder, locked; None where a call that is not over has it.

    One whose time is over keeps the lock of a file without a name: another takes its place.
    """
    while True:
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | _OPEN, 0o600, dir_fd=folder)
        try:
            refuse_others(file, stat.S_ISREG)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BaseException as error:
            is_over = isinstance(error, BlockingIOError) and is_past(os.pread(file, 32, 0))
            os.close(file)
            if not isinstance(error, BlockingIOError):
                raise
        if not is_over:
            return None
        os.unlink(name, dir_fd=folder)


def is_past(end: bytes) -> bool:
    """Tell whether the time in a file is over; it is of the machine's clock since it started."""
    try:
        return float(end) < time.monotonic()
    except ValueError:  # whoever has it has not said
        return False


def refuse_others(file: int, is_kind: Callable[[int], bool]) -> None:
    """Raise PermissionError unless it is of that kind, and nobody but this account may write it."""
    found = os.fstat(file)
    if not is_kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(1, f"{FOLDER} and what is in it must be the server's account's alone")


LATE_CALLS = 3  # in a row
FIRST_REST_SECONDS = 5.0
LONGEST_REST_SECONDS = 60.0
MOST_KEPT = 32  # addresses


class LateGateway:
    """Decides whether a request is sent, and learns from how it ends.

    `memory` is the session's, by role, address and path: who shares a pooled session tells others
    nothing. It has how many calls in a row were late, and their timeout_ms. It has until when (by
    `clock`, in seconds) the gateway is left alone. That is 5 s after three, twice as long after
    each that is late then, 60 s at most.
    """

    def __init__(
        self,
        memory: MutableMapping[tuple[str, str, str], dict[str, float]],
        request: Mapping[str, Any],
        clock: Callable[[], float],
    ) -> None:
        self.memory, self.clock = memory, clock
        self.key = (request["role"], request["url"], request["path"])
        self.timeout_ms = request["timeout_ms"]

    def rest(self) -> dict[str, str] | None:
        """Return {"problem", "hint"} where the gateway is not to be asked now."""
        known = self.memory.get(self.key)
        # A caller with much more time than those in vain is let through.
        if known is None or self.timeout_ms >= 2 * known["timeout_ms"]:
            return None
        left = known["until"] - self.clock()
        if left <= 0:
            return None
        calls = f"{known['calls']:.0f} times in a row and is left alone for {left:.0f} s"
        named = mask_secrets(self.key[1])
        told = f"the model gateway at {named} gave no answer in time {calls}"
        return problem(told, "Look at its log, or raise the setting timeouts_ms.")

    def learn(self, is_late: bool) -> None:
        """Remember how the call ended; an answer, whatever it says, ends the memory."""
        known = self.memory.pop(self.key, None)
        if not is_late:
            return
        if known is None or self.timeout_ms >= 2 * known["timeout_ms"]:
            known = {"calls": 0, "timeout_ms": self.timeout_ms, "until": 0.0}
        if len(self.memory) >= MOST_KEPT:
            self.memory.clear()
        self.memory[self.key] = known
        if 2 * self.timeout_ms > known["timeout_ms"]:  # one with far less time proves nothing
            known["calls"] += 1
            if known["calls"] >= LATE_CALLS:
                rest = FIRST_REST_SECONDS * 2 ** (known["calls"] - LATE_CALLS)
                known["until"] = self.clock() + min(rest, LONGEST_REST_SECONDS)
