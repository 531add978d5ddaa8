"""Places for model calls: locks on files, which a session shares among its calls."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pgblend.plpy.models.gateway import GatewayCall
from pgblend.plpy.models.limits import FOLDER, STEP_MS, take_place
from support.fake_database import FakeDatabase

# Locks the first place, forks a child that outlives the lock, says so, and waits to be ended.
HOLDER = """
import os, sys, time
from pgblend.plpy.models.limits import take_place
places = {"places": {"most": 2, "wait_ms": 0}, "timeout_ms": 60_000}
request = {**places, "data_directory": sys.argv[1], "database": "5"}
give_back = take_place(None, request)
if sys.argv[2] == "given back":
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    give_back()
print("ready", flush=True)
time.sleep(60)
"""


class Session:
    """What a session would do about places; `slept_ms` is how long it waited."""

    def __init__(self, folder: Path, most: int = 2, wait_ms: int = 0, database: str = "5") -> None:
        self.slept_ms = 0.0
        self.db = FakeDatabase({"pg_sleep": self.sleep})
        self.request = {
            "url": "http://nowhere",
            "path": "/",
            "timeout_ms": 20,
            "most_bytes": 1000,
            "places": {"most": most, "wait_ms": wait_ms},
            "data_directory": str(folder),
            "database": database,
            "role": "reader",
        }

    def take(self, timeout_ms: int) -> Callable[[], None] | None:
        """Take a place for a call that may last so long."""
        request = self.request | {"timeout_ms": timeout_ms}
        return take_place(self.db.run, request)

    def sleep(self, seconds: float) -> list[Any]:
        """Sleep, as the server would."""
        self.slept_ms += seconds * 1000
        return []

    def problem(self) -> str:
        """Return what a call that is refused says."""
        call = GatewayCall(self.db, self.request)
        return str(call.answer()["problem"])


def test_each_call_has_a_place_of_its_own(tmp_path: Path) -> None:
    first, second, third = (Session(tmp_path) for _ in range(3))
    one, two = first.take(60_000), second.take(60_000)
    assert one is not None
    assert two is not None
    assert third.take(60_000) is None
    assert third.problem() == "the server has no place left for a model call: 2 run already"
    assert Session(tmp_path, database="6").take(60_000) is not None  # another database has its own
    one()
    assert third.take(60_000) is not None
    assert first.take(60_000) is None
    two()
    assert sorted(os.listdir(tmp_path / FOLDER)) == ["5.0", "5.1", "6.0"]


def test_calls_are_counted_and_not_sessions(tmp_path: Path) -> None:
    session = Session(tmp_path, most=3)
    taken = [session.take(60_000) for _ in range(5)]
    assert [place is not None for place in taken] == [True, True, True, False, False]
    taken[1]()  # type: ignore[misc]
    assert session.take(60_000) is not None
    assert session.take(60_000) is None


def test_a_call_past_its_deadline_gives_its_place_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its session does meanwhile: it may be idle, with the call in its memory."""
    first, second = (Session(tmp_path, most=1) for _ in range(2))
    over = first.take(2000)
    assert over is not None
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2.9)
    assert second.take(2000) is None
    monkeypatch.setattr(time, "monotonic", lambda: now + 4)
    place = second.take(2000)
    assert place is not None
    over()  # the file it had is nobody's
    assert first.take(2000) is None
    place()
    assert first.take(2000) is not None
    assert os.listdir(tmp_path / FOLDER) == ["5.0"]


def test_who_finds_none_waits(tmp_path: Path) -> None:
    Session(tmp_path, most=1).take(60_000)
    late = Session(tmp_path, most=1, wait_ms=40)
    assert late.take(1000) is None
    assert late.slept_ms == 40
    assert late.take(STEP_MS) is None
    assert late.slept_ms == 40 + STEP_MS


def test_any_number_needs_no_folder(tmp_path: Path) -> None:
    give_back = Session(tmp_path, most=0).take(0)
    assert give_back is not None
    give_back()
    assert os.listdir(tmp_path) == []


def start(folder: Path, what: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), what], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_kill_9_frees_a_place(tmp_path: Path) -> None:
    process = start(tmp_path, "held")
    session = Session(tmp_path, most=1)
    assert session.take(60_000) is None
    process.kill()
    process.wait()
    assert session.take(60_000) is not None


def test_a_forked_child_keeps_no_place(tmp_path: Path) -> None:
    process = start(tmp_path, "given back")
    try:
        assert Session(tmp_path, most=1).take(60_000) is not None
    finally:
        process.kill()
        process.wait()


def test_a_program_that_is_started_has_no_place_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    Session(tmp_path).take(60_000)
    (file,) = (
        int(each) for each in os.listdir("/proc/self/fd") if each not in before and _is(each)
    )
    assert not os.get_inheritable(file)


def _is(file: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{file}").endswith(f"{FOLDER}/5.0")
    except FileNotFoundError:  # of the listing itself
        return False


def link_folder(folder: Path) -> None:
    """Somebody else's folder."""
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / FOLDER).symlink_to(folder / "elsewhere")


def open_folder(folder: Path) -> None:
    """A folder that others may write to."""
    (folder / FOLDER).mkdir()
    (folder / FOLDER).chmod(0o777)


def link_file(folder: Path) -> None:
    """A file that leads elsewhere."""
    (folder / FOLDER).mkdir(mode=0o700)
    (folder / FOLDER / "5.0").symlink_to(folder / "elsewhere")


def pipe(folder: Path) -> None:
    """A file that would wait for a reader."""
    (folder / FOLDER).mkdir(mode=0o700)
    os.mkfifo(folder / FOLDER / "5.0", 0o600)


def file(folder: Path) -> None:
    """No folder at all; so a full disk, or one that is read only, is an OSError as well."""
    (folder / FOLDER).touch()


@pytest.mark.parametrize("make", [link_folder, open_folder, link_file, pipe, file])
def test_what_is_not_the_accounts_own_is_refused(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    before = set(os.listdir("/proc/self/fd"))
    problem = Session(tmp_path).problem()
    assert problem.startswith("the server cannot count its model calls: ")
    assert str(tmp_path) not in problem
    assert set(os.listdir("/proc/self/fd")) == before
    assert not (tmp_path / "elsewhere" / "5.0").exists()
