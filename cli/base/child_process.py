"""Processes that pgblend starts: what they are given, and the messages they exchange.

They get no folder of the user's and no variable that misleads. A message is a JSON object, and
bytes with it. Nothing is unpickled: who speaks may have read a hostile file.
`tests/contract/test_child_processes.py` finds a start that does without.
"""

import json
import os
import pwd
import re
import shutil
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

_LENGTHS = struct.Struct(">II")
# json.dumps would make an encoder each time.
encode_json = json.JSONEncoder(ensure_ascii=False).encode


def write_frame(
    stream: IO[bytes], message: dict[str, Any], payload: bytes = b"", flush: bool = True
) -> None:
    """Write one message, and with it bytes that nobody but the last reader looks into."""
    data = encode_json(message).encode("utf-8", "surrogatepass")
    stream.write(_LENGTHS.pack(len(data), len(payload)) + data + payload)
    if flush:
        stream.flush()


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream, also in the middle of a message.

    Bytes that came with it are its "payload".
    """
    head = stream.read(_LENGTHS.size)
    if len(head) < _LENGTHS.size:
        return None
    length, payload_length = _LENGTHS.unpack(head)
    data = stream.read(length + payload_length)
    return _message(data, length) if len(data) == length + payload_length else None


class FrameBuffer:
    """Puts messages together from what has come of them."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Add what came next."""
        self._data += data

    def take(self) -> dict[str, Any] | None:
        """Return the first message and let it go; None where not all of it is there."""
        if len(self._data) < _LENGTHS.size:
            return None
        length, payload_length = _LENGTHS.unpack_from(self._data)
        end = _LENGTHS.size + length + payload_length
        if len(self._data) < end:
            return None
        data = bytes(self._data[_LENGTHS.size : end])
        del self._data[:end]
        return _message(data, length)


def _message(data: bytes, length: int) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(data[:length])
    if len(data) > length:
        message["payload"] = data[length:]
    return message


# Nobody but root puts a module, a library or a configuration there.
FOLDER = "/"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL")
# Languages, folders of one's own, threads and cards, and what measures coverage.
_KEPT = re.compile(
    r"LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|USER|LOGNAME|LD_LIBRARY_PATH|TESSDATA_PREFIX"
    r"|(OMP|MKL|OPENBLAS|TORCH|HF|TRANSFORMERS|CUDA|NVIDIA|COV|COVERAGE)_\w+|XDG_\w+_HOME"
)


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of pgblend: `-P` keeps the folder it is in out."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(
    more: Mapping[str, str] | None = None, *, home: str | None = None
) -> dict[str, str]:
    """Return the variables of a child: a few of ours, its home, and `more`.

    Keys and passwords are none of them, nor what tells libpq where to connect.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if _KEPT.fullmatch(name) and not _SECRET.search(name)
    }
    return kept | _own_places(home) | dict(more or {})


def service_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a service of ours: it needs the keys that are here, and libpq's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | _own_places(None) | dict(more)


def find_program(name: str) -> Path | None:
    """Return where a program is, as `which` does; in no folder that depends on where we are."""
    found = shutil.which(name, path=search_path())
    return Path(found) if found else None


def search_path() -> str:
    """Return PATH without entries that mean the folder one is in, or a folder below it."""
    return _absolute(os.environ.get("PATH", os.defpath))


def _own_places(home: str | None) -> dict[str, str]:
    """Return PATH, HOME and PYTHONPATH without what depends on the folder that one is in."""
    given = home or os.environ.get("HOME", "")
    is_place = os.path.isabs(given)
    places = {"PATH": search_path(), "HOME": given if is_place else _home_of_account()}
    modules = _absolute(os.environ.get("PYTHONPATH", ""))
    return places | ({"PYTHONPATH": modules} if modules else {})


def _home_of_account() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # an account of a container without a name
        return FOLDER


def _absolute(places: str) -> str:
    return os.pathsep.join(filter(os.path.isabs, places.split(os.pathsep)))
