"""Run services of docker/compose.yaml from built images, by namespaces instead of an engine.

An image's root folder is mounted read-only with what compose.yaml adds: volumes, tmpfs, secrets.
All services share one network, where each is called by its name; that takes no engine.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
ACCOUNT = 999
PATIENCE_SECONDS = 300

# A process that holds the network, whose loopback interface SIOCSIFFLAGS brings up.
_NETWORK = """
import fcntl, signal, socket, struct
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
signal.pause()
"""
# $1 the image's root folder, $2 an empty one; then FOLDER=PLACE for each mount, --, the command.
_CONTAINER = r"""
set -euo pipefail
image=$1 work=$2
shift 2
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/overlay" "$work/root"
root=$work/root
mount -t overlay overlay -o "lowerdir=$image,upperdir=$work/upper,workdir=$work/overlay" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
cp -a /dev/null /dev/zero /dev/random /dev/urandom "$root/dev"
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do
    source=${1%=*} place=$root${1##*=}
    mkdir -p "$(dirname "$place")"
    case $source in
        tmpfs:*)
            mkdir -p "$place"
            mount -t tmpfs -o "${source#tmpfs:}" tmpfs "$place" ;;
        *)
            if [ -d "$source" ]; then mkdir -p "$place"; else touch "$place"; fi
            mount --bind "$source" "$place" ;;
    esac
    shift
done
shift
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid=999 --regid=999 --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all -- "$@"
"""


@dataclass(frozen=True)
class Image:
    """What podman knows of a built image."""

    root: Path
    size: int
    config: dict[str, Any]
    health: dict[str, Any]

    @classmethod
    def find(cls, name: str) -> "Image | None":
        """Return the image; None where podman or the image is not there."""
        try:
            inspected = _podman("image", "inspect", f"localhost/{name}")
            root = _podman("image", "mount", f"localhost/{name}")
        except (FileNotFoundError, subprocess.CalledProcessError):
            return None
        (facts,) = json.loads(inspected)
        return cls(Path(root.strip()), facts["Size"], facts["Config"], facts["Healthcheck"])

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it sets."""
        pairs = (line.partition("=") for line in self.config["Env"])
        return {name: value for name, _, value in pairs}


class Network:
    """A network of its own, which containers join; a place for volumes and secrets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(["unshare", "--net", sys.executable, "-c", _NETWORK])
        hosts = " ".join(SERVICES)
        (folder / "hosts").write_text(f"127.0.0.1 localhost {hosts}\n")

    def volume(self, name: str) -> Path:
        """Return the folder of a volume, which is the account's."""
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            os.chown(folder, ACCOUNT, ACCOUNT)
        return folder

    def secret(self, name: str) -> Path:
        """Return the file of a secret."""
        file = self.folder / "secrets" / name
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_text(f"{name}-of-the-tests\n")
            file.chmod(0o444)
        return file

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Service:
    """A service of compose.yaml that runs, or one command in its place."""

    def __init__(self, name: str, image: Image, network: Network, *command: str) -> None:
        told = SERVICES[name]
        self.image = image
        self.environment = image.environment | told["environment"]
        self.log = network.folder / f"{name}-{id(self)}.log"
        self._healthcheck = (told.get("healthcheck") or {"test": image.health["Test"]})["test"]
        work = network.folder / f"{name}-{id(self)}"
        work.mkdir()
        entry_point = image.config["Entrypoint"]
        arguments = command or told.get("command") or image.config.get("Cmd") or ()
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *("nsenter", f"--net=/proc/{network.process.pid}/ns/net"),
                    *("unshare", "--mount", "--pid", "--fork", "--ipc"),
                    *("bash", "-c", _CONTAINER, "container", str(image.root), str(work)),
                    *self._mounts(told, network),
                    *("--", *entry_point, *arguments),
                ],
                env=self.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @staticmethod
    def _mounts(told: dict[str, Any], network: Network) -> list[str]:
        volumes = [volume.split(":") for volume in told["volumes"]]
        return [
            f"{network.folder / 'hosts'}=/etc/hosts",
            *(f"{network.volume(name)}={place}" for name, place in volumes),
            *(f"{network.secret(name)}=/run/secrets/{name}" for name in told["secrets"]),
            *(f"tmpfs:{options}={place}" for place, _, options in _split(told["tmpfs"])),
        ]

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def run(self, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command within, as `docker exec` does."""
        account = ("--reuid=999", "--regid=999", "--clear-groups", "--no-new-privs")
        target = f"--target={self._first_process().pid}"
        return subprocess.run(
            ["nsenter", target, "--all", "--root", "--wd", "setpriv", *account, "--", *command],
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    def wait_until_healthy(self) -> None:
        """Wait until its health check passes."""
        kind, *command = self._healthcheck
        assert kind == "CMD"
        self.wait_until(*command)

    def wait_until(self, *command: str) -> None:
        """Wait until a command within succeeds."""
        wait_until(lambda: self.process.poll() is not None or self._succeeds(command))
        assert self.process.poll() is None, self.said

    def wait(self) -> None:
        """Wait until it has ended, well."""
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.said

    def stop(self) -> int:
        """Stop it by its signal; return the exit code."""
        if self.process.poll() is None:
            name = self.image.config.get("StopSignal") or "SIGTERM"
            self._first_process().send_signal(signal.Signals[name])
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """End every process within at once."""
        if self.process.poll() is None:
            for process in psutil.Process(self.process.pid).children():
                process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def _first_process(self) -> psutil.Process:
        return psutil.Process(self.process.pid).children()[0]

    def _succeeds(self, command: tuple[str, ...]) -> bool:
        try:
            return self.run(*command).returncode == 0
        except (IndexError, psutil.NoSuchProcess):  # there is no process 1 yet
            return False


def _split(mounts: list[str]) -> list[tuple[str, str, str]]:
    return [mount.partition(":") for mount in mounts]


def _podman(*arguments: str) -> str:
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True)
    return done.stdout
