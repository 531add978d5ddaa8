"""Install pgblend on a bare Debian as docs/quickstart.md says, and print what each way took.

    python tests/versions/bare.py [--suites bookworm,trixie] [--ways clone,wheel]
    python tests/versions/bare.py --ways pages [PYTEST ARGUMENTS]

The way `pages` installs the wheel into an empty environment and runs every example of README and
docs/ there (tests/docs), each page in an empty folder with an empty home.

Needs root, Linux, debootstrap, a network and dist/*.whl (make packages). The bare systems are kept
in build/roots or PGBLEND_ROOTS; nothing that is installed into them is.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
PROGRAMS = {
    "clone": "/root/pgblend/.venv/bin",
    "wheel": "/root/pgblend/bin",
    "pages": "/root/pgblend/bin",
}
# What pages import, and what runs them; the tree is there for its tests, not for its program.
EXTRAS = "all,django,haystack,langchain,llama-index"
TOOLS = "hypothesis pytest pytest-cov pytest-postgresql setuptools"
# uv is faster than pip by far; the examples of README and the quickstart run pip itself.
UV = "/root/uv pip install -q --native-tls --python pgblend"
PAGES = (
    f"{APT} git make ca-certificates curl python3-venv >/dev/null",
    "git clone -q source.bundle source",
    "{server}",
    f"python3 -m venv pgblend && {UV} './{{wheel}}[{EXTRAS}]' {TOOLS}",
)
# Not pytest's usual folder, which another run on this machine may have as well.
RUN_PAGES = "python -m pytest -v --durations=0 --basetemp /root/pages-{suite} {arguments}"
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


@contextmanager
def bare_place(suite: str) -> Iterator[OpenRoot]:
    """Open a bare system that has the wheel, a bundle of what is committed, and a network."""
    wheel = built_wheel()
    with tempfile.TemporaryDirectory() as name, open_root(bare_root(suite)) as place:
        bundle = Path(name) / "source.bundle"
        git = ["git", "-C", str(REPOSITORY), "bundle", "create", "-q", str(bundle), "HEAD"]
        subprocess.run(git, check=True)
        place.lend(bundle, "/root/source.bundle")
        place.lend(wheel, f"/root/{wheel.name}")
        for own in (*Path("/usr/local/share/ca-certificates").glob("*.crt"), Path("/etc/pip.conf")):
            if own.exists():
                place.lend(own, str(own))
        yield place


def built_wheel() -> Path:
    """Return the wheel in dist/."""
    (wheel,) = (REPOSITORY / "dist").glob("*.whl")
    return wheel


def install(suite: str, way: str) -> str:
    """Follow a way from nothing to an answer; return a row of the table."""
    with bare_place(suite) as place:
        run(place, way, FIRST)
        before = size_of(place)
        named = {"packages": PACKAGES.get(suite, ""), "wheel": built_wheel().name}
        steps = [step.format(**named) for step in WAYS[way]]
        seconds = sum(run(place, way, step) for step in steps)
        installed = size_of(place)
        used = sum(run(place, way, step) for step in USE)
    return f"| {suite} | {way} | {installed - before} | {seconds:.0f} | {used:.0f} |"


def run_pages(suite: str, arguments: Sequence[str]) -> bool:
    """Run the examples of all pages, or what pytest's arguments say; tell whether all held."""
    packages = PACKAGES.get(suite)
    server = f"{APT} {packages} python3-numpy" if packages else "source/docker/provision.sh"
    named = {"server": f"{server} >/dev/null", "wheel": built_wheel().name}
    with bare_place(suite) as place:
        place.lend(Path(sys.executable).with_name("uv"), "/root/uv")
        for step in (FIRST, *(step.format(**named) for step in PAGES)):
            run(place, "pages", step)
        chosen = shlex.join(arguments) or "tests/docs/test_examples.py"
        tests = RUN_PAGES.format(suite=suite, arguments=chosen)
        try:
            run(place, "pages", f"cd source && {tests}")
        except subprocess.CalledProcessError:
            return False
    return True


def main() -> int:
    """Run the ways on the suites, one after the other; 1 where an example of a page failed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--suites", default="bookworm,trixie")
    parser.add_argument("--ways", default=",".join(WAYS))
    given, arguments = parser.parse_known_args()
    suites, ways = given.suites.split(","), given.ways.split(",")
    rows = [
        install(s, w) for s in suites for w in ways if w in WAYS if w == "clone" or s in PACKAGES
    ]
    if rows:
        print("| system | way | MB | seconds to install | to use |\n|---|---|---|---|---|")
        print("\n".join(rows))
    held = {suite: run_pages(suite, arguments) for suite in suites if "pages" in ways}
    for suite, all_held in held.items():
        print(f"pages on {suite}: {'every example held' if all_held else 'examples failed'}")
    return int(not all(held.values()))


if __name__ == "__main__":
    sys.exit(main())
