"""The operating system account that PostgreSQL's programs run as, and running them."""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgblend.cli.child_process import FOLDER, child_environment
from pgblend.cli.errors import UserError

SERVER_ACCOUNT = "postgres"
TIMEOUT_SECONDS = 300
_REPLACE = 'umask 077 && rm -f "$1.new" && cat >"$1.new" && mv -f "$1.new" "$1"'
# PL/Python takes the first python3 on the PATH for its own: the system's, and no environment's.
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"


@dataclass(frozen=True)
class Account:
    """Who runs the server; `name` is None for the account that pgblend itself runs as."""

    name: str | None = None

    @property
    def uid(self) -> int:
        """The account's number."""
        return os.geteuid() if self.name is None else pwd.getpwnam(self.name).pw_uid

    def give(self, descriptor: int) -> None:
        """Make the account the owner of an open file or folder."""
        if self.name is not None:
            entry = pwd.getpwnam(self.name)
            os.fchown(descriptor, entry.pw_uid, entry.pw_gid)

    def write(self, path: Path, text: str) -> None:
        """Write a file that nobody else may read, in place of what is there.

        The account itself does so: over a link in a folder of its own, root would write anywhere.
        """
        self.run(["/bin/sh", "-c", _REPLACE, "sh", path], stdin=text)

    def append(self, path: Path, text: str) -> None:
        """Write to the end of a file, as the account itself."""
        self.run(["/bin/sh", "-c", 'cat >>"$1"', "sh", path], stdin=text)

    def check_can_enter(self, directory: Path) -> None:
        """Refuse a folder that the account cannot reach, naming the folder that is in the way."""
        for folder in (*reversed(directory.parents), directory):
            if not folder.exists():
                return  # about to be made
            if self._call(["test", "-x", str(folder)]).returncode != 0:
                raise UserError(
                    f"the account {self.name} cannot enter {folder}, so it cannot run a server "
                    f"in {directory}",
                    hint=f"choose another folder with --data-dir, or run: chmod a+x {folder}",
                )

    def run(
        self,
        arguments: Sequence[str | Path],
        stdin: str = "",
        hand_on: Sequence[int] = (),
    ) -> str:
        """Run a program and return what it printed; its last words become the error.

        It inherits the file descriptors of `hand_on`.
        """
        result = self._call([str(argument) for argument in arguments], stdin, hand_on)
        if result.returncode != 0:
            lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
            raise UserError(f"{Path(arguments[0]).name} failed: {' '.join(lines[-3:])}")
        return result.stdout

    def _call(
        self, arguments: list[str], stdin: str = "", hand_on: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        entry = pwd.getpwnam(self.name) if self.name is not None else None
        return subprocess.run(
            arguments,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=FOLDER,
            env=_server_environment(entry and entry.pw_dir),
            user=entry and entry.pw_uid,
            group=entry and entry.pw_gid,
            extra_groups=entry and os.getgrouplist(entry.pw_name, entry.pw_gid),
            pass_fds=hand_on,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )


def server_account() -> Account:
    """Choose the account: PostgreSQL refuses root, so root hands over to `postgres`."""
    if os.geteuid() != 0:
        return Account()
    try:
        pwd.getpwnam(SERVER_ACCOUNT)
    except KeyError:
        raise UserError(
            f"PostgreSQL does not run as root and there is no account {SERVER_ACCOUNT!r}",
            hint=f"install PostgreSQL's package, or run: useradd --system {SERVER_ACCOUNT}",
        ) from None
    return Account(SERVER_ACCOUNT)


def _server_environment(home: str | None) -> dict[str, str]:
    """Leave out what would redirect the Python inside the server to the caller's own."""
    environment = child_environment(home=home)
    environment.pop("PYTHONPATH", None)
    return environment | {"LC_ALL": "C.UTF-8", "PATH": SYSTEM_PATH}
