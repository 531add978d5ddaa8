"""What programs that pgblend starts are given: no folder of the user's, no variable that misleads.

`tests/contract/test_child_processes.py` finds a start that does without.
"""

import os
import pwd
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

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
