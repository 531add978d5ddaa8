"""Install pgblend on a bare Debian as docs/quickstart.md says, and print what each way took.

    python tests/versions/bare.py [--suites bookworm,trixie] [--ways clone,wheel]

Needs root, Linux, debootstrap, a network and dist/*.whl (make packages). The bare systems are kept
in build/roots or PGBLEND_ROOTS; nothing that is installed into them is.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.release_root import REPOSITORY, ROOTS_VARIABLE, OpenRoot, open_root

MIRROR = "http://deb.debian.org/debian"
FIRST = "apt-get update -qq"
APT = "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
# What docs/quickstart.md says, step by step; {…} differs between the releases.
WAYS = {
    "clone": (
        f"{APT} git make ca-certificates >/dev/null",
        "git clone -q source.bundle pgblend && make -C pgblend setup-run",
    ),
    "wheel": (
        f"{APT} {{packages}} python3-numpy python3-venv >/dev/null",
        "python3 -m venv pgblend && pgblend/bin/pip install -q '{wheel}[documents,local]'",
    ),
}
PROGRAMS = {"clone": "/root/pgblend/.venv/bin", "wheel": "/root/pgblend/bin"}
# Debian 12's own pgvector is too old.
PACKAGES = {"trixie": "postgresql-17-pgvector postgresql-plpython3-17"}
# What this machine's way to the network needs; of its environment nothing else is handed on.
NETWORK = ("PIP_CERT", "PIP_DEFAULT_TIMEOUT", "http_proxy", "https_proxy")
USE = (
    "pgblend up",
    "mkdir notes",
    "echo 'Red wine of Bordeaux.' >notes/wine.md; echo 'Ships sail.' >notes/sea.md",
    "pgblend ingest notes --collection notes",
    "pgblend query 'what can I drink?' -c notes -n 1 | grep wine.md",
    "pgblend search bordeaux --files | grep wine.md",
    "pgblend doctor",
    "pgblend down",
)


def bare_root(suite: str) -> Path:
    """Return the folder of a bare system, made at first."""
    roots = Path(os.environ.get(ROOTS_VARIABLE) or REPOSITORY / "build" / "roots")
    root = roots / f"bare-{suite}"
    if not (root / "usr/bin/apt-get").exists():
        script = "/usr/share/debootstrap/scripts/sid"
        command = ["debootstrap", "--variant=minbase", suite, str(root), MIRROR, script]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return root


def run(place: OpenRoot, way: str, step: str) -> float:
    """Run a step as a newcomer types it, in the home of root; return the seconds it took."""
    path = f"{PROGRAMS[way]}:/usr/sbin:/usr/bin:/sbin:/bin"
    kept = [f"{name}={os.environ[name]}" for name in NETWORK if name in os.environ]
    clean = ["env", "-i", f"PATH={path}", "HOME=/root", "LANG=C.UTF-8", *kept]
    print(f"$ {step}", flush=True)
    started = time.monotonic()
    subprocess.run(place.command(*clean, "sh", "-c", f"cd /root && {step}"), check=True)
    return time.monotonic() - started


def size_of(place: OpenRoot) -> int:
    """Return the megabytes of all files, without caches of packages."""
    # Not -x: an overlay's files are of other devices than its folders.
    count = "apt-get clean; rm -rf /root/.cache; du -sm --exclude=/dev --exclude=/proc / | cut -f 1"
    return int(place.run("sh", "-c", count, account="root").stdout)


def install(suite: str, way: str) -> str:
    """Follow a way from nothing to an answer; return a row of the table."""
    (wheel,) = (REPOSITORY / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as name, open_root(bare_root(suite)) as place:
        bundle = Path(name) / "source.bundle"
        git = ["git", "-C", str(REPOSITORY), "bundle", "create", "-q", str(bundle), "HEAD"]
        subprocess.run(git, check=True)
        place.lend(bundle, "/root/source.bundle")
        place.lend(wheel, f"/root/{wheel.name}")
        for own in Path("/usr/local/share/ca-certificates").glob("*.crt"):
            place.lend(own, str(own))
        run(place, way, FIRST)
        before = size_of(place)
        named = {"packages": PACKAGES.get(suite, ""), "wheel": wheel.name}
        steps = [step.format(**named) for step in WAYS[way]]
        seconds = sum(run(place, way, step) for step in steps)
        installed = size_of(place)
        used = sum(run(place, way, step) for step in USE)
    return f"| {suite} | {way} | {installed - before} | {seconds:.0f} | {used:.0f} |"


def main() -> None:
    """Run the ways on the suites, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--suites", default="bookworm,trixie")
    parser.add_argument("--ways", default=",".join(WAYS))
    given = parser.parse_args()
    pairs = [(s, w) for s in given.suites.split(",") for w in given.ways.split(",")]
    rows = [install(s, w) for s, w in pairs if w == "clone" or s in PACKAGES]
    print("| system | way | MB | seconds to install | to use |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
