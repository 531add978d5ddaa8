"""docker/fetch_pgvector.sh: which release of Debian it takes pgvector's source from."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docker" / "fetch_pgvector.sh"
# apt passes over lists without an entry.
PACKAGES = "Package: any\nVersion: 1\nArchitecture: all\nFilename: pool/any.deb\nSize: 1\n"
TARBALL = "pgvector_{}.orig.tar.gz"

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="there is no apt-get")

Fetch = Callable[..., subprocess.CompletedProcess[str]]


class Mirror:
    """A Debian mirror in a folder: suites of one source package, and files of its pool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pool = folder / "pool"
        self.pool.mkdir(parents=True)

    def add_suite(self, suite: str, version: str | None) -> None:
        """Make a suite, with pgvector of a version; the source says which version it is."""
        sources = ""
        if version is not None:
            tarball = self.pool / TARBALL.format(version)
            control = self.pool / "vector.control"
            control.write_text(f"default_version = '{version}'\n")
            with tarfile.open(tarball, "w:gz") as archive:
                archive.add(control, f"pgvector-{version}/vector.control")
            sources = (
                f"Package: pgvector\nBinary: pgvector\nVersion: {version}-1\nFormat: 3.0 (quilt)\n"
                f"Directory: pool\nChecksums-Sha256:\n {self._entry(tarball)}\n"
            )
        root = self.folder / "dists" / suite
        release = (
            f"Label: Debian\nSuite: {suite}\nComponents: main\nDate: {formatdate(usegmt=True)}\n"
        )
        release += "SHA256:\n"
        packages = f"main/binary-{_output('dpkg', '--print-architecture')}/Packages"
        for name, text in (("main/source/Sources", sources), (packages, PACKAGES)):
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
            release += f" {self._entry(root / name, name)}\n"
        (root / "Release").write_text(release)

    @staticmethod
    def _entry(file: Path, name: str = "") -> str:
        content = file.read_bytes()
        return f"{hashlib.sha256(content).hexdigest()} {len(content)} {name or file.name}"


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    """A mirror whose stable release is trixie."""
    made = Mirror(tmp_path / "mirror")
    made.add_suite("trixie", "0.8.0")
    return made


@pytest.fixture
def fetch(tmp_path: Path, mirror: Mirror) -> Fetch:
    """Run the script with an apt that knows nothing but the mirror; its lists are not signed."""
    for name in ("lists/partial", "cache/archives/partial"):
        (tmp_path / "apt" / name).mkdir(parents=True)
    (tmp_path / "sources.list").write_text(f"deb file:{mirror.folder} trixie main\n")
    config = tmp_path / "apt.conf"
    config.write_text(
        f'Dir::Etc::sourcelist "{tmp_path}/sources.list"; Dir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{tmp_path}/apt/lists"; Dir::Cache "{tmp_path}/apt/cache";\n'
        'APT::Sandbox::User "root"; Acquire::AllowInsecureRepositories "true";\n'
        'APT::Get::AllowUnauthenticated "true";\n'
    )
    environment = os.environ | {"APT_CONFIG": str(config)}
    subprocess.run(["apt-get", "-qq", "update"], env=environment, check=True, capture_output=True)

    def run(*suites: str, least: str = "0.8.4") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", SCRIPT, tmp_path / "source", least, *suites],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def fetched(tmp_path: Path) -> str:
    return (tmp_path / "source" / "vector.control").read_text().split("'")[1]


def test_the_first_release_that_is_new_enough_is_taken(
    fetch: Fetch, mirror: Mirror, tmp_path: Path
) -> None:
    mirror.add_suite("forky", "0.8.7")
    mirror.add_suite("sid", "0.9.0")
    result = fetch("trixie", "forky", "sid")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "provision: unpacking pgvector 0.8.7-1 of Debian forky\n"
    assert fetched(tmp_path) == "0.8.7"


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"something else")])
def test_a_package_that_is_gone_or_is_not_what_was_announced_is_passed_over(
    fetch: Fetch, mirror: Mirror, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    mirror.add_suite("forky", "0.8.7")
    damage(mirror.pool / TARBALL.format("0.8.7"))
    mirror.add_suite("sid", "0.8.8")
    result = fetch("forky", "sid")
    assert result.returncode == 0, result.stderr
    assert "does not give pgvector 0.8.7-1 of Debian forky\n" in result.stdout
    assert fetched(tmp_path) == "0.8.8"


def test_where_no_release_has_it_nothing_is_unpacked(fetch: Fetch, tmp_path: Path) -> None:
    result = fetch("forky", "trixie")
    assert result.returncode == 1
    assert "has no Debian forky that apt accepts" in result.stdout
    assert "no source of pgvector 0.8.4 or newer in Debian forky trixie" in result.stderr
    assert not (tmp_path / "source").exists()
    assert fetch("trixie", least="0.8").returncode == 0
    assert fetched(tmp_path) == "0.8.0"
