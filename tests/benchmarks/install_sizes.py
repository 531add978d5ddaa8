"""What an install weighs: `install_sizes.py [EXTRA…]`; fails where the plain one is too heavy.

Each extra goes into a fresh environment; what is counted is what pip put there: the disk space of
its site-packages, compiled files included, and without pip itself.
"""

import resource
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.wheel import build_wheel

PLAIN = "plain"
# torch's own environment is gigabytes, and an extra that nothing else needs.
FRAMEWORKS = ("langchain", "llama-index", "haystack", "django")
USUAL = (PLAIN, "documents", "gateway", "mcp", "local", "eval", "all", *FRAMEWORKS)
MOST_PLAIN_MEGABYTES = 150


@dataclass(frozen=True)
class Install:
    """A fresh environment with pgblend in it, and what it took."""

    python: Path
    packages: int
    megabytes: float
    processor_seconds: float


def install(wheel: Path, extra: str, folder: Path) -> Install:
    """Install the wheel with an extra into a new environment in `folder`."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    what = str(wheel) if extra == PLAIN else f"{wheel}[{extra}]"
    before = _processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", what],
        check=True,
    )
    seconds = _processor_seconds() - before
    (packages,) = folder.glob("lib/python3*/site-packages")
    blocks = sum(path.lstat().st_blocks for path in packages.rglob("*"))
    return Install(
        python, len(list(packages.glob("*.dist-info"))), blocks * 512 / (1 << 20), seconds
    )


def main(extras: tuple[str, ...]) -> int:
    """Print a line for each extra; return 1 where the plain install is too heavy."""
    exit_code = 0
    print(f"{'extra':<10} {'packages':>8} {'MB':>6} {'processor s':>12}")
    with tempfile.TemporaryDirectory(prefix="pgblend-install-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        for extra in extras:
            done = install(wheel, extra, folder / extra)
            print(
                f"{extra:<10} {done.packages:>8} {done.megabytes:>6.0f} "
                f"{done.processor_seconds:>12.1f}",
                flush=True,
            )
            if extra == PLAIN and done.megabytes > MOST_PLAIN_MEGABYTES:
                print(f"plain weighs more than {MOST_PLAIN_MEGABYTES} MB", file=sys.stderr)
                exit_code = 1
    return exit_code


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or USUAL))
