"""The places that a server has for model calls, as locks on files that SQL cannot take."""

import fcntl
import os
import stat
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

FOLDER = "pgblend_model_calls"
STEP_MS = 20
_SLEEP = "SELECT pg_sleep($1)"
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC


def model_places(
    run: Callable[..., Sequence[Any]], request: Any, held: MutableMapping[str, int]
) -> Callable[[int], Callable[[], None] | None]:
    """Return take(most_ms), which gives what gives a place back; None where there is none in time.

    `request` has `places`, the setting model_calls (`most` sessions call at a time, 0: any number;
    `wait_ms`, how long a call waits, at most `most_ms`), `data_directory` and `database`, a number.
    A place is a lock on a file of a folder in there, which is the server's account's alone: the
    end of the process gives it back as well. `held` is the session's place, which its calls share.
    OSError where files cannot be made, or are not the account's own.
    """
    places = request["places"]

    def take(most_ms: int) -> Callable[[], None] | None:
        if not places["most"]:
            return lambda: None
        waited = 0
        while not held:
            file = free_place(request["data_directory"], request["database"], int(places["most"]))
            if file is not None:
                held.update(file=file, calls=0)
            elif waited >= min(places["wait_ms"], most_ms):
                return None
            else:
                run(_SLEEP, ["double precision"], STEP_MS / 1000)
                waited += STEP_MS
        held["calls"] += 1
        return give_back

    def give_back() -> None:
        held["calls"] -= 1
        if not held["calls"]:
            file = held["file"]
            held.clear()
            try:
                fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked may have it open still
            finally:
                os.close(file)

    return take


def free_place(data_directory: str, database: str, most: int) -> int | None:
    """Return the first file of a database that nobody has locked, locked; None where all are."""
    path = os.path.join(data_directory, FOLDER)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
    try:
        refuse_others(folder, stat.S_ISDIR)
        for number in range(most):
            name = f"{database}.{number}"
            file = os.open(
                name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | _OPEN, 0o600, dir_fd=folder
            )
            try:
                refuse_others(file, stat.S_ISREG)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            except BaseException:
                os.close(file)
                raise
            else:
                return file
    finally:
        os.close(folder)
    return None


def refuse_others(file: int, is_kind: Callable[[int], bool]) -> None:
    """Raise PermissionError unless it is of that kind, and nobody but this account may write it."""
    found = os.fstat(file)
    if not is_kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(1, f"{FOLDER} and what is in it must be the server's account's alone")
