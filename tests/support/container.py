"""Run the database image's entry point as a container would: process 1 of namespaces of its own."""

import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from support.waiting import wait_until

ENTRYPOINT = Path(__file__).resolve().parents[2] / "docker" / "database.sh"
ACCOUNT = "postgres"
PATIENCE_SECONDS = 180
# The tests' Python may lie in a folder that is closed to the account, such as /root.
READS_ALL = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
AS_ACCOUNT = (f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", *READS_ALL, "--")

# A new network namespace has its loopback interface down; SIOCSIFFLAGS brings it up.
_BECOME = """
import fcntl, os, socket, struct, sys
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
os.execvp("setpriv", ["setpriv", *sys.argv[1:]])
"""
_UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "--net", "--ipc")
_UNSHARE += (sys.executable, "-c", _BECOME)


class Container:
    """The entry point with some arguments, on a folder that stands for the volume."""

    def __init__(self, volume: Path, *arguments: str, **variables: str) -> None:
        self._volume = volume
        self.log = volume.parent / f"{volume.name}-{id(self)}.log"
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PGBLEND_DATA_DIR": str(volume),
            "PGBLEND_DATABASE_URL": "postgresql:///",
            "PGHOST": str(self._socket_folder()),
            "PGUSER": "pgblend",
            "PGDATABASE": "pgblend",
            **variables,
        }
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*_UNSHARE, *AS_ACCOUNT, "bash", str(ENTRYPOINT), *arguments],
                env=self._environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        wait_until(lambda: self.process.poll() is not None or self._children())

    def _socket_folder(self) -> Path:
        """Make what the image has as /run/postgresql."""
        folder = self._volume.parent / f"run-{id(self)}"
        folder.mkdir(mode=0o700)
        os.chown(folder, pwd.getpwnam(ACCOUNT).pw_uid, pwd.getpwnam(ACCOUNT).pw_gid)
        return folder

    @property
    def data(self) -> Path:
        """The data folder of the one major version that is there."""
        (found,) = self._volume.glob("[0-9][0-9]/postgres")
        return found

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def first_process(self) -> psutil.Process:
        """What is process 1 within."""
        return self._children()[0]

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def wait_for(self, words: str) -> None:
        """Wait until it has printed these words."""
        wait_until(lambda: words in self.said or self.process.poll() is not None)
        assert words in self.said, self.said

    def wait_until_ready(self) -> None:
        """Wait until the final server, process 1 itself, takes connections."""
        self.wait_for("ready to accept connections")
        assert self.first_process.name() == "postgres"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command within, as `docker exec` does."""
        target = f"--target={self.first_process.pid}"
        return subprocess.run(
            ["nsenter", target, "--all", "setpriv", *AS_ACCOUNT, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal to process 1, as `docker stop` does; return the exit code."""
        os.kill(self.first_process.pid, number)
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        """End every process within at once, as a crash does."""
        if self.process.poll() is None:
            self.first_process.kill()
        self.process.wait(timeout=PATIENCE_SECONDS)
