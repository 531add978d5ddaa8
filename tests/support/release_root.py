"""Another release of PostgreSQL with its own Python and numpy, in a root folder of its own.

Needs root, Linux and debootstrap (`apt-get install debootstrap`). A folder is made once and kept;
what runs in it sees, in a mount namespace of its own, folders of this machine, and keeps no change.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOTS_VARIABLE = "PGBLEND_ROOTS"
REPOSITORY = Path(__file__).resolve().parents[2]
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Of pgvector: the least version, and the suites whose source may be it (docker/provision.sh).
VECTOR = ("0.8.4", "forky", "sid")
# What is taken where a mirror's lists are too old for apt, or name what its pool lacks.
_SOURCE = "http://deb.debian.org/debian/pool/main/p/pgvector/pgvector_0.8.6.orig.tar.gz"
_SOURCE_SHA256 = "25c9b78cfdaa43c66788d7490246ac24e4fe1c86f19c4b60c089b723f84a4a0d"

# Ubuntu's keys, which Debian has no package of.
_KEYS = "http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
_KEYS_SHA256 = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"
_KEYRING = "usr/share/keyrings/ubuntu-archive-keyring.gpg"


@dataclass(frozen=True)
class Release:
    """Where a major version of PostgreSQL comes from, with PL/Python."""

    major: int
    name: str
    suite: str
    mirror: str = "http://deb.debian.org/debian"
    # debootstrap of Debian 12 has no script of a newer release; it has that of their family.
    script: str = "sid"
    components: str = "main"
    updates: str = ""
    # A suite beside it that has the server before a release of Debian does.
    server_from: str = ""
    vector: str = "package"

    @property
    def programs(self) -> str:
        """The folder of the server's programs."""
        return f"/usr/lib/postgresql/{self.major}/bin"

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed beside the smallest system and the server."""
        common = ("python3-numpy", "ca-certificates", "git", "make")  # make: an extension's install
        return (*common, "gcc", "libc6-dev") if self.vector == "source" else common

    @property
    def server(self) -> tuple[str, ...]:
        """The packages of the server, with what pgvector takes."""
        names = (f"postgresql-{self.major}", f"postgresql-plpython3-{self.major}")
        if self.vector == "source":
            return (*names, f"postgresql-server-dev-{self.major}")
        return (*names, f"postgresql-{self.major}-pgvector")


# Debian 12's pgvector is 0.4, Ubuntu's 0.6; Debian has released no 16.
RELEASES = {
    15: Release(15, "Debian 12", "bookworm", vector="source"),
    16: Release(
        *(16, "Ubuntu 24.04", "noble", "http://archive.ubuntu.com/ubuntu", "gutsy"),
        components="main,universe",
        updates="deb http://archive.ubuntu.com/ubuntu noble-updates main universe",
        vector="source",
    ),
    17: Release(17, "Debian 13", "trixie"),
    18: Release(18, "Debian 14 (testing)", "forky"),
    19: Release(19, "Debian experimental", "sid", server_from="experimental", vector="source"),
}


class NoRoot(Exception):
    """A root folder cannot be made here: says why."""


def folder_of(major: int) -> Path:
    """The root folder of a major version: in PGBLEND_ROOTS, else in build/roots."""
    return Path(os.environ.get(ROOTS_VARIABLE) or REPOSITORY / "build" / "roots") / str(major)


def _has_server(release: Release, root: Path) -> bool:
    return (root / release.programs[1:] / "postgres").exists()


def root_of(major: int) -> Path:
    """Where a major version is: this machine's own root, or a folder that may not be made yet."""
    return Path("/") if is_made(RELEASES[major], Path("/")) else folder_of(major)


def is_made(release: Release, root: Path) -> bool:
    """Tell whether a root folder has its server, with pgvector."""
    control = f"usr/share/postgresql/{release.major}/extension/vector.control"
    return _has_server(release, root) and (root / control).exists()


def make_root(release: Release, root: Path, *more_packages: str) -> None:
    """Install the release into `root`, unless it is there."""
    if is_made(release, root):
        return
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise NoRoot("takes root and debootstrap (apt-get install debootstrap)")
    root.mkdir(parents=True, exist_ok=True)
    if not _has_server(release, root):
        _install(release, root, more_packages)
    if release.vector == "source":
        _build_vector(release, root)


def _install(release: Release, root: Path, more_packages: Sequence[str]) -> None:
    server = () if release.server_from else release.server
    packages = (*release.packages, *server, *more_packages)
    with tempfile.TemporaryDirectory() as name:
        _run(
            *("debootstrap", "--variant=minbase", f"--include={','.join(packages)}"),
            *(f"--components={release.components}", *_keyring(release, Path(name))),
            *(release.suite, str(root), release.mirror),
            f"/usr/share/debootstrap/scripts/{release.script}",
        )
    if release.updates:
        _apt_install(root, release.updates, "--only-upgrade", *packages)
    if release.server_from:
        source = f"deb {release.mirror} {release.server_from} {release.components}"
        _apt_install(root, source, f"--target-release={release.server_from}", *release.server)


