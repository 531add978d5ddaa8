"""A copy of the installed PostgreSQL that finds extensions in a folder of its own.

PostgreSQL finds its folders from where its programs are, so a copy of the programs with a share
folder beside them reads that one. What is in the machine's own folders stays as it is.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgblend.cli.operate.cluster import Cluster
from pgblend.cli.operate.postmaster import FOLDER_VARIABLE, find_binaries
from support.server import temporary_cluster, throwaway_folder


@contextmanager
def relocated_cluster() -> Iterator[Cluster]:
    """A server whose programs, pg_config too, name an extension folder of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="pgblend-test-", dir=throwaway_folder()) as name,
        pytest.MonkeyPatch.context() as environment,
    ):
        root = Path(name)
        root.chmod(0o755)
        folders = {what: _configured(what) for what in ("bindir", "sharedir", "pkglibdir")}
        prefix = Path(os.path.commonpath([str(folder) for folder in folders.values()]))
        ours = {what: root / folder.relative_to(prefix) for what, folder in folders.items()}
        shutil.copytree(folders["bindir"], ours["bindir"])
        ours["pkglibdir"].symlink_to(folders["pkglibdir"])
        ours["sharedir"].mkdir(parents=True)
        for entry in folders["sharedir"].iterdir():
            if entry.name != "extension":
                (ours["sharedir"] / entry.name).symlink_to(entry)
        extensions = ours["sharedir"] / "extension"
        extensions.mkdir()
        for entry in (folders["sharedir"] / "extension").iterdir():
            if not entry.name.startswith("pgblend"):
                (extensions / entry.name).symlink_to(entry)
        environment.setenv(FOLDER_VARIABLE, str(ours["bindir"]))
        with temporary_cluster() as cluster:
            yield cluster


def _configured(what: str) -> Path:
    program = find_binaries()["pg_config"]
    shown = subprocess.run([program, f"--{what}"], capture_output=True, text=True, check=True)
    return Path(shown.stdout.strip())
