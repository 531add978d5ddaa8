"""The account that PostgreSQL's programs run as, its ports, and the gateway's token."""

import hashlib
import json
import os
import pwd
import secrets
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgblend.cli.base.child_process import FOLDER, child_environment
from pgblend.cli.base.errors import UserError
from pgblend.cli.operate.state import HOST, data_directory

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


# Ports on the loopback address, and a folder for the server's Unix socket.

# sun_path holds 108 bytes on Linux (104 on macOS) with its final zero.
LONGEST_SOCKET_PATH = 103
SOCKET_NAME = ".s.PGSQL.65535"


def is_free(port: int) -> bool:
    """Tell whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """Let the system choose a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def choose_port(wanted: int | None, remembered: int | None) -> int:
    """Take the wanted port or fail, else the remembered one where free, else any."""
    if wanted is not None:
        if not is_free(wanted):
            raise UserError(
                f"port {wanted} is in use by another program",
                hint="name another one with --port, or leave --port out to get a free one",
            )
        return wanted
    return remembered if remembered is not None and is_free(remembered) else free_port()


def socket_directory(directory: Path, account: Account) -> Path:
    """Make the socket's folder: in the data folder, or in /tmp where that path is too long."""
    folder = directory / "socket"
    if len(os.fsencode(folder / SOCKET_NAME)) > LONGEST_SOCKET_PATH:
        digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
        folder = Path("/tmp") / f"pgblend-{digest}"
    make_private(folder, account)
    return folder


def make_private(folder: Path, account: Account) -> None:
    """Make a folder that only the account may enter; refuse one that somebody else put there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    theirs = UserError(
        f"{folder} belongs to another account",
        hint="run it as that account, or choose another folder with --data-dir",
    )
    try:  # what is looked at is what is given away, whatever takes its place meanwhile
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise theirs from None
    try:
        if os.fstat(descriptor).st_uid not in (account.uid, os.geteuid()):
            raise theirs
        account.give(descriptor)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


# The token of the private server's gateway: who has it may spend the owner's keys.
#
# It is where the server looks for it (see plpy/models/gateway.py), for the server's account only.

TOKEN_VARIABLE = "PGBLEND_GATEWAY_TOKEN"


def ready_file(directory: Path) -> Path:
    """Return the path of what the private server's gateway says of itself."""
    return directory / "gateway.json"


def token_file(directory: Path) -> Path:
    """Return the path of the token, in a data folder."""
    return directory / "postgres" / "pgblend_gateway_token"


def keep_token(directory: Path, account: Account, token: str) -> None:
    """Write the token for the server's account; what lies there, a link too, is replaced."""
    account.write(token_file(directory), f"{token}\n")


def new_token() -> str:
    """Return the token of the environment, else one that nobody knows."""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)


def read_own_token(directory: Path) -> str | None:
    """Return the token of a data folder; None where there is none for this account."""
    try:
        return token_file(directory).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def token_for(url: str | None, directory: Path | None = None) -> str | None:
    """Return what a caller shows to the gateway at `url`; None where it has nothing to show.

    The variable PGBLEND_GATEWAY_TOKEN comes first. The token of the private server's data folder
    (that of this account, if not given) is shown to the private server's own gateway only.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    if given or url is None:
        return given or None
    directory = directory or data_directory()
    try:
        announced = json.loads(ready_file(directory).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return read_own_token(directory) if announced == url else None