def _apt_install(root: Path, source: str, *arguments: str) -> None:
    """Install by apt with one more source of packages.

    A mirror may lag: signatures are checked, but lists may be older than their authors wished.
    """
    (root / "etc/apt/sources.list.d/more.list").write_text(f"{source}\n")
    update = "apt-get update -q -o Acquire::Check-Valid-Until=false"
    install = f"apt-get install -q -y --no-install-recommends {' '.join(arguments)}"
    within = 'mount -t proc none "$1/proc" && exec chroot "$1" sh -c "$2"'  # packages ask /proc
    unshare = ("unshare", "--mount", "--propagation", "private")
    environment = ("env", "DEBIAN_FRONTEND=noninteractive")
    _run(*unshare, *environment, "sh", "-c", within, "sh", str(root), f"{update} && {install}")


def _keyring(release: Release, folder: Path) -> list[str]:
    """Return debootstrap's option for a mirror whose keys this machine lacks."""
    if "ubuntu" not in release.mirror:
        return []
    keyring = Path("/") / _KEYRING
    if not keyring.exists():
        package = folder / "keys.deb"
        _download(_KEYS, _KEYS_SHA256, package)
        _run("dpkg-deb", "-x", str(package), str(folder))
        keyring = folder / _KEYRING
    return [f"--keyring={keyring}"]


def _download(url: str, sha256: str, target: Path) -> None:
    """Download a file that no signed list names: it is held to its checksum."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except OSError as error:
        raise NoRoot(f"{url}: {error}") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise NoRoot(f"{url} is not the file that it was")
    target.write_bytes(content)


def _build_vector(release: Release, root: Path) -> None:
    """Build pgvector from Debian's source, as docker/provision.sh does."""
    source = root / "usr/src/pgvector"
    try:
        _run(str(REPOSITORY / "docker/fetch_pgvector.sh"), str(source), *VECTOR)
    except NoRoot as lacking:
        tarball = root / "usr/src/pgvector.tar.gz"
        try:
            _download(_SOURCE, _SOURCE_SHA256, tarball)
        except NoRoot as reason:
            raise NoRoot(f"{lacking}. {reason}") from None
        source.mkdir(exist_ok=True)
        _run("tar", "-xf", str(tarball), "-C", str(source), "--strip-components=1")
    _run(
        *("chroot", str(root), "make", "-C", "/usr/src/pgvector", "with_llvm=no", "OPTFLAGS="),
        *(f"PG_CONFIG={release.programs}/pg_config", "install"),
    )


def _run(*command: str) -> None:
    """Run a command; raises what it said last where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        said = " ".join(done.stdout.split())  # one line, for a row of the table
        raise NoRoot(f"{Path(command[0]).name} failed: {said[-500:]}")


class OpenRoot:
    """A root folder with mounts over it, which are there for as long as it is open."""

    def __init__(self, root: Path, holder: int) -> None:
        self.root = root
        self._enter = ["nsenter", f"--target={holder}", "--mount"]

    def command(self, *command: str, account: str = "root", **environment: str) -> list[str]:
        """Return what to run so that a command runs within, as this account."""
        variables = {"PATH": PATH, "LANG": "C.UTF-8", **environment}
        return [
            *self._enter,
            *("chroot", str(self.root)),
            *("setpriv", f"--reuid={account}", f"--regid={account}", "--init-groups"),
            *("env", *(f"{name}={value}" for name, value in variables.items())),
            *command,
        ]

    def run(
        self, *command: str, account: str = "postgres", input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; raises with what it said where it fails."""
        done = subprocess.run(
            self.command(*command, account=account), input=input, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done

    def lend(self, source: Path, path: str) -> None:
        """Copy a file of this machine into it, unless it has one of that name."""
        target = f"{self.root}{path}"
        copy = (
            f"[ -e {target} ] || {{ mkdir -p {Path(target).parent} && cp -L {source} {target}; }}"
        )
        subprocess.run([*self._enter, "sh", "-c", copy], check=True)


# Ends with its parent's pipe; what is mounted here goes away with the last process that sees it.
_HOLD = """
set -e
root=$1 scratch=$2; shift 2
mount -t tmpfs -o size=90% none "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay none -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" \
    "$scratch/root"
root=$scratch/root
for pair in /dev:/dev /proc:/proc "$@"; do
    source=${pair%%:*} target=$root${pair##*:}
    mkdir -p "$(dirname "$target")"
    if [ -d "$source" ]; then mkdir -p "$target"; else touch "$target"; fi
    mount --rbind "$source" "$target"
done
mount -t tmpfs none "$root/tmp"
chmod 1777 "$root/tmp"
cp /etc/hosts /etc/resolv.conf "$root/etc/"
echo ready
read -r end || true
"""


@contextmanager
def open_root(root: Path, binds: Mapping[Path, str] | Sequence[Path] = ()) -> Iterator[OpenRoot]:
    """Open a root folder: `binds` are folders of this machine, and where they are seen within."""
    pairs = binds.items() if isinstance(binds, Mapping) else [(path, str(path)) for path in binds]
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [str(root), scratch, *(f"{source}:{target}" for source, target in pairs)]
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLD, "sh", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            if holder.stdout.readline() != "ready\n":
                raise NoRoot(f"{root}: no mounts can be made here")
            yield OpenRoot(Path(scratch) / "root", holder.pid)
        finally:
            holder.stdin.close()
            holder.wait()
            holder.stdout.close()


def folders_of_the_tests() -> list[Path]:
    """What tests need of this machine: the repository with git's, its environment's Python."""
    ask = ["git", "-C", str(REPOSITORY), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    git = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    folders = [REPOSITORY] if git.is_relative_to(REPOSITORY) else [REPOSITORY, git]
    if not sys.base_prefix.startswith("/usr"):
        return [*folders, Path(sys.base_prefix)]
    return [*folders, Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))]
